"""`fairwave soc` on an access point and three stations, each a network namespace on a bridge.

To be run as `unshare --net --mount --pid --fork --kill-child --mount-proc python3 soc.py FAIRWAVE
TASK`: what it makes is gone when it ends, however it does. A task prints a JSON value on success.
"""

import ctypes
import json
import os
import random
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


def traffic_control():
    kinds = ["qdisc", "class", "filter"]
    # As text: some versions of tc print classes of HTB as text even where JSON is asked for.
    return [run(f"ip netns exec a tc {kind} show dev w0").splitlines() for kind in kinds]


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


def shares(*words):
    """Saturating UDP follows the weights, and nothing is left of the qdisc."""
    before = interface()
    ap = start_ap(*words)
    stations = [start_station(name, snr) for name, snr in zip(STATIONS, [14, 10, 4])]
    expected = {mac(2): 1.0, mac(3): 0.8, mac(4): 0.2}
    rounded = lambda: {who: round(weight, 3) for who, weight in weights().items()}
    until("weights by pw", lambda: rounded() == expected)
    enter("a")
    # Once for the neighbours and the queues, then for the count.
    send_all(0.5)
    counts = sent_to_stations()
    send_all(3)
    counts = [after - before for after, before in zip(sent_to_stations(), counts)]
    for station in stations:
        end(station)
    last = json.loads(end(ap))
    assert interface() == before, interface()
    return {"actuator": last["actuator"], "shares": [count / sum(counts) for count in counts], "bytes": sum(counts),
            "accepted": last["accepted"], "refused": last["refused"]}


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


def routed(*words):
    """Stations behind a router report in datagrams, and have shares by their IP addresses."""
    run("ip netns add r && ip link add p9 type veth peer name w0 netns r address 02:00:00:00:00:09")
    run("ip link set p9 master br0 up && ip -n r link set w0 up")
    run("ip -n r addr add 10.79.0.9/24 dev w0 && ip -n r addr add fd79::9/64 dev w0 nodad")
    run("ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'")
    run("ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'")
    run("ip -n a route add 10.80.0.0/16 via 10.79.0.9 && ip -n a route add fd80::/16 via fd79::9")
    for at in [1, 2]:
        run(f"ip netns add h{at} && ip -n h{at} link set lo up")
        run(f"ip -n r link add h{at} type veth peer name w0 netns h{at} address {mac(256 + at)}")
        run(f"ip -n r addr add 10.80.{at}.1/24 dev h{at} && ip -n r addr add fd80:{at}::1/64 dev h{at} nodad")
        run(f"ip -n r link set h{at} up && ip -n h{at} addr add 10.80.{at}.2/24 dev w0")
        run(f"ip -n h{at} addr add fd80:{at}::2/64 dev w0 nodad && ip -n h{at} link set w0 up")
        run(f"ip -n h{at} route add default via 10.80.{at}.1 && ip -n h{at} -6 route add default via fd80:{at}::1")
        line = f"{FAIRWAVE} soc key --key /run/netns/keys/net --station {mac(256 + at)}"
        run(f"umask 077; {line} > /run/netns/keys/h{at}")
    before = traffic_control()
    ap = start_ap("--udp", "[::]:9437", *words)
    stations = [start_station("s3", 4)]
    for name, to, snr in [("h1", "10.79.0.1", 14), ("h2", "[fd79::1]:9437", 10)]:
        needed = ["--interface", "w0", "--key", f"/run/netns/keys/{name}", "--to", to]
        stations.append(start(name, "station", *needed, "--snr", str(snr), "--interval", "1 s"))
    expected = {mac(257): 1.0, mac(258): 0.8, mac(4): 0.2}
    rounded = lambda: {who: round(weight, 3) for who, weight in weights().items()}
    until("weights by pw", lambda: rounded() == expected)
    shares = flows([("h1", "10.80.1.2", 0), ("h2", "fd80:2::2", 0), ("s3", "10.79.0.4", 0)], 3)
    # h1 repeats a datagram as if it came from a neighbour, where it cannot hear a token.
    enter("h1")
    # What leaves is seen by a socket for all protocols alone.
    thief = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    thief.bind(("w0", 0x0003))
    seen = until("a report", lambda: next((f for f in [thief.recv(200)] if f[36:38] == b"\x24\xdd"), None))
    stolen = bytearray(seen)
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sender.bind(("w0", 0))
    stolen[26:30] = bytes([10, 80, 1, 77])
    stolen[24:26] = bytes(2)
    words = [int.from_bytes(stolen[at:at + 2], "big") for at in range(14, 34, 2)]
    check = sum(words) % 0xffff
    stolen[24:26] = (0xffff - check).to_bytes(2, "big")
    stolen[40:42] = bytes(2)
    challenges = status()["challenges"]
    sender.send(bytes(stolen))
    until("a challenge", lambda: status()["challenges"] > challenges)
    now = status()
    addresses = {one["station"]: one["address"] for one in now["stations"]}
    for station in stations:
        end(station)
    end(ap)
    assert traffic_control() == before, traffic_control()
    return {"shares": shares, "addresses": addresses, "challenges": now["challenges"],
            "stolen": sum(address == "10.80.1.77" for address in addresses.values())}


def classes(*words):
    """Voice to a far station has the weight of its own policy beside the rest."""
    before = traffic_control()
    ap = start_ap("--policy-for", "voice=equal", "--policy-for", "tcp=gb1", *words)
    stations = [start_station(name, snr) for name, snr in [("s1", 4), ("s2", 14)]]
    until("weights by pw", lambda: {who: round(w, 3) for who, w in weights().items()} == {mac(2): 0.2, mac(3): 1.0})
    shares = flows([("s1", "10.79.0.2", 0xb8), ("s1", "fd79::2", 0), ("s2", "10.79.0.3", 0)], 3)
    told = {one["station"]: one["weights"] for one in status()["stations"]}
    assert told[mac(2)][1:] == [1.0, 0.0], told
    for station in stations:
        end(station)
    end(ap)
    assert traffic_control() == before, traffic_control()
    return {"shares": shares}


def raw(name):
    enter(name)
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHER_TYPE))
    one.bind(("w0", ETHER_TYPE))
    return one


def frame(source, payload):
    octets = lambda text: bytes.fromhex(text.replace(":", ""))
    return octets(mac(1)) + octets(source) + ETHER_TYPE.to_bytes(2, "big") + payload


def resident(process):
    """Bytes of `fairwave soc ap` in memory."""
    with open(f"/proc/{process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def hostile():
    """What a station makes up, repeats or cuts moves nobody's weight, and is counted."""
    ap = start_ap()
    victim = start_station("s1", 10)
    until("the victim's weight", lambda: mac(2) in weights())
    listener = raw("a")
    reported = lambda seen: seen if seen[14:16] == b"SC" else None
    report = until("a report", lambda: reported(listener.recv(200)))[14:]
    attacker = raw("s3")
    randomly = random.Random(7)
    send = lambda source, payload: attacker.send(frame(source, payload))
    memory = resident(ap)
    for _ in range(500):
        send(mac(2), report)
        send(mac(2), report[:40])
        forged = bytearray(report)
        forged[randomly.randrange(14, 64)] ^= 1 << randomly.randrange(8)
        send(mac(2), bytes(forged))
        stranger = f"02:99:00:00:{randomly.randrange(256):02x}:{randomly.randrange(256):02x}"
        send(stranger, randomly.randbytes(64))
        send(stranger, report[:6] + bytes.fromhex(stranger.replace(":", "")) + report[12:])
    refused = lambda: (status() or {}).get("refused", {})
    kinds = ["replayed", "truncated", "forged", "malformed"]
    until("counts of refusals", lambda: all(refused().get(kind, 0) > 0 for kind in kinds))
    now = status()
    grown = resident(ap) - memory
    found = {"weights": weights(), "stations": len(now["stations"]), "refused": now["refused"],
             "grown": grown}
    end(victim)
    end(ap)
    return found


def restarted():
    """What was recorded moves nothing after a new start, and the station comes back by itself."""
    ap = start_ap()
    victim = start_station("s1", 10, "200 ms")
    until("the victim's weight", lambda: mac(2) in weights())
    listener = raw("a")
    seen = lambda kind: lambda: next((f for f in [listener.recv(200)] if f[14:16] == kind), None)
    report = until("a report", seen(b"SC"))[14:]
    ap.kill()
    ap.wait()
    greeting = until("a greeting", seen(b"SG"))[14:]
    victim.send_signal(signal.SIGSTOP)
    ap = start_ap()
    until("the access point", status)
    attacker = raw("s3")
    for _ in range(20):
        attacker.send(frame(mac(2), report))
        attacker.send(frame(mac(2), greeting))
    refused = lambda: (status() or {}).get("refused", {})
    until("refusals", lambda: refused().get("forged", 0) >= 20 and status()["challenges"] >= 20)
    moved = status()["stations"]
    victim.send_signal(signal.SIGCONT)
    until("the victim again", lambda: mac(2) in weights())
    back = weights()
    end(victim)
    end(ap)
    return {"moved": moved, "back": back}


def answered():
    """Answers do not wait behind a minute of data for the station."""
    ap = start_ap(rate="16 kbps")
    station = start_station("s1", 4)
    until("a weight", lambda: mac(2) in weights())
    listener = raw("s1")
    listener.settimeout(PATIENCE_S)
    enter("a")
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    sender.connect(("10.79.0.2", 9))
    sent, is_full = 0, False
    while not is_full:
        try:
            sent += sender.send(bytes(1200))
        except ConnectionRefusedError:
            pass
        except BlockingIOError:
            is_full = True
    answers = 0
    while answers < 3:
        answers += listener.recv(200)[6:12] == bytes.fromhex(mac(1).replace(":", ""))
    end(station)
    end(ap)
    return {"queued": sent, "answers": answers}


def killed():
    """`kill -9` at moments of set-up and change leaves the interface as it was."""
    before = traffic_control()
    station = None
    moments = [0.0, 0.005, 0.01, 0.02, 0.03, "served", "served", *["changing"] * 8]
    seen = changes = 0
    randomly = random.Random(20)
    flip = None
    for moment in moments:
        ap = start_ap("--pace", "1ms", "--quiet")
        if moment == "served":
            station = station or start_station("s1", 10, "200 ms")
            until("a class", lambda: mac(2) in weights())
            seen += len(traffic_control()[1]) == 3
        elif moment == "changing":
            # Fifty changes of weights a second: each is a message to the kernel or several.
            if not flip:
                end(station)
                flip = changing("/run/netns/snr", 0.01, 1, 14)
                needed = ["--interface", "w0", "--key", "/run/netns/keys/s1", "--interval", "20 ms"]
                station = start("s1", "station", *needed, "--snr-from", "/run/netns/snr", "--quiet")
            until("changes", lambda: mac(2) in weights() and status()["changes"] > 5)
            select.select([], [], [], randomly.uniform(0, 0.04))
            changes += status()["changes"]
        else:
            select.select([], [], [], moment)
        ap.kill()
        ap.wait()
        until("the qdisc as before", lambda: traffic_control() == before)
    end(station)
    flip.kill()
    flip.wait()
    # A qdisc of somebody else is not touched.
    run("ip netns exec a tc qdisc add dev w0 root handle 7: tbf rate 1mbit burst 10k latency 10ms")
    foreign = traffic_control()
    ap = start_ap()
    err = ap.communicate(timeout=PATIENCE_S)[1].decode()
    assert ap.returncode != 0 and "tbf 7:" in err, err
    assert traffic_control() == foreign
    return {"moments": len(moments), "seen": seen, "changes": changes}


def replaced():
    """With --replace, somebody's qdisc is back whenever the access point is gone."""
    station = start_station("s1", 10, "200 ms")
    settings = ["pfifo limit 7", "bfifo limit 7000", "pfifo_fast",
                "tbf rate 100mbit burst 10k latency 10ms"]
    for setting in settings:
        run(f"ip netns exec a tc qdisc add dev w0 root handle 7: {setting}")
        before = traffic_control()
        ap = start_ap("--replace")
        until("a class", lambda: mac(2) in weights())
        assert any("htb 5343:" in line for line in traffic_control()[0]), traffic_control()
        end(ap)
        assert traffic_control() == before, (before, traffic_control())
        for moment in [0.0, 0.005, 0.01, 0.02, 0.03, 0.05, "served"]:
            ap = start_ap("--replace")
            if moment == "served":
                until("a class", lambda: mac(2) in weights())
            else:
                select.select([], [], [], moment)
            ap.kill()
            ap.wait()
            until("the qdisc as before", lambda: traffic_control() == before)
        run("ip netns exec a tc qdisc del dev w0 root")
    end(station)
    # What has classes or filters would not come back whole.
    run("ip netns exec a tc qdisc add dev w0 root handle 7: htb")
    run("ip netns exec a tc class add dev w0 parent 7: classid 7:1 htb rate 1mbit")
    before = traffic_control()
    ap = start_ap("--replace")
    err = ap.communicate(timeout=PATIENCE_S)[1].decode()
    assert ap.returncode != 0 and traffic_control() == before
    planned = run(f"ip netns exec a {FAIRWAVE} soc ap --interface w0 --plan --replace --json")
    return {"settings": len(settings), "err": err, "plan": json.loads(planned)}


PLANE = ["--actuator", "user-space"]


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


def connection(megabytes):
    """A connection of the kernel's TCP from the access point to s1; whether all arrives in order."""
    listener = socket_in("s1", socket.SOCK_STREAM, bound=("10.79.0.2", 5000))
    listener.listen()
    sender = socket_in("a", socket.SOCK_STREAM)
    sender.connect(("10.79.0.2", 5000))
    receiver = listener.accept()[0]
    sent = random.Random(3).randbytes(megabytes << 20)
    sender.setblocking(False)
    came, at, stop = bytearray(), 0, time.monotonic() + 3 * PATIENCE_S
    while len(came) < len(sent) and time.monotonic() < stop:
        wants = [sender] if at < len(sent) else []
        readable, writable, _ = select.select([receiver], wants, [], 1)
        if writable:
            # Pieces far above the MTU, which the kernel would leave to its card.
            at += sender.send(sent[at:at + (1 << 18)])
        if readable:
            came += receiver.recv(1 << 20)
    for one in [sender, receiver, listener]:
        one.close()
    return bytes(came) == sent


def passes_raw(types, tag):
    """Whether a frame of these types comes from the access point to s1 as it was, with this tag."""
    enter("s1")
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    listener.bind(("w0", 0x0003))
    listener.setsockopt(263, 8, 1)
    listener.settimeout(PATIENCE_S)
    enter("a")
    teller = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    teller.bind(("w0", 0))
    ends, rest = bytes.fromhex((mac(2) + mac(1)).replace(":", "")), os.urandom(100)
    teller.send(ends + types + rest)
    while True:
        frame, about, _, _ = listener.recvmsg(2000, 100)
        if frame.endswith(rest):
            # `struct tpacket_auxdata`: TP_STATUS_VLAN_VALID is 16, and the tag is at 16.
            words = about[0][2]
            status, found = int.from_bytes(words[:4], "little"), int.from_bytes(words[16:18], "little")
            return frame == ends + types[-2:] + rest and (found if status & 16 else None) == tag


def plane_frames():
    """Whatever a frame is, it passes our own scheduler as it is: TCP in large pieces, jumbo frames,
    tags of VLANs, groups, neighbours of IPv6, what is not IP."""
    for line in ["ip link set br0 mtu 9000", *[f"ip link set p{at} mtu 9000" for at in range(1, 5)]]:
        run(line)
    for name in ["a"] + STATIONS:
        run(f"ip -n {name} link set w0 mtu 9000")
    before = interface()
    ap = start_ap(*PLANE, rate="400 Mbps")
    station = start_station("s1", 14)
    until("a weight", lambda: weights() == {mac(2): 1.0})
    found = {"tcp": connection(8)}
    sender, receiver = socket_in("a"), socket_in("s1", bound=("", 5001))
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    found["jumbo"] = datagram(("10.79.0.2", 5001), 8900, sender, receiver)
    found["fragments"] = datagram(("10.79.0.2", 5001), 30000, sender, receiver)
    found["broadcast"] = datagram(("10.79.0.255", 5001), 1000, sender, receiver)
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.1.2.3") + socket.inet_aton("10.79.0.2"))
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.79.0.1"))
    found["multicast"] = datagram(("239.1.2.3", 5001), 1000, sender, receiver)
    six, hears = socket_in("a", family=socket.AF_INET6), socket_in("s1", family=socket.AF_INET6, bound=("::", 5002))
    found["ipv6"] = datagram(("fd79::2", 5002), 1000, six, hears)
    found["other"] = passes_raw(b"\x88\xb6", None)
    # IEEE 802.1Q: priority 3, VLAN 5. The kernel takes the tag off and tells it beside the frame.
    found["vlan"] = passes_raw(b"\x81\x00\x60\x05\x88\xb6", 0x6005)
    # An interface may be down for a while.
    run("ip -n a link set w0 down && ip -n a link set w0 up && ip -n a addr add fd79::1/64 dev w0 nodad")
    until("the link", lambda: datagram(("10.79.0.2", 5001), 1000, sender, receiver))
    found["working"] = ap.poll() is None
    end(station)
    end(ap)
    # At a high rate the pieces of TCP are left whole.
    ap = start_ap(*PLANE, rate="2 Gbps")
    until("the access point", status)
    found["whole"] = connection(8)
    found["pieces"] = status()["frames"]
    end(ap)
    found["restored"] = interface() == before
    # It goes with its interface, and says so.
    ap = start_ap(*PLANE)
    until("the access point", status)
    run("ip -n a link del w0")
    err = ap.communicate(timeout=PATIENCE_S)[1].decode()
    return {**found, "gone": [ap.returncode, err]}


def plane_killed():
    """`kill -9` of our own scheduler at moments of set-up and work leaves all as it was."""
    before = interface()
    station, seen = None, 0
    sender = socket_in("a", socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    moments = [0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, "served", "served"]
    for moment in moments:
        ap = start_ap(*PLANE)
        if moment == "served":
            station = station or start_station("s1", 10, "200 ms")
            until("a weight", lambda: mac(2) in weights())
            seen += any("fwsoc" in line for line in interface()[3])
            [sender.sendto(bytes(1200), ("10.79.0.2", 9)) for _ in range(300)]
        else:
            select.select([], [], [], moment)
        ap.kill()
        ap.wait()
        until("all as before", lambda: interface() == before)
    end(station)
    # Hooks of somebody else are not touched, and neither is a qdisc that frames would pass by.
    refusals = []
    for setting, word in [("clsact", "clsact"), ("root handle 7: pfifo limit 7", "root")]:
        run(f"ip netns exec a tc qdisc add dev w0 {setting}")
        foreign = interface()
        ap = start_ap(*PLANE)
        refusals.append([ap.communicate(timeout=PATIENCE_S)[1].decode(), ap.returncode])
        assert interface() == foreign
        if word == "root":
            ap = start_ap(*PLANE, "--replace")
            until("the access point", status)
            assert any("pfifo 7:" in line for line in interface()[0]), interface()
            end(ap)
            assert interface() == foreign
        run(f"ip netns exec a tc qdisc del dev w0 {word}")
    # A filter that somebody sets at our hooks stays, and so do the hooks.
    ap = start_ap(*PLANE)
    until("the access point", status)
    run("ip netns exec a tc filter add dev w0 egress pref 9 protocol all u32 match u32 1 0xffffffff at 0 classid 1:1")
    ap.kill()
    ap.wait()
    egress = lambda: interface()[-1]
    until("our filter gone", lambda: not any("fwsoc" in line for line in egress() + interface()[3]))
    kept = any("pref 9" in line for line in egress())
    return {"moments": len(moments), "seen": seen, "refusals": refusals, "kept": kept}


def paired():
    """A station gets its key over the air, beside a running access point, and is believed."""
    ap = start_ap()
    until("the access point", status)
    keys_of = lambda number: f"/run/netns/keys/paired{number}"
    def meet(number, answer, *words):
        pair = ["ip", "netns", "exec", "a", FAIRWAVE, "soc", "pair", "--interface", "w0", "--key", "/run/netns/keys/net", "--json", *words]
        pair = subprocess.Popen(pair, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pair.stderr.readline()
        join = start("s1", "join", "--interface", "w0", "--write", keys_of(number), "--json")
        said = pair.communicate(answer, timeout=PATIENCE_S)
        heard = join.communicate(timeout=PATIENCE_S)
        told = lambda process, both: [process.returncode, *[text.decode() for text in both]]
        return told(pair, said), told(join, heard)
    pair, join = meet(1, b"yes\n")
    found = {"pair": pair, "join": join, "mode": oct(os.stat(keys_of(1)).st_mode & 0o777),
             "same": open(keys_of(1)).read() == open("/run/netns/keys/s1").read()}
    station = start("s1", "station", "--interface", "w0", "--key", keys_of(1), "--snr", "10", "--interval", "1 s")
    until("a weight", lambda: mac(2) in weights())
    end(station)
    found["no"] = [*meet(2, b"no\n"), os.path.exists(keys_of(2))]
    found["first"] = [*meet(3, b"", "--trust-first"), os.path.exists(keys_of(3))]
    late = start("s2", "join", "--interface", "w0", "--write", keys_of(4), "--for", "1 s")
    found["late"] = [late.communicate(timeout=PATIENCE_S)[1].decode(), late.returncode]
    again = start("s1", "join", "--interface", "w0", "--write", keys_of(1))
    found["again"] = [again.communicate(timeout=PATIENCE_S)[1].decode(), again.returncode]
    found["refused"] = status()["refused"]
    end(ap)
    return found


def told():
    """What `status` shows without an interface's name, as it changes and to Prometheus."""
    asked = lambda *words: start("a", "status", *words)
    def answer(*words):
        process = asked(*words)
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out.decode(), err.decode()
    nobody = answer("--json")
    ap = start_ap()
    station = start_station("s1", 14)
    until("a weight", lambda: weights() == {mac(2): 1.0})
    once = json.loads(answer("--json")[1])
    watching = asked("--watch", "--json")
    lines = [json.loads(watching.stdout.readline()) for _ in range(2)]
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=PATIENCE_S)
    serving = asked("--prometheus", "127.0.0.1:0")
    at = serving.stderr.readline().decode().split()[-1]
    page = run(f"ip netns exec a curl -s --noproxy '*' {at}")
    end(station)
    end(ap)
    without = run(f"ip netns exec a curl -s --noproxy '*' -o /dev/null -w '%{{http_code}}' {at}")
    serving.kill()
    serving.wait()
    return {"nobody": nobody, "once": once, "lines": lines, "ended": watching.returncode,
            "page": page, "without": without}


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


def blast(core):
    """Processor time of a sender for each datagram of 100 bytes to s1, and how many a second."""
    line = ["ip", "netns", "exec", "a", "iperf3", "-c", "10.79.0.2", "-u", "-b", "0", "-l", "100",
            "-t", "3", "-J"]
    line = line if core is None else ["taskset", "-c", str(core), *line]
    end = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)["end"]
    used = end["cpu_utilization_percent"]["host_total"] / 100 * end["sum"]["seconds"]
    return {"ns": used * 1e9 / end["sum"]["packets"],
            "packets_s": end["sum"]["packets"] / end["sum"]["seconds"]}


# Name, T_soc, levels, and more options of the access point. Levels from 20 to 30 dB have one
# weight: the same reports, and nothing to set. In a dry run the queue stays a FIFO.
WAYS = [("pfifo, reports", 20, 1, 13, ["--dry-run"]), ("htb", None, 14, 14, []),
        ("htb, reports", 20, 20, 30, []), ("htb", 200, 1, 13, []), ("htb", 20, 1, 13, [])]


def cost(core=None):
    """What forwarding costs with a FIFO and with the classes, whose weights change."""
    server = subprocess.Popen(["ip", "netns", "exec", "s1", "iperf3", "-s"],
                              stdout=subprocess.DEVNULL)
    until("iperf3", lambda: ":5201" in run("ip netns exec s1 ss -ltn"))
    rows = []
    for turn in range(5):
        fifo = "ip netns exec a tc qdisc {} dev w0 root pfifo limit 1000"
        run(fifo.format("add"))
        rows.append({"turn": turn, "way": "pfifo", "every_ms": None, "changes_s": 0, **blast(core)})
        for way, every_ms, least, most, more in WAYS:
            if not more and rows[-1]["way"].startswith("pfifo"):
                run("ip netns exec a tc qdisc del dev w0 root")
            ap = start_ap("--pace", "10ms", "--quiet", *more, rate="30 Gbps")
            flip = every_ms and changing("/run/netns/snr", every_ms / 1000, least, most)
            needed = ["--interface", "w0", "--key", "/run/netns/keys/s1"]
            level = ["--snr-from", "/run/netns/snr"] if every_ms else ["--snr", "14"]
            interval = ["--interval", f"{every_ms or 1000} ms"]
            station = start("s1", "station", *needed, *level, *interval, "--quiet")
            until("a weight", lambda: mac(2) in weights())
            before, used = status(), [sum(processor_s(one)) for one in [ap, station]]
            row = {"turn": turn, "way": way, "every_ms": every_ms, **blast(core)}
            after = status()
            lasted = after["lasted_s"] - before["lasted_s"]
            spent = [sum(processor_s(one)) - was for one, was in zip([ap, station], used)]
            rows.append({**row, "changes_s": (after["changes"] - before["changes"]) / lasted,
                         "ap": spent[0] / lasted, "station": spent[1] / lasted})
            if flip:
                flip.kill()
                flip.wait()
            end(station)
            end(ap)
    server.kill()
    return rows


def apart():
    """The same, but nothing that runs beside the sender has its core."""
    os.sched_setaffinity(0, {1})
    return cost(0)


def processor_s(process):
    """Processor time that a process has had, of its own and in the kernel: the sum is exact, the
    parts are by the kernel's clock of 100 Hz."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    tasks = f"/proc/{process.pid}/task"
    exact = sum(int(open(f"{tasks}/{task}/schedstat").read().split()[0]) for task in os.listdir(tasks)) / 1e9
    parts = [int(field) for field in fields[11:13]]
    return [exact * part / max(sum(parts), 1) for part in parts]


def plane_cost():
    """What our own scheduler carries and costs beside HTB and nothing: datagrams of 100 bytes as fast
    as they can be sent, and one connection of TCP. Figures are worth something on an idle machine."""
    server = subprocess.Popen(["ip", "netns", "exec", "s1", "iperf3", "-s"], stdout=subprocess.DEVNULL)
    until("iperf3", lambda: ":5201" in run("ip netns exec s1 ss -ltn"))
    arrived = lambda: json.loads(run("ip -n s1 -j -s link show dev w0"))[0]["stats64"]["rx"]["packets"]
    rows = []
    for turn in range(3):
        for way in ["none", "htb", "user-space"]:
            ap = None if way == "none" else start_ap("--actuator", way, "--queue", "1000", "--quiet", rate="30 Gbps")
            if ap:
                until("the access point", status)
            for kind, words in [("tcp", []), ("udp", ["-u", "-b", "0", "-l", "100"])]:
                packets, used = arrived(), sum(processor_s(ap)) if ap else 0
                line = ["ip", "netns", "exec", "a", "iperf3", "-c", "10.79.0.2", "-t", "3", "-J", *words]
                end_of = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)["end"]
                packets, used = arrived() - packets, (sum(processor_s(ap)) if ap else 0) - used
                got = end_of.get("sum_received") or end_of["sum"]
                sender = end_of["cpu_utilization_percent"]["host_total"] / 100 * got["seconds"]
                rows.append({"turn": turn, "way": way, "kind": kind, "arrived_s": packets / got["seconds"],
                             "gbps": got["bits_per_second"] * (1 - got.get("lost_percent", 0) / 100) / 1e9,
                             "sender_ns": sender * 1e9 / max(packets, 1), "agent_ns": used * 1e9 / max(packets, 1),
                             "frames": ap and status()["frames"]})
            if ap:
                end(ap)
    server.kill()
    server.wait()
    return rows


def crowd(core=None):
    """Processor time of the access point while 200 stations report each 20 ms."""
    many, first = 200, 16
    run("ip netns add crowd && ip -n crowd link set lo up")
    lines = []
    for number in range(first, first + many):
        lines.append(f"link add p{number} type veth peer name w{number} netns crowd address {mac(number)}")
        lines.append(f"link set p{number} master br0 up")
    inside = [f"link set w{number} up" for number in range(first, first + many)]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)
    subprocess.run(["ip", "-n", "crowd", "-batch", "-"], input="\n".join(inside), text=True, check=True)
    ap = start_ap("--quiet", rate="1 Gbps")
    if core is not None:
        os.sched_setaffinity(ap.pid, {core})
    stations = []
    for number in range(first, first + many):
        key = f"/run/netns/keys/w{number}"
        line = f"{FAIRWAVE} soc key --key /run/netns/keys/net --station {mac(number)}"
        run(f"umask 077; {line} > {key}")
        needed = ["--interface", f"w{number}", "--key", key, "--snr", str(4 + number % 10)]
        line = ["ip", "netns", "exec", "crowd", FAIRWAVE, "soc", "station", *needed,
                "--interval", "20 ms", "--quiet"]
        stations.append(subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    until("all stations", lambda: len(weights()) == many, 90)
    before, used, began = status(), processor_s(ap), time.monotonic()
    select.select([], [], [], 10)
    after, lasted = status(), time.monotonic() - began
    own, kernel = [(after_s - before_s) / lasted
                   for after_s, before_s in zip(processor_s(ap), used)]
    found = {"stations": many, "memory": resident(ap), "own": own, "kernel": kernel,
             "reports_s": (after["accepted"] - before["accepted"]) / lasted,
             "missed_s": (after["missed"] - before["missed"]) / lasted,
             "refused": after["refused"]}
    for station in stations:
        station.kill()
        station.wait()
    end(ap)
    return found


def crowd_apart():
    """The same, but the stations have another core than the access point, as on real networks."""
    os.sched_setaffinity(0, {0})
    return crowd(1)


build()
keys()
tasks = {"shares": shares, "routed": routed, "classes": classes, "hostile": hostile,
         "restarted": restarted, "answered": answered, "killed": killed,
         "plane-shares": lambda: shares(*PLANE, "--queue", "1000"), "plane-routed": lambda: routed(*PLANE, "--queue", "1000"),
         "plane-classes": lambda: classes(*PLANE, "--queue", "1000"), "plane-frames": plane_frames, "plane-killed": plane_killed,
         "plane-cost": plane_cost,
         "told": told, "paired": paired, "replaced": replaced, "cost": cost, "apart": apart,
         "crowd": crowd, "crowd_apart": crowd_apart}
print(json.dumps(tasks[sys.argv[2]]()))
