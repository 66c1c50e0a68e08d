"""Makes the captures by which `fairwave trace` is judged: real programs over a path whose limit is
known beforehand, in namespaces of its own, with tcpdump at both ends.

    make.py DIRECTORY [NAME...]

Each case leaves NAME-sender.pcap, NAME-receiver.pcap and NAME.json, the truth: what limited it,
what the path dropped, and what the program itself says it lost.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
SEND, ROUTE, RECEIVE = (f"fwcap-{os.getpid()}-{role}" for role in ("send", "route", "receive"))
SENDER, RECEIVER = "10.79.1.2", "10.79.2.2"

DELAY = {"there": {"delay_ms": 10}, "back": {"delay_ms": 10}}


def path(there=None, back=None, rate=None, queue=150_000, **other):
    """A path of 20 ms there and back, with what is different about it."""
    ways = {"there": DELAY["there"] | (there or {}), "back": DELAY["back"] | (back or {})}
    return {"ways": ways, "rate": rate, "queue": queue} | other


def iperf(*args, seconds=4):
    return {"tool": "iperf3", "args": ["-t", str(seconds), *args]}


# name: limit, what is used, the path. A limit of None: nothing but the counts is judged (UDP).
BULK = ("-C", "cubic")
CASES = {
    "path-iperf3": ("path", iperf(*BULK), path(rate="20mbit")),
    "path-slow-iperf3": ("path", iperf(*BULK, seconds=6), path(rate="4mbit", queue=60_000)),
    "path-bbr-iperf3": ("path", iperf("-C", "bbr"), path(rate="20mbit")),
    "path-reno-iperf3": ("path", iperf("-C", "reno"), path(rate="10mbit", queue=60_000)),
    "path-four-iperf3": ("path", iperf(*BULK, "-P", "4"), path(rate="20mbit")),
    "path-reverse-iperf3": ("path", iperf(*BULK, "-R"), path(rate="20mbit")),
    "path-curl": ("path", {"tool": "curl", "bytes": 8_000_000}, path(rate="20mbit")),
    "path-scp": ("path", {"tool": "scp", "bytes": 8_000_000}, path(rate="20mbit")),
    "loss-iperf3": ("loss", iperf(*BULK), path(there={"loss": 0.02})),
    "loss-rate-iperf3": ("loss", iperf(*BULK), path(there={"loss": 0.03}, rate="50mbit")),
    "loss-reno-iperf3": ("loss", iperf("-C", "reno"), path(there={"loss": 0.04})),
    "loss-curl": ("loss", {"tool": "curl", "bytes": 1_500_000}, path(there={"loss": 0.03})),
    "loss-scp": ("loss", {"tool": "scp", "bytes": 1_500_000}, path(there={"loss": 0.03})),
    "application-iperf3": ("application", iperf("-b", "2M"), path(rate="20mbit")),
    "application-loss-iperf3": (
        "application",
        iperf(*BULK, "-b", "2M"),
        path(there={"loss": 0.01}, rate="20mbit"),
    ),
    "application-near-iperf3": ("application", iperf("-b", "8M"), path(rate="16mbit")),
    "application-small-iperf3": (
        "application",
        iperf("-b", "1M", "-l", "1000"),
        path(rate="20mbit"),
    ),
    "application-ssh": ("application", {"tool": "ssh"}, path(rate="20mbit")),
    "application-ffmpeg": ("application", {"tool": "ffmpeg-tcp"}, path(rate="20mbit")),
    "application-curl": (
        "application",
        {"tool": "curl-paced", "bytes": 40_000, "every_ms": 200},
        path(rate="20mbit"),
    ),
    "window-iperf3": ("receive_window", iperf(*BULK), path(rmem=32_768)),
    "window-curl": (
        "receive_window",
        {"tool": "curl", "bytes": 2_000_000, "limit": "400k"},
        path(rmem=65_536),
    ),
    "window-slow-curl": (
        "receive_window",
        {"tool": "curl", "bytes": 1_000_000, "limit": "200k"},
        path(rmem=32_768, rate="20mbit"),
    ),
    "buffer-iperf3": ("send_buffer", iperf(*BULK), path(wmem=65_536)),
    "starvation-iperf3": (
        "starvation",
        iperf(*BULK, seconds=6),
        path(there={"outage": [2, 4.5]}, back={"outage": [2, 4.5]}, rate="10mbit"),
    ),
    "reorder-iperf3": (
        "path",
        iperf(*BULK),
        path(there={"reorder": 0.02, "by_ms": 4}, rate="20mbit"),
    ),
    "acks-iperf3": ("path", iperf(*BULK), path(back={"loss": 0.3}, rate="20mbit")),
    "acks-few-curl": (
        "path",
        {"tool": "curl", "bytes": 4_000_000},
        path(back={"loss": 0.1}, rate="10mbit"),
    ),
    "udp-iperf3": (None, iperf("-u", "-b", "3M"), path()),
    "udp-loss-iperf3": (None, iperf("-u", "-b", "3M"), path(there={"loss": 0.03})),
    "udp-reorder-iperf3": (
        None,
        iperf("-u", "-b", "3M"),
        path(there={"loss": 0.01, "reorder": 0.05, "by_ms": 15}),
    ),
    "udp-64bit-iperf3": (
        None,
        iperf("-u", "-b", "3M", "--udp-counters-64bit"),
        path(there={"loss": 0.02}),
    ),
    "udp-iperf2": (None, {"tool": "iperf2", "rate": "3M"}, path()),
    "udp-loss-iperf2": (None, {"tool": "iperf2", "rate": "3M"}, path(there={"loss": 0.03})),
    "udp-reorder-iperf2": (
        None,
        {"tool": "iperf2", "rate": "3M"},
        path(there={"loss": 0.01, "reorder": 0.05, "by_ms": 15}),
    ),
    "rtp-ffmpeg": (None, {"tool": "ffmpeg-rtp"}, path(there={"loss": 0.02})),
}


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


STARTED = []


def within(at, *command, **options):
    """Starts a program in a namespace; it does not outlive the network."""
    process = subprocess.Popen(["ip", "netns", "exec", at, *command], **options)
    STARTED.append(process)
    return process


class Network:
    """Sender, router and receiver; gone when the block is left, however it is left."""

    def __init__(self, settings, offloads):
        self.settings, self.offloads = settings, offloads

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in STARTED:
            if process.poll() is None:
                process.kill()
                process.wait()
        STARTED.clear()
        for name in (SEND, ROUTE, RECEIVE):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def build(self):
        for name in (SEND, ROUTE, RECEIVE):
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        for at, link, peer in ((SEND, "s0", "r1"), (RECEIVE, "d0", "r2")):
            run("ip", "-n", at, "link", "add", link, "type", "veth", "peer", peer, "netns", ROUTE)
        for at, link, address in (
            (SEND, "s0", SENDER),
            (ROUTE, "r1", "10.79.1.1"),
            (ROUTE, "r2", "10.79.2.1"),
            (RECEIVE, "d0", RECEIVER),
        ):
            run("ip", "-n", at, "addr", "add", address + "/24", "dev", link)
            self.offload(at, link)
            run("ip", "-n", at, "link", "set", link, "up")
        # A namespace's default may be BBR, which does not slow down for losses.
        for at, router in ((SEND, "10.79.1.1"), (RECEIVE, "10.79.2.1")):
            run("ip", "-n", at, "route", "add", "default", "via", router, "congctl", "cubic")
        for at, key, value in self.sysctls():
            run("ip", "netns", "exec", at, "sh", "-c", f"echo {value} > /proc/sys/net/{key}")
        self.path()

    def offload(self, at, link):
        """Hosts have offloads on or off. The router's links never join segments nor claim to cut
        them: a veth joins only what comes from a link that does not cut."""
        for what in ("tso", "gso", "gro"):
            state = "on" if self.offloads and at != ROUTE else "off"
            run("ip", "netns", "exec", at, "ethtool", "-K", link, what, state)
        if self.offloads and at != ROUTE:
            # Packets that come within this time are joined, as those of one interrupt are.
            for key, value in (("napi_defer_hard_irqs", 1), ("gro_flush_timeout", 300_000)):
                file = f"/sys/class/net/{link}/{key}"
                run("ip", "netns", "exec", at, "sh", "-c", f"echo {value} > {file}")

    def sysctls(self):
        yield ROUTE, "ipv4/ip_forward", 1
        yield ROUTE, "ipv4/conf/all/rp_filter", 0
        yield ROUTE, "ipv4/conf/default/rp_filter", 0
        for at in (SEND, RECEIVE):
            yield at, "ipv4/tcp_no_metrics_save", 1
        if rmem := self.settings.get("rmem"):
            yield RECEIVE, "ipv4/tcp_rmem", f"'4096 {rmem} {rmem}'"
        if wmem := self.settings.get("wmem"):
            yield SEND, "ipv4/tcp_wmem", f"'4096 {wmem} {wmem}'"

    def path(self):
        command = [sys.executable, str(HERE / "path.py"), json.dumps(self.settings["ways"])]
        self.tuns = within(ROUTE, *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.tuns.stdout.readline() == b"ready\n", "the path did not start"
        for number, (tun, link) in enumerate((("ta", "r1"), ("tb", "r2")), 11):
            run("ip", "-n", ROUTE, "link", "set", tun, "txqueuelen", "5000", "up")
            run("ip", "netns", "exec", ROUTE, "sh", "-c",
                f"echo 0 > /proc/sys/net/ipv4/conf/{tun}/rp_filter")
            run("ip", "-n", ROUTE, "rule", "add", "iif", link, "table", str(number))
            run("ip", "-n", ROUTE, "route", "add", "default", "dev", tun, "table", str(number))
        if rate := self.settings.get("rate"):
            limit = str(self.settings["queue"])
            tbf = ["tbf", "rate", rate, "burst", "5000", "limit", limit]
            for link in ("r1", "r2"):
                run("ip", "netns", "exec", ROUTE, "tc", "qdisc", "add", "dev", link, "root", *tbf)

    def dropped(self):
        """What the path and its queues dropped."""
        out, _ = self.tuns.communicate()
        told = json.loads(out)
        told["queues"] = {}
        if self.settings.get("rate"):
            for link in ("r1", "r2"):
                command = ["ip", "netns", "exec", ROUTE, "tc", "-j", "-s", "qdisc", "show", "dev", link]
                shown = json.loads(subprocess.run(command, capture_output=True).stdout)
                told["queues"][link] = shown[0]["drops"]
        return told


def capture(at, link, file):
    command = ["tcpdump", "-i", link, "-n", "-U", "--immediate-mode", "-B", "65536", "-s", "96"]
    dump = within(at, *command, "-w", str(file), "tcp or udp", stderr=subprocess.PIPE, text=True)
    while "listening on" not in (line := dump.stderr.readline()):
        assert line, "tcpdump does not listen"
    return dump


def ended(process, how=signal.SIGINT):
    process.send_signal(how)
    process.communicate()


def listens(at, port, udp=False):
    """Waits until a port is listened on."""
    command = ["ip", "netns", "exec", at, "ss", "-Hln", "-u" if udp else "-t", f"sport = :{port}"]
    for _ in range(200):
        if subprocess.run(command, capture_output=True).stdout.strip():
            return
        time.sleep(0.05)
    raise TimeoutError(f"nobody listens on {port}")


def iperf3(what, _):
    server = within(RECEIVE, "iperf3", "-s", "-1", stdout=subprocess.DEVNULL)
    listens(RECEIVE, 5201)
    command = ["iperf3", "-c", RECEIVER, "-J", *what["args"]]
    client = within(SEND, *command, stdout=subprocess.PIPE)
    out, _ = client.communicate(timeout=60)
    server.wait(timeout=20)
    told = json.loads(out)
    if "-u" not in what["args"]:
        return {"retransmits": told["end"]["sum_sent"].get("retransmits")}
    udp = told["end"]["streams"][0]["udp"]
    return {key: udp[key] for key in ("lost_packets", "packets", "out_of_order", "jitter_ms")}


def iperf2(what, _):
    server = within(RECEIVE, "iperf", "-s", "-u", stdout=subprocess.DEVNULL)
    listens(RECEIVE, 5001, udp=True)
    command = ["iperf", "-c", RECEIVER, "-u", "-b", what["rate"], "-t", "4", "-l", "1400"]
    client = within(SEND, *command, stdout=subprocess.PIPE, text=True)
    out, _ = client.communicate(timeout=60)
    server.kill()
    server.wait()
    _, report = out.split("Server Report:")
    jitter_ms, lost, packets = re.search(r"([\d.]+) ms +(\d+)/ *(\d+)", report).groups()
    late = re.search(r"(\d+) datagrams received out-of-order", report)
    return {
        "lost_packets": int(lost),
        "packets": int(packets),
        "out_of_order": int(late[1]) if late else 0,
        "jitter_ms": float(jitter_ms),
    }


SERVER = """
import http.server, sys
class Files(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        size = int(self.path[1:])
        self.send_response(200)
        self.send_header('Content-Length', str(size))
        self.end_headers()
        self.wfile.write(b'x' * size)
    def log_message(self, *_): pass
http.server.HTTPServer(('0.0.0.0', 8000), Files).serve_forever()
"""


def curl(what, _):
    """A download; a paced one asks for a file every so often on one connection."""
    server = within(SEND, sys.executable, "-c", SERVER)
    try:
        listens(SEND, 8000)
        url = f"http://{SENDER}:8000/{what['bytes']}"
        command = ["curl", "-s", "-o", "/dev/null"]
        if limit := what.get("limit"):
            command += ["--limit-rate", limit]
        if every := what.get("every_ms"):
            command += ["--rate", f"{3_600_000 // every}/h"]
            url += "#[1-20]"
        subprocess.run(["ip", "netns", "exec", RECEIVE, *command, url], check=True, timeout=60)
    finally:
        server.kill()
        server.wait()
    return {}


def ssh(what, place):
    """A copy, or a session that prints a line twenty times a second."""
    for name in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name))
    shutil.copy(place / "user.pub", place / "authorized")
    os.makedirs("/run/sshd", exist_ok=True)
    options = [
        "-f", "/dev/null", "-D", "-e", "-p", "2222", "-h", str(place / "host"),
        "-o", f"AuthorizedKeysFile={place / 'authorized'}", "-o", "StrictModes=no",
        "-o", "PermitRootLogin=yes", "-o", "UsePAM=no", "-o", f"PidFile={place / 'pid'}",
        "-o", "Subsystem=sftp internal-sftp", "-o", "UseDNS=no",
    ]
    server = within(RECEIVE, "/usr/sbin/sshd", *options, stderr=subprocess.DEVNULL)
    try:
        listens(RECEIVE, 2222)
        common = [
            "-q", "-F", "/dev/null", "-i", str(place / "user"), "-o", "StrictHostKeyChecking=no",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes",
        ]
        if what["tool"] == "scp":
            file = place / "file"
            file.write_bytes(os.urandom(what["bytes"]))
            command = ["scp", *common, "-P", "2222", str(file), f"root@{RECEIVER}:{place}/copy"]
        else:
            loop = "for i in $(seq 80); do date; sleep 0.05; done"
            command = ["ssh", *common, "-p", "2222", f"root@{RECEIVER}", loop]
        client = within(SEND, *command, stdout=subprocess.DEVNULL)
        assert client.wait(timeout=60) == 0, "ssh failed"
    finally:
        server.kill()
        server.wait()
    return {}


SOURCE = ["-re", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=25", "-t", "5"]
ENCODED = ["-c:v", "mpeg2video", "-b:v", "600k"]


def ffmpeg_tcp(_what, _place):
    quiet = ["ffmpeg", "-nostdin", "-loglevel", "error"]
    listen = f"tcp://{RECEIVER}:6000?listen"
    receiver = within(RECEIVE, *quiet, "-f", "mpegts", "-i", listen, "-f", "null", "-")
    listens(RECEIVE, 6000)
    url = f"tcp://{RECEIVER}:6000"
    sender = within(SEND, *quiet, *SOURCE, *ENCODED, "-f", "mpegts", url)
    assert sender.wait(timeout=60) == 0, "ffmpeg failed"
    receiver.wait(timeout=20)
    return {}


SINK = """
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(('0.0.0.0', 5004))
while True: sock.recv(65536)
"""


def ffmpeg_rtp(_what, _place):
    sink = within(RECEIVE, sys.executable, "-c", SINK)
    try:
        listens(RECEIVE, 5004, udp=True)
        command = ["ffmpeg", "-nostdin", "-loglevel", "error", *SOURCE, *ENCODED]
        url = f"rtp://{RECEIVER}:5004?pkt_size=1200"
        sender = within(SEND, *command, "-f", "rtp", url, stdout=subprocess.DEVNULL)
        assert sender.wait(timeout=60) == 0, "ffmpeg failed"
    finally:
        sink.kill()
        sink.wait()
    return {}


TOOLS = {
    "iperf3": iperf3,
    "iperf2": iperf2,
    "curl": curl,
    "curl-paced": curl,
    "ssh": ssh,
    "scp": ssh,
    "ffmpeg-tcp": ffmpeg_tcp,
    "ffmpeg-rtp": ffmpeg_rtp,
}


def make(directory, name, limit, what, settings, offloads):
    with Network(settings, offloads) as net, tempfile.TemporaryDirectory() as place:
        files = [directory / f"{name}-{end}.pcap" for end in ("sender", "receiver")]
        dumps = [capture(SEND, "s0", files[0]), capture(RECEIVE, "d0", files[1])]
        told = TOOLS[what["tool"]](what, Path(place))
        time.sleep(0.4)  # what is still under way
        for dump in dumps:
            ended(dump)
        truth = {
            "name": name,
            "tool": what["tool"].split("-")[0],
            "limit": limit,
            "offloads": offloads,
            "settings": settings,
            "dropped": net.dropped(),
            "told": told,
        }
        (directory / f"{name}.json").write_text(json.dumps(truth, indent=1) + "\n")


def main():
    # Namespaces go away however the program ends; it may have been started without interrupts.
    for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ending, lambda *_: sys.exit("interrupted"))
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, (limit, what, settings) in CASES.items():
        for offloads in (True, False):
            full = f"{name}-{'on' if offloads else 'off'}"
            if sys.argv[2:] and not any(part in full for part in sys.argv[2:]):
                continue
            make(directory, full, limit, what, settings, offloads)
            print(full, flush=True)


main()
