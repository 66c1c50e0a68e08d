"""Tasks of `soc.py` on the effect of weights, and on the ends of both sides."""

import select
import socket
import subprocess
import sys
import time
from soc_stage import (
    FAIRWAVE, PATIENCE_S, STATIONS, datagram, end, enter, mac, run, send_all, socket_in, start, start_ap,
    start_station, status, traffic_control, until, weights,
)


def effect():
    return (status() or {}).get("effect") or {"verdict": None, "shares": []}


def streams(names, until_found):
    """Streams of TCP to each of these namespaces, in segments as long as the kernel makes them, until
    something is found; the bytes that arrived."""
    receivers, senders = [], []
    for name in names:
        enter(name)
        address = (f"10.79.0.{2 + int(name[1]) - 1}", 5201)
        listener = socket.socket()
        listener.bind(address)
        listener.listen()
        enter("a")
        sender = socket.create_connection(address, PATIENCE_S)
        sender.setblocking(False)
        senders.append(sender)
        receivers.append(listener.accept()[0])
    counts = {one: 0 for one in receivers}
    stop = time.monotonic() + 60
    look = 0
    while time.monotonic() < stop:
        readable, writable, _ = select.select(receivers, senders, [], 0.1)
        for one in readable:
            counts[one] += len(one.recv(1 << 20))
        for one in writable:
            try:
                one.send(bytes(1 << 16))
            except BlockingIOError:
                pass
        if time.monotonic() > look:
            look = time.monotonic() + 0.5
            if until_found():
                return [counts[one] for one in receivers]
    raise SystemExit(f"not found: {status()}")


def segments():
    """Streams of TCP whose segments the kernel joins follow the weights, and UDP right afterwards."""
    ap = start_ap()
    stations = [start_station(name, snr) for name, snr in [("s1", 14), ("s2", 4)]]
    expected = {mac(2): 1.0, mac(3): 0.2}
    until("weights by pw", lambda: {who: round(w, 3) for who, w in weights().items()} == expected)
    before = traffic_control()[0]
    streams(["s1", "s2"], lambda: len(effect()["shares"]) == 2)
    found = {"tcp": effect()}
    for station in stations:
        end(station)
    end(ap)
    return {**found, "qdiscs": before}


def flood(found):
    """Datagrams to all stations, until something is found."""
    stop = time.monotonic() + 60
    while time.monotonic() < stop:
        enter("a")
        send_all(1)
        value = found()
        if value:
            return value
    raise SystemExit(f"not found: {status()}")


def measured():
    """Weights that the kernel does not have any more are noticed, and bytes in no class."""
    ap = start_ap()
    stations = [start_station(name, snr) for name, snr in [("s1", 14), ("s2", 4)]]
    expected = {mac(2): 1.0, mac(3): 0.2}
    until("weights by pw", lambda: {who: round(w, 3) for who, w in weights().items()} == expected)
    shares_of = lambda verdict: lambda: next((one for one in [effect()] if one["verdict"] == verdict), None)
    found = {"follows": flood(shares_of("follows"))}
    # Another program gives all classes one weight.
    classes = [line.split()[2] for line in traffic_control()[1] if line.startswith("class htb 5343:1")]
    for minor in [one for one in classes if one != "5343:1"]:
        run(f"ip netns exec a tc class change dev w0 parent 5343:1 classid {minor} htb rate 2mbit ceil 8mbit quantum 20000")
    found["deviates"] = flood(shares_of("deviates"))
    page = start("a", "status", "--interface", "w0")
    found["words"] = page.communicate(timeout=PATIENCE_S)[0].decode()
    # Frames that go past the qdisc.
    enter("a")
    past = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    past.setsockopt(263, 20, 1)
    past.bind(("w0", 0))
    frame = bytes.fromhex("020000000002" "020000000001" "88b6") + bytes(1000)
    def past_it():
        for _ in range(2000):
            past.send(frame)
        time.sleep(0.2)
        return shares_of("bypassed")()
    found["bypassed"] = until("bytes in no class", past_it)
    run("ip netns exec a tc qdisc del dev w0 root")
    time.sleep(1.5)
    for station in stations:
        end(station)
    ap.send_signal(2)
    out, err = ap.communicate(timeout=PATIENCE_S)
    found["err"], found["rc"] = err.decode(), ap.returncode
    return found


def raised():
    """Frames of a larger MTU pass the classes soon after it was raised, also those of packets that wait
    first in, first out."""
    found = {}
    for leaf in ["default", "fifo"]:
        ap = start_ap(*(["--leaf", leaf] if leaf == "fifo" else []), rate="400 Mbps")
        station = start_station("s1", 14, "200 ms")
        until("a weight", lambda: mac(2) in weights())
        before = traffic_control()[0]
        for mtu in [9000, 1500]:
            enter("all")
            run(f"ip link set br0 mtu {mtu}")
            [run(f"ip link set p{number} mtu {mtu}") for number in range(1, 5)]
            [run(f"ip -n {name} link set w0 mtu {mtu}") for name in ["a"] + STATIONS]
            size = mtu - 100
            for name, address in [("s1", "10.79.0.2"), ("s2", "10.79.0.3")]:
                sender, receiver = socket_in("a"), socket_in(name, bound=("", 5001))
                until("a long frame", lambda: datagram((address, 5001), size, sender, receiver))
                receiver.close()
        found[leaf] = [len(before), len(traffic_control()[0]), status()["is_pending"]]
        end(station)
        end(ap)
    return found


def taken():
    """A program of another user that has the name of the status socket neither keeps an access point
    from starting nor answers for it, also where its queue has no room for a question."""
    code = ("import os, socket, sys\n"
            "os.setuid(65534)\n"
            "listener = socket.socket(socket.AF_UNIX)\n"
            "listener.bind('\\0fairwave-soc-w0')\n"
            "listener.listen(int(sys.argv[1]))\n"
            "waiting = socket.socket(socket.AF_UNIX)\n"
            "waiting.connect('\\0fairwave-soc-w0')\n"
            "print('ready', flush=True)\n"
            "sys.stdin.read()\n")
    found = {}
    for name, room in [("taken", "100"), ("full", "0")]:
        line = ["ip", "netns", "exec", "a", sys.executable, "-c", code, room]
        stranger = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        stranger.stdout.readline()
        ap = start_ap()
        station = start_station("s1", 10, "200 ms")
        until("a class", lambda: any("5343:10 " in line for line in traffic_control()[1]))
        asked = [start("a", "status", *words) for words in [["--interface", "w0"], []]]
        found[name] = [one.communicate(timeout=PATIENCE_S)[1].decode() for one in asked]
        station.kill()
        station.wait()
        ap.send_signal(2)
        found[name] += [ap.communicate(timeout=PATIENCE_S)[1].decode(), ap.returncode]
        stranger.communicate(b"")
    return found


def ends():
    """A station that ends hands over at once, one with another network's key gets to know it, and a
    second access point finds the first."""
    ap = start_ap()
    station = start_station("s1", 4, "200 ms")
    until("a weight", lambda: mac(2) in weights())
    end(station)
    gone = until("the handover", lambda: (now := status()) and now["stations"] == [] and now)
    run("umask 077; head -c 32 /dev/urandom | base64 > /run/netns/keys/other")
    line = f"{FAIRWAVE} soc key --key /run/netns/keys/other --station {mac(3)}"
    run(f"umask 077; {line} > /run/netns/keys/s2other")
    needed = ["--interface", "w0", "--key", "/run/netns/keys/s2other", "--snr", "10"]
    stranger = start("s2", "station", *needed)
    readable = select.select([stranger.stderr], [], [], PATIENCE_S)[0]
    refused = stranger.stderr.readline().decode() if readable else ""
    stranger.kill()
    stranger.wait()
    second = start_ap()
    err = second.communicate(timeout=PATIENCE_S)[1].decode()
    plan = start("a", "ap", "--interface", "w0", "--plan")
    planned = plan.communicate(timeout=PATIENCE_S)[1].decode()
    end(ap)
    return {"missed": gone["missed"], "refused": refused, "second": [err, second.returncode],
            "plan": [planned, plan.returncode]}
