"""Tasks of `soc.py` on a weight of 0, on the frame of the paper, and on reports that ride on data."""

import json
import select
import socket
from soc_stage import (
    PATIENCE_S, end, everything, frame, mac, raw, run, socket_in, start, start_ap, start_station, status,
    traffic_control, until, weights,
)

LEVEL = "/run/netns/snr"


def set_level(text):
    with open(LEVEL, "w") as file:
        file.write(text)


def start_walker(*words):
    """The first station, which reads its level from a file."""
    return start("s1", "station", "--interface", "w0", "--snr-from", LEVEL, "--interval", "200 ms", *words)


def pass_on(sender, number, count):
    """Sends datagrams to a station, as many of them as its queue takes."""
    for at in range(count):
        try:
            sender.sendto(at.to_bytes(4, "big") + bytes(1000), (f"10.79.0.{number}", 9000))
        except (BlockingIOError, ConnectionRefusedError, OSError):
            pass


def drain(receiver, patience_s):
    """The number of datagrams that arrive until none does for so long."""
    count = 0
    while select.select([receiver], [], [], patience_s)[0]:
        receiver.recv(2000)
        count += 1
    return count


def closed(*words):
    """A station without weight is sent nothing, waiting packets included, until its SoC is back."""
    before = traffic_control()
    set_level("14")
    ap = start_ap("--policy", "gb1", *words, rate="400 kbps")
    stations = [start_walker("--key", "/run/netns/keys/s1"), start_station("s2", 20)]
    until("weights by gb1", lambda: weights() == {mac(2): 1.0, mac(3): 1.0})
    near, far = [socket_in(name, bound=(f"10.79.0.{number}", 9000)) for name, number in [("s1", 2), ("s2", 3)]]
    sender = socket_in("a")
    sender.setblocking(False)
    pass_on(sender, 2, 1)
    served = drain(near, 2)
    # Some 60 kB of which 400 kbps carry 10 kB before the level falls: the rest waits.
    pass_on(sender, 2, 60)
    set_level("3")
    until("no weight", lambda: weights().get(mac(2)) == 0.0)
    drain(near, 0)
    # While nothing waits, and while there is always something to send.
    pass_on(sender, 2, 20)
    arrived = drain(near, 3)
    pass_on(sender, 3, 5)
    other = drain(far, 2)
    # A class that is new has a full bucket.
    stations.append(start_station("s3", 3))
    until("no weight from the start", lambda: weights().get(mac(4)) == 0.0)
    third = socket_in("s3", bound=("10.79.0.4", 9000))
    pass_on(sender, 4, 5)
    fresh = drain(third, 3)
    lines = [line for line in traffic_control()[0] if line.startswith("qdisc bfifo")]
    set_level("14")
    until("the weight again", lambda: weights().get(mac(2)) == 1.0)
    def resumed():
        pass_on(sender, 2, 1)
        return drain(near, 0.1)
    until("service", resumed)
    for station in stations:
        end(station)
    end(ap)
    assert traffic_control() == before, traffic_control()
    return {"served": served, "arrived": arrived, "fresh": fresh, "other": other, "closed": len(lines)}


def refused(name, *words):
    """The words and the exit code of a command that does not begin."""
    process = start(name, *words)
    err = process.communicate(timeout=PATIENCE_S)[1].decode()
    return [err, process.returncode]


def plain():
    """The frame of the paper weighs a station where both sides accept that it is not authenticated."""
    set_level("10")
    ap = start_ap("--frame", "plain", "--unauthenticated")
    walker = start_walker("--frame", "plain", "--unauthenticated")
    until("a weight", lambda: round(weights().get(mac(2), 0), 3) == 0.8)
    listener = raw("a")
    of_station = lambda seen: seen if seen[6:12] == bytes.fromhex(mac(2).replace(":", "")) else None
    report = until("a report", lambda: of_station(listener.recv(200)))
    # A sealed station beside it, whose weight needs its key.
    sealed = start_station("s2", 14, "200 ms")
    until("the other's weight", lambda: weights().get(mac(3)) == 1.0)
    raw("s3").send(frame(mac(3), bytes([10, 79, 0, 3, 0, 0, 0, 1]) + bytes(38)))
    until("a refusal", lambda: status()["refused"].get("unsealed"))
    now = status()
    ends = [walker, sealed]
    for station in ends:
        end(station)
    end(ap)
    station = ["station", "--interface", "w0", "--snr", "10"]
    key = ["--key", "/run/netns/keys/s1"]
    ap = ["ap", "--interface", "w0", "--rate", "8 Mbps", "--key", "/run/netns/keys/net"]
    return {"report": report[12:].hex(), "weights": {one["station"]: one["weights"][0] for one in now["stations"]},
            "unauthenticated": now["unauthenticated"], "accepted": now["accepted"],
            "unasked": [refused("s1", *station, *key, "--frame", "plain"), refused("a", *ap, "--frame", "plain")],
            "pointless": [refused("s1", *station, "--unauthenticated"), refused("a", *ap, "--unauthenticated"),
                          refused("a", *ap, "--plain-interval", "1 s")]}


def hooks(name):
    return run(f"ip netns exec {name} tc qdisc show dev w0; ip netns exec {name} tc filter show dev w0 egress; ip -n {name} link")


def piggyback():
    """Reports ride on data frames while there are some, and the data arrives."""
    names = ["a", "s1"]
    before = [hooks(name) for name in names]
    ap = start_ap("--piggyback")
    needed = ["--interface", "w0", "--key", "/run/netns/keys/s1", "--interval", "200 ms"]
    station = start("s1", "station", *needed, "--snr", "10", "--piggyback", "--json")
    until("a weight", lambda: round(weights().get(mac(2), 0), 3) == 0.8)
    receiver = socket_in("a", bound=("10.79.0.1", 9000))
    listener = raw("a")
    sender = socket_in("s1")
    arrived, riding, accepted = [], [], status()["accepted"]
    # Every other datagram fills the MTU, so that no report has room in its frame.
    sent = 0
    while len(riding) < 8 and sent < 3000:
        sender.sendto(sent.to_bytes(4, "big") + bytes(1468 if sent % 2 else 100), ("10.79.0.1", 9000))
        sent += 1
        while select.select([receiver], [], [], 0.01)[0]:
            arrived.append(int.from_bytes(receiver.recv(2000)[:4], "big"))
        while select.select([listener], [], [], 0)[0]:
            seen = listener.recv(2000)
            if seen[14:16] == b"SC" and seen[18:20] == b"\x08\x00":
                riding.append(len(seen))
    while select.select([receiver], [], [], 1)[0]:
        arrived.append(int.from_bytes(receiver.recv(2000)[:4], "big"))
    believed = status()["accepted"] - accepted
    # Without data they go alone.
    alone = status()["accepted"]
    until("reports alone", lambda: status()["accepted"] >= alone + 3)
    missed = status()["missed"]
    counts = json.loads(end(station))
    end(ap)
    after = [hooks(name) for name in names]
    return {"lost": sorted(set(range(sent)) - set(arrived)), "again": len(arrived) - len(set(arrived)), "sent": sent,
            "riding": riding, "believed": believed, "missed": missed, "counts": counts, "restored": after == before}


VLAN_TAGS = {"802.1Q": "81006005", "802.1ad": "88a86006", "both": "88a8600681006005"}


def tag_beside(about):
    """The VLAN tag that the kernel has taken off a frame (`struct tpacket_auxdata`), in hexadecimal."""
    words = about[0][2]
    number, kind = [int.from_bytes(words[at:at + 2], "little") for at in (16, 18)]
    return f"{kind:04x}{number:04x}" if int.from_bytes(words[:4], "little") & 16 else ""


def vlans():
    """Reports ride on frames with VLAN tags, which stay outermost, and the data arrives with its tags."""
    ap = start_ap("--piggyback")
    needed = ["--interface", "w0", "--key", "/run/netns/keys/s1", "--interval", "200 ms"]
    station = start("s1", "station", *needed, "--snr", "10", "--piggyback", "--json")
    until("a weight", lambda: round(weights().get(mac(2), 0), 3) == 0.8)
    listener, sender = everything("a"), everything("s1")
    ends = bytes.fromhex((mac(1) + mac(2)).replace(":", ""))
    found = {name: ride_behind(bytes.fromhex(tags), ends, listener, sender) for name, tags in VLAN_TAGS.items()}
    in_front = json.loads(end(station))["in_front"]
    end(ap)
    return {"in_front": in_front, "kinds": found}


def ride_behind(tags, ends, listener, sender):
    """Frames with these tags, as they arrive at the access point, and those of them with a report."""
    loaded, arrived, sent = [], [], 0
    accepted = status()["accepted"]
    while len(loaded) < 4 and sent < 3000:
        rest = tags + b"\x88\xb6" + sent.to_bytes(4, "big") + bytes(100)
        sender.send(ends + rest)
        sent += 1
        while select.select([listener], [], [], 0.01)[0]:
            seen, about, _, _ = listener.recvmsg(2000, 100)
            behind = bytes.fromhex(tag_beside(about)) + seen[12:]
            if b"\x88\xb5SC" in behind and behind.endswith(rest[-104:]):
                loaded.append(behind.split(b"SC")[0].hex())
            elif behind[:-104] == tags + b"\x88\xb6":
                arrived.append(int.from_bytes(behind[-104:-100], "big"))
    believed = until("the last report", lambda: status()["accepted"] >= accepted + len(loaded))
    return {"lost": sorted(set(range(sent - 1)) - set(arrived)), "again": len(arrived) - len(set(arrived)),
            "loaded": loaded, "tags": tags.hex(), "believed": believed}
