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
# Longer than a session may be silent (10 s), so that the other end asks for the next one.
PAUSE_S = 13
# The server's address is that of none of its links, so that both lead to it.
SERVER = {4: "10.77.9.9", 6: "fd77:9::9"}
# Descriptors of a client that is to run out of them.
FEW = 60
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

    def __init__(self, host, *words, before=(), notes=None):
        line = ["ip", "netns", "exec", host, *before, FAIRWAVE, "shake", *words, "--json"]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(line, stdout=pipe, stderr=notes, text=True)
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


def connect(family, *words, host=None, **options):
    line = ["connect", host or SERVER[family], "--key", "key", "--via", "w0", "--via", "w1"]
    return Tool("c", *line, *words, **options)


def web(port=8000):
    """Files of the present directory over HTTP, for both families."""
    children = []
    for address in SERVER.values():
        line = ["ip", "netns", "exec", "s", "python3", "-m", "http.server", "-b", address]
        line.append(str(port))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        children.append(subprocess.Popen(line, **quiet))
    for address in SERVER.values():
        shown = f"[{address}]" if ":" in address else address
        run(f"ip netns exec s curl -s -g --retry 50 --retry-connrefused --retry-delay 1 "
            f"http://{shown}:{port}/ > /dev/null")
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


def cut(link):
    """Host s takes nothing from a link and sends nothing there any more, and tells nobody."""
    nft = "ip netns exec s nft add"
    run(f"{nft} table inet {link}")
    for hook, name in [("input", "iifname"), ("output", "oifname")]:
        run(f"{nft} chain inet {link} {hook} '{{ type filter hook {hook} priority 0; }}'")
        run(f"{nft} rule inet {link} {hook} {name} {link} drop")


def mend(link):
    """Undoes `cut`."""
    run(f"ip netns exec s nft delete table inet {link}")


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


class Socks:
    """An association of UDP at the client's SOCKS5 port, by a program in namespace c."""

    PROGRAM = """
import json, socket, struct, sys
task = json.loads(sys.argv[1])
tcp = socket.create_connection(("127.0.0.1", 1080))
tcp.sendall(bytes([5, 1, 0]))
assert tcp.recv(2) == bytes([5, 0])
tcp.sendall(bytes([5, 3, 0, 1]) + bytes(6))
answer = tcp.recv(10)
assert answer[:4] == bytes([5, 0, 0, 1]), answer
at = (socket.inet_ntoa(answer[4:8]), struct.unpack(">H", answer[8:])[0])
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(task["wait_s"])
six = ":" in task["host"]
family, kind = (socket.AF_INET6, 4) if six else (socket.AF_INET, 1)
head = bytes([0, 0, 0, kind]) + socket.inet_pton(family, task["host"])
head += struct.pack(">H", task["port"])
got = []
for number in range(task["count"]):
    udp.sendto(head + struct.pack(">I", number) + bytes(task["len"] - 4), at)
    try:
        datagram, _ = udp.recvfrom(65536)
    except TimeoutError:
        continue
    assert datagram.startswith(head), datagram[:30]
    got.append(struct.unpack(">I", datagram[len(head):len(head) + 4])[0])
print(json.dumps(got))
"""

    @classmethod
    def echoed(cls, host, port=7000, count=50, length=1000, wait_s=1.0):
        """Numbers of the datagrams to an echo server that came back."""
        task = {"host": host, "port": port, "count": count, "len": length, "wait_s": wait_s}
        line = ["ip", "netns", "exec", "c", "python3", "-c", cls.PROGRAM, json.dumps(task)]
        return json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)


def echo():
    """Servers in namespace s that return each datagram, for both families."""
    program = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
udp = socket.socket(family, socket.SOCK_DGRAM)
udp.bind((sys.argv[1], 7000))
print(flush=True)
while True:
    datagram, sender = udp.recvfrom(65536)
    udp.sendto(datagram, sender)
"""
    children = []
    for address in [*SERVER.values(), "10.77.0.2"]:
        line = ["ip", "netns", "exec", "s", "python3", "-c", program, address]
        children.append(subprocess.Popen(line, stdout=subprocess.PIPE))
        children[-1].stdout.readline()
    return children


def associates():
    """Datagrams of UDP are echoed, in two modes, but not by targets that are not allowed."""
    children, found = echo(), {}
    for mode in ["shake", "redundant"]:
        server = serve("--allow", f"{SERVER[4]}/32", "--allow", f"{SERVER[6]}/128")
        client = connect(4, "--mode", mode)
        echoed = {str(family): Socks.echoed(SERVER[family]) for family in SERVER}
        refused = Socks.echoed("10.77.0.2", count=3, wait_s=0.5)
        long = Socks.echoed(SERVER[4], count=2, length=1460, wait_s=0.5)
        found[mode] = {"echoed": echoed, "refused": refused, "long": long,
                       "client": client.end(), "server": server.end()}
    # A path that is cut without a word is left, and datagrams come back over the other.
    server, client = serve(), connect(4, "--socks", "[::]:1080")
    cut("w0")
    found["cut"] = Socks.echoed(SERVER[4], count=30, wait_s=0.5)
    client.end()
    server.end()
    for child in children:
        child.kill()
    return found


def leads():
    """Host l behind c knows nothing of SHAKE, and has its connections carried by TPROXY."""
    run("ip netns add l && ip -n c link add l0 type veth peer name l0 netns l")
    run("ip -n c addr add 10.78.0.1/24 dev l0 && ip -n c link set l0 up")
    run("ip -n l addr add 10.78.0.2/24 dev l0 && ip -n l link set l0 up")
    run("ip -n l route add default via 10.78.0.1")
    words = ["--tproxy", "1081", "--tproxy-for", "10.78.0.0/24"]
    server, client = serve(), connect(4, *words)
    # A target may have the port of the client's own socket.
    children = web(1081)
    for port in [8000, 1081]:
        run(f"ip netns exec l curl -sf -m 20 http://{SERVER[4]}:{port}/file -o got-{port}")
        assert digest(f"got-{port}") == digest("file")
    for child in children:
        child.kill()
    refused = subprocess.run(f"ip netns exec l curl -sf -m 5 http://10.78.0.1:1081/", shell=True)
    result = client.end()
    rules = "ip netns exec c nft list tables; ip -n c rule | grep -c fwmark || true"
    ended = run(rules)
    client = connect(4, *words)
    led = run(rules)
    client.kill()
    # The keeper removes them when it notices that the client is gone.
    until(lambda: run(rules) == ended)
    # As `systemctl stop` does, whose signal reaches every process of the unit.
    client = connect(4, *words)
    [keeper] = run(f"cat /proc/{client.child.pid}/task/*/children").split()
    for signum in [signal.SIGHUP, signal.SIGINT, signal.SIGTERM]:
        os.kill(int(keeper), signum)
    client.end()
    stopped = run(rules)
    server.end()
    return {"client": result, "ended": ended, "led": led, "stopped": stopped,
            "direct": refused.returncode}


def changes():
    """Interfaces that lose their address, get another one, or lose the route to the server."""
    server, client = serve(), connect(4)
    run("head -c 40000000 /dev/urandom > large")
    got = fetch(f"http://{SERVER[4]}:8000/large", "got")
    until(lambda: sized("got") > 1_000_000)
    # A new lease: another address of the same network.
    run("ip -n c addr del 10.77.0.1/24 dev w0 && ip -n c addr add 10.77.0.9/24 dev w0")
    run(f"ip -n c route add {SERVER[4]} via 10.77.0.2 dev w0 metric 10")
    at = sized("got")
    until(lambda: sized("got") > at + 8_000_000)
    run(f"ip -n c route del {SERVER[4]} dev w1")
    assert got.wait(timeout=PATIENCE_S) == 0
    assert digest("got") == digest("large")
    result = client.end()
    server.end()
    return result


def starves():
    """A client without a free descriptor keeps its paths, whatever happens to interfaces."""
    # Root could raise the limit with this capability.
    few = ["prlimit", f"--nofile={FEW}:{FEW}", "setpriv", "--bounding-set=-sys_resource"]
    with open("notes", "w") as notes:
        server, client = serve(), connect(4, before=few, notes=notes)
    run("head -c 24000000 /dev/urandom > large")
    got = fetch(f"http://{SERVER[4]}:8000/large", "got")
    until(lambda: sized("got") > 1_000_000)
    # Applications that ask for nothing take the rest. Those beyond wait to be accepted.
    program = (f"import socket; all = [socket.create_connection(('127.0.0.1', 1080)) "
               f"for _ in range({FEW})]; input()")
    line = ["ip", "netns", "exec", "c", "python3", "-c", program]
    idle = subprocess.Popen(line, stdin=subprocess.PIPE)
    until(lambda: len(os.listdir(f"/proc/{client.child.pid}/fd")) == FEW)
    # The kernel reports each change, and the client looks at its interfaces.
    for number in range(1, 6):
        run(f"ip -n c addr add 10.79.0.{number}/32 dev lo")
        at = sized("got")
        until(lambda: sized("got") > at + 2_000_000)
    assert got.wait(timeout=PATIENCE_S) == 0
    assert digest("got") == digest("large")
    idle.kill()
    result = client.end()
    server.end()
    with open("notes") as notes:
        return {"client": result, "notes": notes.read()}


def idles():
    """A connection without data: the sockets of both ends ask whether their peers are there."""
    server, client = serve(), connect(4, "--forward", f"2222={SERVER[4]}:8000")
    program = "import socket, sys; tcp = socket.create_connection(('127.0.0.1', 2222)); input()"
    line = ["ip", "netns", "exec", "c", "python3", "-c", program]
    application = subprocess.Popen(line, stdin=subprocess.PIPE)
    timer = lambda host, peers: run(f"ip netns exec {host} ss -Htno state established '{peers}'")
    for host, peers in [("c", "sport = :2222"), ("s", "dport = :8000")]:
        until(lambda: "keepalive" in timer(host, peers))
    application.kill()
    result = client.end()
    server.end()
    return result


def spares():
    """A metered link carries next to nothing while the other one suffices: for 1 MB, 4 Mbps do."""
    server = serve()
    client = connect(4, "--preset", "cheapest", "--metered", "w1", "--prometheus", "127.0.0.1:9439")
    run("head -c 1000000 /dev/urandom > small")
    got = fetch(f"http://{SERVER[4]}:8000/small", "got")
    assert got.wait(timeout=PATIENCE_S) == 0
    page = run("ip netns exec c curl -sf --retry 20 --retry-connrefused http://127.0.0.1:9439/metrics")
    result = client.end()
    server.end()
    return {"client": result, "page": page}


def diagnoses():
    """Two equal links; then one that loses each tenth packet to the client, and one that is cut."""
    server, found = serve(), {}
    line = ["ip", "netns", "exec", "c", FAIRWAVE, "shake", "diagnose", SERVER[4], "--key", "key",
            "--via", "w0,w1", "--time", "3 s", "--timeout", "2 s", "--json"]
    diagnosis = lambda: json.loads(subprocess.run(line, check=True, capture_output=True).stdout)
    found["sound"] = diagnosis()
    run("ip netns exec c nft add table inet lossy")
    run("ip netns exec c nft add chain inet lossy in '{ type filter hook input priority 0; }'")
    run("ip netns exec c nft add rule inet lossy in iifname w1 numgen inc mod 10 0 drop")
    found["lossy"] = diagnosis()
    cut("w1")
    found["cut"] = diagnosis()
    server.end()
    return found


HOSTILE = """
import os, socket, struct, sys
# Hears the datagrams to the server, and sends each again, and three changed ones for it.
heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
heard.bind(("w0", 0))
port, count = 17995, 0
print("ready", flush=True)
while True:
    frame, (_, _, kind, *_) = heard.recvfrom(65536)
    outgoing = kind == socket.PACKET_OUTGOING
    udp = frame[12:14] == b"\\x08\\x00" and frame[23] == 17
    if not (outgoing and udp and len(frame) <= 1514) or frame[36:38] != struct.pack(">H", port):
        continue
    count += 1
    if count % 2:
        continue  # Those that this program sends are heard, too.
    # Without a checksum, so that changed ones pass UDP.
    head, payload = frame[:40] + bytes(2), bytearray(frame[42:])
    at = int.from_bytes(os.urandom(2), "big") % len(payload)
    payload[at] ^= 1
    later = bytearray(frame[42:])
    if len(later) > 16:
        later[9:16] = os.urandom(7)
    noise = os.urandom(len(payload))
    for again in [frame, head + payload, head + later, head + noise]:
        try:
            heard.send(again)
        except OSError:
            pass
"""


def withstands():
    """A download beside a neighbour that repeats, changes and invents datagrams to the server."""
    server, client = serve(), connect(4)
    line = ["ip", "netns", "exec", "c", "python3", "-c", HOSTILE]
    neighbour = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert neighbour.stdout.readline() == "ready\n"
    got = fetch(f"http://{SERVER[4]}:8000/file", "got")
    assert got.wait(timeout=PATIENCE_S) == 0
    assert digest("got") == digest("file")
    neighbour.kill()
    with open(f"/proc/{server.child.pid}/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    result = client.end()
    return {"client": result, "server": server.end(), "peak_kb": int(peak.split()[1])}


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
    cut("w0")
    at = sized("got")
    until(lambda: sized("got") > at + 3_000_000)
    mend("w0")
    at = sized("got")
    until(lambda: sized("got") > at + 3_000_000)
    run("ip -n s link set w1 down")
    assert got.wait(timeout=PATIENCE_S) == 0
    assert digest("got") == digest("large")
    result = client.end()
    server.end()
    return result


def pauses():
    """Both processes are stopped, one after the other, and go on: so does a download."""
    server, client = serve(), connect(4)
    run("head -c 40000000 /dev/urandom > large")
    got = fetch(f"http://{SERVER[4]}:8000/large", "got")
    for tool in [client, server]:
        at = sized("got")
        until(lambda: sized("got") > at + 2_000_000)
        tool.child.send_signal(signal.SIGSTOP)
        time.sleep(PAUSE_S)
        tool.child.send_signal(signal.SIGCONT)
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


CONNECT = """
import socket, struct, sys
tcp = socket.create_connection(("127.0.0.1", 1080))
tcp.sendall(bytes([5, 1, 0]))
assert tcp.recv(2) == bytes([5, 0])
tcp.sendall(bytes([5, 1, 0, 1]) + socket.inet_aton(sys.argv[1]) + struct.pack(">H", int(sys.argv[2])))
print(tcp.recv(10, socket.MSG_WAITALL)[1])
"""


def replied(host, port):
    """Code of SOCKS5's reply to a request for a connection."""
    line = ["ip", "netns", "exec", "c", "python3", "-c", CONNECT, host, str(port)]
    return int(subprocess.run(line, check=True, capture_output=True, text=True).stdout)


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
    replies = [replied(*at) for at in [(SERVER[4], 8000), ("10.77.0.2", 8000), (SERVER[4], 8001)]]
    return {"code": stranger.returncode, "text": stranger.stderr, "codes": codes,
            "replies": replies,
            "client": client.end(), "server": server.end()}


def main(tasks):
    """Prints the result of the task that the command line names, in hosts made for it."""
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.chmod(place, 0o755)
        build()
        with open("key", "w") as file:
            file.write("a secret of these tests\n")
        run("head -c 6000000 /dev/urandom > file")
        children = web()
        print(json.dumps({task.__name__: task for task in tasks}[sys.argv[2]]()))
        for child in children:
            child.kill()


if __name__ == "__main__":
    main([carries, withstands, survives, pauses, restarts, refuses, associates, leads, changes,
          spares, diagnoses, idles, starves])
