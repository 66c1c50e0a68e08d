"""`fairwave shake` between two hosts with two links, each host a network namespace.

To be run as `unshare --net --mount --pid --fork --kill-child --mount-proc python3 shake.py FAIRWAVE
TASK`: what it makes is gone when it ends, however it does. A task prints a JSON value on success.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

FAIRWAVE = sys.argv[1]
PATIENCE_S = 60
# The server's address is that of none of its links, so that both lead to it.
SERVER = {4: "10.77.9.9", 6: "fd77:9::9"}
PROXY = "socks5h://127.0.0.1:1080"


def run(line):
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


def build():
    """Hosts c and s, with links w0 and w1 between them."""
    run("mkdir -p /run/netns && mount -t tmpfs t /run/netns")
    for name in "cs":
        run(f"ip netns add {name} && ip -n {name} link set lo up")
    run(f"ip -n s addr add {SERVER[4]}/32 dev lo && ip -n s addr add {SERVER[6]}/128 dev lo")
    for link in range(2):
        run(f"ip -n c link add w{link} type veth peer name w{link} netns s")
        for name, host in [("c", 1), ("s", 2)]:
            run(f"ip -n {name} addr add 10.77.{link}.{host}/24 dev w{link}")
            run(f"ip -n {name} addr add fd77:{link}::{host}/64 dev w{link} nodad")
            run(f"ip -n {name} link set w{link} up")
            run(f"tc -n {name} qdisc add dev w{link} root tbf rate 40mbit burst 20k limit 200k")
        run(f"ip -n c route add {SERVER[4]} via 10.77.{link}.2 dev w{link} metric {10 + link}")
        run(f"ip -n c -6 route add {SERVER[6]} via fd77:{link}::2 dev w{link} metric {10 + link}")


class Tool:
    """A command in a namespace, which has printed its first line of JSON."""

    def __init__(self, host, *words):
        line = ["ip", "netns", "exec", host, FAIRWAVE, "shake", *words, "--json"]
        self.child = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        self.first = json.loads(self.child.stdout.readline() or "null")

    def end(self):
        """Its result after the signal to end."""
        self.child.send_signal(signal.SIGTERM)
        rest = self.child.communicate(timeout=PATIENCE_S)[0]
        assert self.child.returncode == 0, self.child.returncode
        return json.loads(rest)

    def kill(self):
        self.child.kill()
        self.child.wait(timeout=PATIENCE_S)


def serve(*words):
    return Tool("s", "serve", "--key", "key", *words)


def connect(family, *words, host=None):
    host = host or SERVER[family]
    return Tool("c", "connect", host, "--key", "key", "--via", "w0", "--via", "w1", *words)


def web():
    """Files of the present directory over HTTP, for both families."""
    children = []
    for address in SERVER.values():
        line = ["ip", "netns", "exec", "s", "python3", "-m", "http.server", "-b", address, "8000"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        children.append(subprocess.Popen(line, **quiet))
    for address in SERVER.values():
        shown = f"[{address}]" if ":" in address else address
        run(f"ip netns exec s curl -s -g --retry 50 --retry-connrefused --retry-delay 1 "
            f"http://{shown}:8000/ > /dev/null")
    return children


def fetch(url, to, *words):
    """A download through the client's SOCKS5 port, as a process."""
    line = ["ip", "netns", "exec", "c", "curl", "-sfg", "--proxy", PROXY, url, "-o", to, *words]
    return subprocess.Popen(line)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sized(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def carries():
    """Both families, all modes: a file comes whole, over both links."""
    found = []
    for family, mode in [(4, "shake"), (6, "shake"), (4, "multi"), (6, "redundant")]:
        server, client = serve(), connect(family, "--mode", mode)
        shown = SERVER[4]
        got = fetch(f"http://{shown}:8000/file", "got")
        assert got.wait(timeout=PATIENCE_S) == 0
        assert digest("got") == digest("file")
        result = client.end()
        found.append({"family": family, "mode": mode, "client": result, "server": server.end()})
    return found


def survives():
    """One link is cut without a word and comes back, then the other one loses its carrier."""
    server, client = serve(), connect(4)
    run("head -c 24000000 /dev/urandom > large")
    got = fetch(f"http://{SERVER[4]}:8000/large", "got")
    until(lambda: sized("got") > 2_000_000)
    run("ip -n s rule add iif w0 blackhole && ip -n s rule add oif w0 blackhole")
    at = sized("got")
    until(lambda: sized("got") > at + 3_000_000)
    run("ip -n s rule del iif w0 blackhole && ip -n s rule del oif w0 blackhole")
    at = sized("got")
    until(lambda: sized("got") > at + 3_000_000)
    run("ip -n s link set w1 down")
    assert got.wait(timeout=PATIENCE_S) == 0
    assert digest("got") == digest("large")
    result = client.end()
    server.end()
    return result


def restarts():
    """A server is killed and starts anew: a download ends with an error, and the next one works."""
    server, client = serve(), connect(4)
    run("head -c 24000000 /dev/urandom > large")
    got = fetch(f"http://{SERVER[4]}:8000/large", "got")
    until(lambda: sized("got") > 1_000_000)
    server.kill()
    server = serve()
    code = got.wait(timeout=PATIENCE_S)
    assert code != 0, "a part was taken for the whole"
    until(lambda: fetch(f"http://{SERVER[4]}:8000/file", "got").wait(timeout=PATIENCE_S) == 0)
    assert digest("got") == digest("file")
    result = client.end()
    server.end()
    return result


def refuses():
    """Another key, a target that is not allowed, a port where nobody listens."""
    server = serve("--allow", f"{SERVER[4]}/32")
    with open("other", "w") as file:
        file.write("a secret of other hosts\n")
    line = ["ip", "netns", "exec", "c", FAIRWAVE, "shake", "connect", SERVER[4], "--key", "other"]
    line += ["--via", "w0", "--timeout", "2 s"]
    stranger = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    client = connect(4)
    codes = [fetch(url, "got").wait(timeout=PATIENCE_S)
             for url in [f"http://{SERVER[4]}:8000/file", "http://10.77.0.2:8000/file",
                         f"http://{SERVER[4]}:8001/file"]]
    client.end()
    return {"code": stranger.returncode, "text": stranger.stderr, "codes": codes, "server": server.end()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.chmod(place, 0o755)
        build()
        with open("key", "w") as file:
            file.write("a secret of these tests\n")
        run("head -c 6000000 /dev/urandom > file")
        children = web()
        found = {"carries": carries, "survives": survives, "restarts": restarts, "refuses": refuses}
        print(json.dumps(found[sys.argv[2]]()))
        for child in children:
            child.kill()
