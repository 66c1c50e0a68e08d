"""An access point and three stations, each a network namespace on a bridge, and what tasks of `soc.py`
do with them."""

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

FAIRWAVE = sys.argv[1]
PATIENCE_S = 20
STATIONS = ["s1", "s2", "s3"]
ETHER_TYPE = 0x88B5
CLONE_NEWNET = 0x40000000


def run(line):
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


def mac(number):
    return f"02:00:00:00:{number >> 8:02x}:{number & 0xff:02x}"


def build():
    """Namespaces a, s1, s2 and s3, each with `w0` on a bridge of this one."""
    run("mkdir -p /run/netns && mount -t tmpfs t /run/netns")
    run("touch /run/netns/all && mount --bind /proc/self/ns/net /run/netns/all")
    run("ip link add br0 type bridge && ip link set br0 up")
    for number, name in enumerate(["a"] + STATIONS, 1):
        run(f"ip netns add {name} && ip -n {name} link set lo up")
        run(f"ip link add p{number} type veth peer name w0 netns {name} address {mac(number)}")
        run(f"ip link set p{number} master br0 up")
        run(f"ip -n {name} addr add 10.79.0.{number}/24 dev w0")
        run(f"ip -n {name} addr add fd79::{number}/64 dev w0 nodad")
        run(f"ip -n {name} link set w0 up")


def enter(name):
    """The calling thread makes its sockets there from now on."""
    with open(f"/run/netns/{name}") as file:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def keys():
    """The key of the network, and one of each station."""
    run("umask 077; mkdir -p /run/netns/keys; head -c 32 /dev/urandom | base64 > /run/netns/keys/net")
    for number, name in enumerate(STATIONS, 2):
        line = f"{FAIRWAVE} soc key --key /run/netns/keys/net --station {mac(number)}"
        run(f"{line} > /run/netns/keys/{name}")


def start(name, *words):
    line = ["ip", "netns", "exec", name, FAIRWAVE, "soc", *words]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def start_ap(*words, rate="8 Mbps"):
    needed = ["ap", "--interface", "w0", "--key", "/run/netns/keys/net", "--rate", rate]
    return start("a", *needed, "--json", *words)


def start_station(name, snr, interval="1 s"):
    """A second apart, reports are not missed on a busy machine."""
    needed = ["--interface", "w0", "--key", f"/run/netns/keys/{name}"]
    return start(name, "station", *needed, "--snr", str(snr), "--interval", interval)


def status():
    line = ["ip", "netns", "exec", "a", FAIRWAVE, "soc", "status", "--interface", "w0", "--json"]
    asked = subprocess.run(line, capture_output=True, text=True)
    return json.loads(asked.stdout) if asked.returncode == 0 else None


def until(what, found, patience_s=PATIENCE_S):
    """Waits for a state."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        select.select([], [], [], 0.02)
    raise SystemExit(f"{what} did not come within {patience_s} s: {status()}")


def weights():
    """The first weight of each station that reports."""
    now = status() or {"stations": []}
    return {s["station"]: s["weights"][0] for s in now["stations"] if s["source"] == "report"}


def end(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err.decode()
    return out


def traffic_control(name="w0"):
    kinds = ["qdisc", "class", "filter"]
    # As text: some versions of tc print classes of HTB as text even where JSON is asked for.
    return [run(f"ip netns exec a tc {kind} show dev {name}").splitlines() for kind in kinds]


def interface():
    """All that the access point's namespace has of links, addresses, routes, rules and filters."""
    lines = ["ip -n a -d link", "ip -n a addr", "ip -n a route show table all", "ip -n a rule", "ip netns exec a tc filter show dev w0 egress"]
    # The kernel's own link-local addresses come a while after an interface.
    passes = lambda line: "valid_lft" in line or "fe80:" in line
    kept = lambda text: [line for line in text.splitlines() if not passes(line)]
    return [*traffic_control(), *[kept(run(line)) for line in lines]]


def sent_to_stations():
    """Bytes that the bridge has sent to each station, all at one moment."""
    links = json.loads(run("ip netns exec all ip -j -s link show type veth"))
    sent = {link["ifname"]: link["stats64"]["tx"]["bytes"] for link in links}
    return [sent[f"p{number}"] for number, _ in enumerate(STATIONS, 2)]


def send_all(seconds):
    """Sends to all stations as fast as their queues take it, to the second by IPv6."""
    sockets = []
    for number, name in enumerate(STATIONS, 2):
        family = socket.AF_INET6 if name == "s2" else socket.AF_INET
        one = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        one.connect((f"fd79::{number}" if name == "s2" else f"10.79.0.{number}", 9))
        sockets.append(one)
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        for one in select.select([], sockets, [], 0.1)[1]:
            try:
                one.send(bytes(1200))
            except (BlockingIOError, ConnectionRefusedError):
                pass


def flows(all_of_them, seconds):
    """Datagrams as fast as their queues take them, each flow to an address of a namespace with an
    octet of DSCP; the bytes that arrive."""
    receivers, senders = [], []
    for name, address, tos in all_of_them:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        enter(name)
        one = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        # SO_RCVBUFFORCE: this process may wait for a processor, and what waits for it is to be counted.
        one.setsockopt(socket.SOL_SOCKET, 33, 4 << 20)
        one.bind((address, 0))
        receivers.append(one)
        enter("a")
        sender = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        if family == socket.AF_INET:
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        else:
            sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
        sender.connect((address, one.getsockname()[1]))
        senders.append(sender)
    counts = {one: 0 for one in receivers}
    # Neighbours are found and queues filled before the count.
    for lasts in [0.5, seconds]:
        counts = {one: 0 for one in receivers}
        stop = time.monotonic() + lasts
        while time.monotonic() < stop:
            readable, writable, _ = select.select(receivers, senders, [], 0.1)
            for one in readable:
                counts[one] += len(one.recv(2000))
            for one in writable:
                try:
                    one.send(bytes(1200))
                except BlockingIOError:
                    pass
    sum_of = sum(counts.values())
    return [counts[one] / sum_of for one in receivers]


def raw(name):
    enter(name)
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHER_TYPE))
    one.bind(("w0", ETHER_TYPE))
    return one


def everything(name):
    """All frames at `w0`, with the VLAN tags that the kernel takes off beside them (PACKET_AUXDATA)."""
    enter(name)
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    one.bind(("w0", 0x0003))
    one.setsockopt(263, 8, 1)
    return one


def frame(source, payload):
    octets = lambda text: bytes.fromhex(text.replace(":", ""))
    return octets(mac(1)) + octets(source) + ETHER_TYPE.to_bytes(2, "big") + payload


def resident(process):
    """Bytes of `fairwave soc ap` in memory."""
    with open(f"/proc/{process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def datagram(to, size, sender, receiver, family=socket.AF_INET):
    """Whether a datagram of `size` arrives at an address; both sockets are in their namespaces."""
    sender.sendto(os.urandom(size), to)
    readable = select.select([receiver], [], [], 5)[0]
    return bool(readable) and len(receiver.recv(65536)) == size


def socket_in(name, kind=socket.SOCK_DGRAM, family=socket.AF_INET, bound=None):
    enter(name)
    one = socket.socket(family, kind)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if bound:
        one.bind(bound)
    return one


def changing(path, every_s, least, most):
    """A process that writes any level from least to most dB into a file, again and again."""
    code = ("import os, random, sys, time\n"
            "while True:\n"
            "    open(sys.argv[1] + '.new', 'w').write(str(random.uniform(float(sys.argv[3]), float(sys.argv[4]))))\n"
            "    os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
            "    time.sleep(float(sys.argv[2]))\n")
    with open(path, "w") as file:
        file.write("14")
    return subprocess.Popen([sys.executable, "-c", code, path, str(every_s), str(least), str(most)])


def processor_s(process):
    """Processor time that a process has had, of its own and in the kernel: the sum is exact, the
    parts are by the kernel's clock of 100 Hz."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    tasks = f"/proc/{process.pid}/task"
    exact = sum(int(open(f"{tasks}/{task}/schedstat").read().split()[0]) for task in os.listdir(tasks)) / 1e9
    parts = [int(field) for field in fields[11:13]]
    return [exact * part / max(sum(parts), 1) for part in parts]
