"""Live tools whose peer ends, dies, stops reading, is cut off or restarts, each tool with 256 MB of
address space. `peers.py FAIRWAVE TASK EVENT` prints how the tool ended as JSON.

c and s are namespaces with a link between them; the tool under test runs in c, its peer in s.
"""

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time

FAIRWAVE = sys.argv[1]
LIMIT = 256 << 20
PATIENCE_S = 120
KEY = "a secret of these tests\n"
HERE, THERE = "10.79.0.1", "10.79.0.2"


def run(line):
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


def build():
    run("mkdir -p /run/netns && mount -t tmpfs t /run/netns && mkdir /run/netns/keys")
    for name in "cs":
        run(f"ip netns add {name} && ip -n {name} link set lo up")
    run("ip -n c link add w0 type veth peer name w0 netns s address 02:00:00:00:00:02")
    for name, address in [("c", HERE), ("s", THERE)]:
        run(f"ip -n {name} addr add {address}/24 dev w0 && ip -n {name} link set w0 up")
    run("ip -n c link set w0 address 02:00:00:00:00:01")
    run("umask 077; head -c 32 /dev/urandom | base64 > /run/netns/keys/net")
    run(f"{FAIRWAVE} soc key --key /run/netns/keys/net --station 02:00:00:00:00:01 > /run/netns/keys/c")
    with open("/run/netns/keys/secret", "w") as file:
        file.write(KEY)


class Tool:
    """A process with limited memory, and the lines that it prints to either output."""

    def __init__(self, name, *words):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
        line = ["ip", "netns", "exec", name, FAIRWAVE, *words]
        self.child = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limit)
        self.lines, self.changed = [], threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            with self.changed:
                self.lines.append(line.rstrip())
                self.changed.notify_all()

    def until(self, text):
        """Waits for a line with this text."""
        with self.changed:
            seen = lambda: any(text in line for line in self.lines)
            assert self.changed.wait_for(seen, PATIENCE_S), f"no {text}: {self.lines}"

    def signal(self, number):
        self.child.send_signal(number)

    def ended(self):
        """Its exit code, its largest memory in MB, and the text that it printed."""
        timer = threading.Timer(PATIENCE_S, self.child.kill)
        timer.start()
        _, status, usage = os.wait4(self.child.pid, 0)
        timer.cancel()
        self.child.returncode = os.waitstatus_to_exitcode(status)
        self.reader.join(PATIENCE_S)
        text = "\n".join(self.lines)
        return {"code": self.child.returncode, "mb": usage.ru_maxrss / 1024, "text": text}


def befall(event, peer, again):
    """What happens to the peer, which `again` starts."""
    if event == "cut":
        run("ip -n s link set w0 down")
        return peer
    numbers = {"end": signal.SIGTERM, "death": signal.SIGKILL, "stop": signal.SIGSTOP, "restart": signal.SIGKILL}
    peer.signal(numbers[event])
    if event in ("end", "death", "restart"):
        peer.ended()
    return again() if event == "restart" else peer


def observed(event, again, tool, begun):
    """The end of a tool by itself, after its peer has met its fate in mid-run."""
    peer = again()
    tool = tool()
    tool.until(begun)
    # Time for the tool to fill what its peer and the link take.
    time.sleep(1)
    peer = befall(event, peer, again)
    since = time.monotonic()
    found = tool.ended()
    if peer.child.returncode is None:
        peer.signal(signal.SIGKILL)
        peer.ended()
    return {**found, "s": round(time.monotonic() - since, 1)}


def dccp(event, *words):
    def serve():
        server = Tool("s", "dccp", "serve", *words)
        server.until("Listening")
        return server
    return observed(event, serve, lambda: Tool("c", "dccp", "send", THERE, "--for", "100 s", *words), "established")


def dccp_udp(event):
    return dccp(event, "--udp")


def secret():
    return ["--key", "/run/netns/keys/secret"]


def fairness(event, *words):
    def serve():
        server = Tool("s", "fairness", "serve", *secret())
        server.until("Listening")
        return server
    station = ["fairness", "run", THERE, *secret(), "--name", "one", "-t", "4", "-i", "0.5", *words]
    return observed(event, serve, lambda: Tool("c", *station), "Repetition 1")


def fairness_udp(event):
    return fairness(event, "-u", "-b", "50M")


def probe(event):
    def serve():
        server = Tool("s", "probe", "serve", *secret())
        server.until("Listening")
        return server
    return observed(event, serve, lambda: Tool("c", "probe", THERE, *secret(), "--rate", "20 Mbps"), "Round trips")


def interrupted(event, again, tool, begun, holds_s):
    """A tool that outlives its peer: it is interrupted some time after the event."""
    peer = again()
    tool = tool()
    tool.until(begun)
    time.sleep(2)
    peer = befall(event, peer, again)
    time.sleep(holds_s)
    assert tool.child.poll() is None, f"it ended: {tool.lines}"
    tool.signal(signal.SIGINT)
    found = tool.ended()
    if peer.child.returncode is None:
        peer.signal(signal.SIGKILL)
        peer.ended()
    return found


def access_point(name):
    needed = ["--interface", "w0", "--key", "/run/netns/keys/net", "--rate", "20 Mbps"]
    return Tool(name, "soc", "ap", *needed)


def station(name):
    needed = ["--interface", "w0", "--key", "/run/netns/keys/c", "--snr", "20", "--interval", "200 ms"]
    return Tool(name, "soc", "station", *needed)


def soc_station(event):
    return interrupted(event, lambda: access_point("s"), lambda: station("c"), "listens", 4)


def soc_ap(event):
    run("ip -n s link set w0 address 02:00:00:00:00:09")
    run("ip -n c link set w0 address 02:00:00:00:00:02 && ip -n s link set w0 address 02:00:00:00:00:01")
    return interrupted(event, lambda: station("s"), lambda: access_point("c"), "gets weight", 4)


class Sink:
    """A server of TCP in a process of its own, which reads all that comes."""

    def __init__(self):
        script = (
            "import socket, threading\n"
            "listener = socket.create_server(('', 5001))\n"
            "print('ready', flush=True)\n"
            "def take(one):\n"
            "    while one.recv(1 << 16): pass\n"
            "while True: threading.Thread(target=take, args=(listener.accept()[0],), daemon=True).start()\n")
        line = ["ip", "netns", "exec", "s", "python3", "-c", script]
        self.child = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        assert self.child.stdout.readline() == "ready\n"

    def signal(self, number):
        self.child.send_signal(number)

    def ended(self):
        self.child.wait()


PUSH = """
import socket
one = socket.create_connection(("127.0.0.1", 1080))
one.sendall(bytes([5, 1, 0]))
assert one.recv(2) == bytes([5, 0])
one.sendall(bytes([5, 1, 0, 1, 10, 79, 0, 2]) + (5001).to_bytes(2, "big"))
assert one.recv(10)[1] == 0
print("relayed", flush=True)
while True:
    one.sendall(bytes(1 << 16))
"""


def proxy(event):
    """A client pushes as much as it can to a server with which something happens."""
    def relay():
        tool = Tool("c", "proxy", "--target", "500M", "--pace")
        tool.until("Targets are kept")
        line = ["ip", "netns", "exec", "c", "python3", "-c", PUSH]
        tool.client = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert tool.client.stdout.readline() == "relayed\n"
        return tool
    return interrupted(event, Sink, relay, "Targets are kept", 4)


tasks = [dccp, dccp_udp, fairness, fairness_udp, probe, soc_station, soc_ap, proxy]
build()
print(json.dumps({task.__name__: task for task in tasks}[sys.argv[2]](sys.argv[3])))
