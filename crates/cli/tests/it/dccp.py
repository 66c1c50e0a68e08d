"""`fairwave dccp relay` between two hosts, each a network namespace, with a veth pair between them.

To be run as `unshare --net --mount --pid --fork --kill-child --mount-proc python3 dccp.py FAIRWAVE
TASK`: what it makes is gone when it ends, however it does. A task prints a JSON value on success.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

FAIRWAVE = sys.argv[1]
PATIENCE_S = 60
PORT = 5004
HOST = {4: "10.78.0.2", 6: "fd78::2"}
LOCAL = {4: "127.0.0.1", 6: "::1"}
CLONE_NEWNET = 0x40000000


def run(line):
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


def build():
    """Hosts a and b, with the link w between them."""
    run("mkdir -p /run/netns && mount -t tmpfs t /run/netns")
    for name in "ab":
        run(f"ip netns add {name} && ip -n {name} link set lo up")
    run("ip -n a link add w type veth peer name w netns b")
    for name, host in [("a", 1), ("b", 2)]:
        run(f"ip -n {name} addr add 10.78.0.{host}/24 dev w")
        run(f"ip -n {name} addr add fd78::{host}/64 dev w nodad")
        run(f"ip -n {name} link set w up")


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


class Udp:
    """A socket in a namespace."""

    def __init__(self, host, family, at=None):
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        away = os.open(f"/run/netns/{host}", os.O_RDONLY)
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.setns(away, CLONE_NEWNET) == 0
        kind = socket.AF_INET if family == 4 else socket.AF_INET6
        self.socket = socket.socket(kind, socket.SOCK_DGRAM)
        assert libc.setns(home, CLONE_NEWNET) == 0
        os.close(home)
        os.close(away)
        if at:
            self.socket.bind((LOCAL[family], at))
        self.to = (LOCAL[family], PORT)
        self.socket.settimeout(PATIENCE_S)

    def send(self, data, to=None):
        self.socket.sendto(data, to or self.to)

    def receive(self):
        return self.socket.recvfrom(65536)

    def has_arrived(self):
        """Whether a datagram has arrived, of which there may be more."""
        self.socket.setblocking(False)
        try:
            self.socket.recv(65536)
            return True
        except BlockingIOError:
            return False
        finally:
            self.socket.settimeout(PATIENCE_S)


class Relay:
    """A relay in a namespace, which has printed its first line of JSON."""

    def __init__(self, host, *words):
        line = ["ip", "netns", "exec", host, FAIRWAVE, "dccp", "relay", *words, "--json"]
        self.errors = tempfile.TemporaryFile("w+")
        self.child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.first = json.loads(self.child.stdout.readline() or "null")
        assert self.first, self.said()

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self, signals=True):
        """Its result, after the signal to end."""
        if signals:
            self.child.send_signal(signal.SIGTERM)
        rest = self.child.communicate(timeout=PATIENCE_S)[0]
        assert self.child.returncode == 0, (self.child.returncode, rest, self.said())
        return json.loads(rest)


def relays(family, *words, host=None):
    """The relay at b, where the stream is received, and that at a."""
    local = f"[{LOCAL[family]}]" if family == 6 else LOCAL[family]
    there = Relay("b", "--from", f"dccp:{PORT}", "--to", f"udp:{local}:{PORT}", *words)
    host = host or HOST[family]
    host = f"[{host}]" if family == 6 else host
    here = Relay("a", "--from", f"udp:{local}:{PORT}", "--to", f"dccp:{host}:{PORT}", *words)
    return here, there


def payload(number):
    """Datagrams of all sizes that RTP has, and one longer than a packet of the link."""
    length = 2000 if number == 50 else 4 + number * 37 % 1469
    return number.to_bytes(4, "big") + bytes(number * i % 251 for i in range(length - 4))


def carries():
    """Datagrams come out in order with their bytes, and answers go back to the last sender."""
    count = 100
    runs = []
    for family, words in [(4, ()), (6, ()), (4, ("--encapsulate",)), (6, ("--encapsulate",))]:
        player, camera = Udp("b", family, PORT), Udp("a", family)
        here, there = relays(family, "--deadline", "50 s", *words)
        for number in range(count):
            camera.send(payload(number))
        relay = None
        for number in range(count):
            data, relay = player.receive()
            assert data == payload(number), (number, len(data), data[:4])
        for number in range(10):
            player.send(payload(number), relay[:2])
        for number in range(10):
            assert camera.receive()[0] == payload(number), number
        sender = here.end()
        player.socket.close()
        # The other one ends as its peer closes.
        runs.append({"words": words, "here": sender, "there": there.end(signals=False)})
    return runs


def rtp(number, ssrc=0x01020304):
    return bytes([0x80, 96]) + number.to_bytes(2, "big") + bytes(4) + ssrc.to_bytes(4, "big") + b"x" * 1000


def limits():
    """The encoder hears its rate by RTCP, and by the socket, which `watch` shows."""
    camera, reports = Udp("a", 4, 6000), Udp("a", 4, 6001)
    player, player_reports = Udp("b", 4, PORT), Udp("b", 4, PORT + 1)
    words = ("--encapsulate", "--rtcp", "--deadline", "50 s")
    there = Relay("b", "--from", f"dccp:{PORT}", "--to", f"udp:127.0.0.1:{PORT}", *words)
    here = Relay("a", "--from", f"udp:127.0.0.1:{PORT}", "--to", f"dccp:{HOST[4]}:{PORT}",
                 "--rate-socket", "rates", *words)
    line = ["ip", "netns", "exec", "a", FAIRWAVE, "dccp", "watch", "rates", "--json", "--page", "page.html"]
    watch = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    # A sender report on the port of RTCP: packet type 200.
    report = bytes([0x80, 200, 0, 6]) + bytes(24)
    reports.send(report, ("127.0.0.1", PORT + 1))
    assert player_reports.receive()[0] == report
    for number in range(50):
        camera.send(rtp(number))
        assert player.receive()[0] == rtp(number)
    limit = reports.receive()[0]
    shown = [json.loads(watch.stdout.readline()) for _ in range(2)]
    here.end()
    there.end(signals=False)
    rest = watch.communicate(timeout=PATIENCE_S)[0]
    assert watch.returncode == 0, rest
    with open("page.html") as page:
        drawn = page.read()
    return {"limit": limit.hex(), "shown": shown[-1], "page": drawn, "left": os.path.exists("rates")}


def survives():
    """The stream goes on after a link without a carrier, and from another address."""
    found = {}
    for words in [(), ("--encapsulate",)]:
        player, camera = Udp("b", 4, PORT), Udp("a", 4)
        here, there = relays(4, *words)

        def flows():
            camera.send(b"frame")
            return player.has_arrived()

        until(flows)
        run("ip -n b link set w down")
        until(lambda: "way to the peer lost" in here.said())
        run("ip -n b link set w up")
        until(lambda: "way to the peer back" in here.said())
        until(flows)
        run("ip -n a addr del 10.78.0.1/24 dev w && ip -n a addr add 10.78.0.9/24 dev w")
        until(lambda: "way to the peer moved" in here.said())
        while player.has_arrived():
            pass
        until(lambda: there.said().count("connected with") == 2)
        until(flows)
        sender = here.end()
        found["udp" if words else "ip"] = {"here": sender, "there": there.end(signals=False)}
        run("ip -n a addr del 10.78.0.9/24 dev w && ip -n a addr add 10.78.0.1/24 dev w")
        player.socket.close()
    return found


def scoped():
    """Of two links with the same prefix of addresses, the peer's alone is a handover when it fails."""
    run("ip -n a link add x type veth peer name x netns b")
    for name in "ab":
        run(f"ip -n {name} link set x up")
    until(lambda: all(run(f"ip -n {name} -6 addr show tentative") == "" for name in "ab"))
    found = {}
    for link, other in ["wx", "xw"]:
        shown = run(f"ip -n b -o -6 addr show dev {link} scope link")
        peer = shown.split("inet6 ")[1].split("/")[0]
        player, camera = Udp("b", 6, PORT), Udp("a", 6)
        here, there = relays(6, "--encapsulate", host=f"{peer}%{link}")

        def flows():
            camera.send(b"frame")
            return player.has_arrived()

        until(flows)
        run(f"ip -n b link set {other} down && ip -n b link set {link} down")
        until(lambda: "way to the peer lost" in here.said())
        run(f"ip -n b link set {link} up")
        until(lambda: "way to the peer back" in here.said())
        run(f"ip -n b link set {other} up")
        until(lambda: run("ip -n b -6 addr show tentative") == "")
        found[link] = here.said().count("way to the peer lost")
        for end in (here, there):
            end.child.kill()
            end.child.wait()
        player.socket.close()
    return found


def restarts():
    """A relay that is killed and started again is connected again."""
    player, camera = Udp("b", 4, PORT), Udp("a", 4)
    here, there = relays(4, "--encapsulate")

    def flows():
        camera.send(b"frame")
        return player.has_arrived()

    until(flows)
    there.child.kill()
    there.child.wait()
    while player.has_arrived():
        pass
    there = Relay("b", "--from", f"dccp:{PORT}", "--to", f"udp:127.0.0.1:{PORT}", "--encapsulate")
    until(flows)
    sender = here.end()
    return {"here": sender, "there": there.end(signals=False)}


def silences():
    """The rule against the kernel's Resets is there while a relay runs, and after no end of it."""
    tables = lambda: run("ip netns exec b nft list ruleset")
    found = {}
    for how in ["SIGTERM", "SIGKILL", "SIGABRT"]:
        there = Relay("b", "--from", f"dccp:{PORT}", "--to", f"udp:127.0.0.1:{PORT}")
        during = tables()
        there.child.send_signal(getattr(signal, how))
        there.child.wait(timeout=PATIENCE_S)
        until(lambda: tables() == "")
        found[how] = during
    return found


def routed():
    """A router r between a and b, whose link v to b has an MTU of 1280."""
    run("ip netns add r && ip -n r link set lo up")
    run("ip -n b link del w")
    run("ip -n a link add w type veth peer name w netns r")
    run("ip -n r link add v type veth peer name v netns b")
    for name, link, net, host in [("a", "w", 81, 1), ("r", "w", 81, 2), ("r", "v", 82, 1), ("b", "v", 82, 2)]:
        run(f"ip -n {name} addr add 10.{net}.0.{host}/24 dev {link}")
        run(f"ip -n {name} addr add fd{net}::{host}/64 dev {link} nodad")
        run(f"ip -n {name} link set {link} up")
    run("ip -n r link set v mtu 1280 && ip -n b link set v mtu 1280")
    for name, net in [("a", 81), ("b", 82)]:
        hop = "2" if name == "a" else "1"
        run(f"ip -n {name} route add default via 10.{net}.0.{hop}")
        run(f"ip -n {name} -6 route add default via fd{net}::{hop}")
    run("ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward; "
        "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'")


def narrow():
    """Datagrams of 1400 bytes over a link with an MTU of 1280, whose router says so or is silent."""
    routed()
    found = {}
    for way, rule in [("hole", "icmp type destination-unreachable drop; icmpv6 type packet-too-big drop;"),
                      ("told", "")]:
        run("ip netns exec r nft 'flush ruleset; table inet t { chain o { type filter hook output priority 0; "
            + rule + " }; }'")
        ends = {}
        for family, host in [(4, "10.82.0.2"), (6, "fd82::2")]:
            words = ["--udp", "--udp-port", str(7000 + family), "--port", str(PORT), "--json"]
            line = lambda place, *more: subprocess.Popen(
                ["ip", "netns", "exec", place, FAIRWAVE, "dccp", *more, *words], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True)
            there = line("b", "serve", "--once")
            assert json.loads(there.stdout.readline())
            time_s = "20 s" if way == "hole" else "5 s"
            here = line("a", "send", host, "--rate", "1 Mbps", "--size", "1400", "--for", time_s)
            ends[family] = (here, there)
        for family, (here, there) in ends.items():
            outputs = [json.loads(end.communicate(timeout=PATIENCE_S)[0]) for end in (here, there)]
            found[f"{way} {family}"] = [output["connections"][0] for output in outputs]
    return found


def idles():
    """A translator of addresses that forgets a port of UDP after 20 s: an idle connection stays."""
    routed()
    run("ip netns exec r nft 'table ip t { chain p { type nat hook postrouting priority 100; oif v masquerade; }; "
        "chain f { type filter hook forward priority 0; ip saddr 10.81.0.1 counter; }; }'")
    for name in ["udp_timeout", "udp_timeout_stream"]:
        run(f"ip netns exec r sh -c 'echo 20 > /proc/sys/net/netfilter/nf_conntrack_{name}'")

    def passed():
        rules = json.loads(run("ip netns exec r nft -j list chain ip t f"))["nftables"]
        rule = next(one["rule"] for one in rules if "rule" in one)
        return next(part["counter"]["packets"] for part in rule["expr"] if "counter" in part)

    player, camera = Udp("b", 4, PORT), Udp("a", 4)
    here, there = relays(4, "--encapsulate", host="10.82.0.2")
    camera.send(b"frame")
    relay = player.receive()[1]
    # Feedback ends soon; what passes after that keeps the connection.
    count, quiet = passed(), time.monotonic()
    while time.monotonic() < quiet + 5:
        time.sleep(0.5)
        if passed() != count:
            count, quiet = passed(), time.monotonic()
    until(lambda: passed() >= count + 2)
    player.send(b"answer", relay[:2])
    answer = camera.receive()[0]
    sender = here.end()
    return {"answer": answer.decode(), "here": sender, "there": there.end(signals=False)}


def streams():
    """RTP of ffmpeg through the relays, received by ffmpeg: frames that it decodes."""
    if not shutil.which("ffmpeg"):
        return None
    with open("stream.sdp", "w") as file:
        file.write(f"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\n"
                   f"m=video {PORT} RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 packetization-mode=1\n")
    here, there = relays(4, "--encapsulate", "--rtcp", "--deadline", "20 s")
    quiet = ["-nostdin", "-loglevel", "error"]
    # 100 frames; the receiver joins late and ends after 30 of them.
    receiver = subprocess.Popen(
        ["ip", "netns", "exec", "b", "ffmpeg", *quiet, "-protocol_whitelist", "file,udp,rtp", "-i",
         "stream.sdp", "-frames:v", "30", "-f", "framemd5", "frames"])
    sender = subprocess.Popen(
        ["ip", "netns", "exec", "a", "ffmpeg", *quiet, "-re", "-f", "lavfi", "-i",
         "testsrc=size=160x120:rate=25", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency",
         "-g", "25", "-f", "rtp", f"rtp://127.0.0.1:{PORT}"], stdout=subprocess.DEVNULL)
    receiver.wait(timeout=PATIENCE_S)
    sender.terminate()
    sender.wait(timeout=PATIENCE_S)
    with open("frames") as file:
        frames = [line for line in file if not line.startswith("#")]
    result = here.end()
    return {"frames": len(frames), "here": result, "there": there.end(signals=False)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.chmod(place, 0o777)
        build()
        tasks = [carries, limits, survives, scoped, restarts, silences, narrow, idles, streams]
        print(json.dumps({task.__name__: task for task in tasks}[sys.argv[2]]()))
