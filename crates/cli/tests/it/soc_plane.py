"""Tasks of `soc.py` on our own scheduler in user space."""

import json
import os
import random
import select
import socket
import subprocess
import time
from soc_stage import (
    PATIENCE_S, STATIONS, datagram, end, everything, enter, interface, mac, processor_s, run, socket_in,
    start_ap, start_station, status, until, weights,
)

PLANE = ["--actuator", "user-space"]


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
    listener = everything("s1")
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
