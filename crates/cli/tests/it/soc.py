"""`fairwave soc` on an access point and three stations, each a network namespace on a bridge.

To be run as `unshare --net --mount --pid --fork --kill-child --mount-proc python3 soc.py FAIRWAVE
TASK`: what it makes is gone when it ends, however it does. A task prints a JSON value on success.
"""

import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from soc_effect import ends, measured, raised, segments, taken
from soc_frames import closed, piggyback, plain, vlans
from soc_gone import gone, renamed
from soc_plane import PLANE, plane_cost, plane_frames, plane_killed
from soc_stage import (
    FAIRWAVE, PATIENCE_S, STATIONS, build, changing, end, enter, flows, frame, interface, keys, mac,
    processor_s, raw, resident, run, send_all, sent_to_stations, start, start_ap, start_station,
    status, traffic_control, until, weights,
)
from soc_table4 import table4


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
    # The first line says that it serves.
    last = json.loads(end(ap).decode().split("\n", 1)[1])
    assert interface() == before, interface()
    return {"actuator": last["actuator"], "shares": [count / sum(counts) for count in counts], "bytes": sum(counts),
            "accepted": last["accepted"], "refused": last["refused"]}


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
            seen += sum(line.startswith("class htb") for line in traffic_control()[1]) == 3
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


def crowd(core=None):
    """Processor time of the access point while 200 stations report each 20 ms, in windows of 5 s: a
    machine that shares its processors loses some of them to others for a while."""
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
    windows = []
    for _ in range(7):
        before, used, began = status(), processor_s(ap), time.monotonic()
        select.select([], [], [], 5)
        # The answer to who asks is not what is measured.
        spent, lasted = processor_s(ap), time.monotonic() - began
        after = status()
        own, kernel = [(after_s - before_s) / lasted for after_s, before_s in zip(spent, used)]
        windows.append({"own": own, "kernel": kernel,
                        "reports_s": (after["accepted"] - before["accepted"]) / lasted,
                        "missed_s": (after["missed"] - before["missed"]) / lasted})
    found = {"stations": many, "memory": resident(ap), "windows": windows, "refused": after["refused"]}
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
         "plane-cost": plane_cost, "segments": segments, "measured": measured, "ends": ends, "raised": raised, "taken": taken, "gone": gone, "renamed": renamed,
         "told": told, "paired": paired, "replaced": replaced, "cost": cost, "apart": apart,
         "closed": closed, "plain": plain, "piggyback": piggyback, "vlans": vlans, "table4": table4, "table4-short": lambda: table4(10), "crowd": crowd, "crowd_apart": crowd_apart}
print(json.dumps(tasks[sys.argv[2]]()))
