"""Live tools of a host on the page of `fairwave web`, in Chromium in the same namespace.

To be run as shake.py is, with `live.js` and a scenario behind the task.
"""

import json
import os
import subprocess
import sys

import shake
from shake import FAIRWAVE, PATIENCE_S, run

# A loaded machine takes long for the pages of a browser.
BROWSER_S = 400


def start(host, *words, **pipes):
    return subprocess.Popen(["ip", "netns", "exec", host, *words], text=True, **pipes)


def tool(host, *words):
    """A command that has printed its first line of JSON, and goes on."""
    child = start(host, FAIRWAVE, *words, "--json", stdout=subprocess.PIPE)
    assert json.loads(child.stdout.readline()), words
    return child


def access_point():
    """An access point without effect on the packets, and a station at the other end of a link."""
    station = json.loads(run("ip -n s -j link show w1"))[0]["address"]
    run("umask 077; head -c 32 /dev/urandom | base64 > net.key")
    run(f"umask 077; {FAIRWAVE} soc key --key net.key --station {station} > station.key")
    ap = tool("c", "soc", "ap", "--interface", "w1", "--key", "net.key", "--rate", "20 Mbps",
              "--dry-run")
    words = ["--interface", "w1", "--key", "station.key", "--snr", "14", "--interval", "1 s"]
    return ap, start("s", FAIRWAVE, "soc", "station", *words, stderr=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL)


def relays():
    """Relays in both namespaces, and a sender of datagrams that they carry."""
    # The usual port is that of the server in c. The address is that of a link: a relay answers
    # from the address that the route has, not from that of the loopback device.
    inside = ["--encapsulate", "--udp-port", "6512"]
    receiver = tool("s", "dccp", "relay", "--from", "dccp:17983", "--to", "udp:127.0.0.1:5006",
                    *inside)
    sender = tool("c", "dccp", "relay", "--from", "udp:127.0.0.1:5004", "--to",
                  "dccp:10.77.0.2", *inside)
    return receiver, sender, start("c", "python3", "-c", SENDER)


# Twenty datagrams a second, as a stream of voice has.
SENDER = """
import socket, time
stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    stream.sendto(bytes(500), ("127.0.0.1", 5004))
    time.sleep(0.05)
"""


def emulation(scenario):
    """An emulation outside the directory of the server, which has its control socket."""
    words = ["--quiet", "--out", "elsewhere/home", "--set", "duration=3600 s",
             "--set", "emulate.lateness_limit=1 s"]
    child = start("c", FAIRWAVE, "emulate", scenario, *words, stdin=subprocess.PIPE,
                  stdout=subprocess.DEVNULL)
    shake.until(lambda: os.path.exists("elsewhere/home/control.sock") or child.poll() is not None)
    assert child.poll() is None, "the emulation ended early"
    return child


def shows():
    """Each tool appears with a graph, and one that ends is named as ended."""
    script, scenario = sys.argv[3:5]
    run("truncate -s 2G large && mkdir runs")
    server, client = shake.serve(), shake.connect(4)
    children = [shake.fetch(f"http://{shake.SERVER[4]}:8000/large", "/dev/null",
                            "--limit-rate", "1M")]
    children.append(tool("c", "dccp", "serve", "--udp"))
    # Both have given up the privileges of root, which they began with.
    senders = [start(host, FAIRWAVE, "dccp", "send", to, "--udp", "--rate", "1 Mbps", "--for",
                     "1 h", stdout=subprocess.DEVNULL)
               for host, to in [("c", "127.0.0.1"), ("s", "10.77.0.1")]]
    children.extend(senders)
    children.extend(access_point())
    receiver, sender, stream = relays()
    children.extend([receiver, sender, stream, emulation(scenario)])
    web = start("c", FAIRWAVE, "web", "--no-open", "--dir", "runs", stdout=subprocess.PIPE)
    address = web.stdout.readline().strip()
    wanted = ["shake connect=Received over each path",
              f"dccp send, process {senders[0].pid}=Application data",
              f"dccp send, process {senders[1].pid} in namespace s=Application data",
              "dccp serve=Application data", "soc ap=Strength of connection",
              f"dccp relay, process {sender.pid}=Application data",
              f"dccp relay, process {receiver.pid} in namespace s=Application data",
              f"emulate, run directory {os.getcwd()}/elsewhere/home=Lateness"]
    page = start("c", "node", script, address, *wanted, stdin=subprocess.PIPE,
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = page.stdout.readline()
    assert first == "live: good\n", (first, page.communicate()[1])
    titles = [f"shake connect, process {client.child.pid}",
              f"dccp relay, process {receiver.pid} in namespace s"]
    client.end()
    # One that is killed leaves nothing that could be taken for a tool.
    receiver.kill()
    out, err = page.communicate("".join(f"{title}\n" for title in titles), timeout=BROWSER_S)
    for child in [*children, web]:
        child.terminate()
    for child in [*children, web]:
        child.wait(timeout=PATIENCE_S)
    server.end()
    return {"code": page.returncode, "said": out, "error": err, "titles": titles}


if __name__ == "__main__":
    shake.main([shows])
