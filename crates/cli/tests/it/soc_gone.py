"""Tasks of `soc.py` on interfaces that are deleted or renamed meanwhile."""

from soc_plane import PLANE
from soc_stage import (
    FAIRWAVE, PATIENCE_S, end, interface, mac, run, start, start_ap, start_station, status,
    traffic_control, until, weights,
)


def gone():
    """An access point and a station end with their interface, and say so."""
    needed = ["--interface", "w0", "--key", "/run/netns/keys/net", "--json"]
    started = {
        "htb": ("a", start_ap()),
        "dry": ("s2", start("s2", "ap", *needed, "--rate", "8 Mbps", "--dry-run", "--piggyback")),
        # Datagrams leave by any interface: no error of theirs says that this one is gone.
        "station": ("s3", start("s3", "station", "--interface", "w0", "--key", "/run/netns/keys/s3",
                                "--to", "10.79.0.1", "--snr", "10", "--json")),
    }
    until("the access point", status)
    asked = f"ip netns exec s2 {FAIRWAVE} soc status --interface w0 || true"
    until("the dry one", lambda: run(asked))
    found = {}
    for name, (place, process) in started.items():
        run(f"ip -n {place} link del w0")
        err = process.communicate(timeout=PATIENCE_S)[1].decode()
        found[name] = [process.returncode, err]
    return found


def renamed():
    """An access point serves on under its interface's new name, and leaves nothing there."""
    station = start_station("s1", 10, "200 ms")
    seen = 0
    for words, foreign in [([], None), (["--replace"], "root handle 7: pfifo limit 7"), (PLANE, None)]:
        if foreign:
            run(f"ip netns exec a tc qdisc add dev w0 {foreign}")
        for ending in ["end", "kill"]:
            before = interface()
            ap = start_ap(*words)
            until("a weight", lambda: mac(2) in weights())
            run("ip -n a link set w0 name lan7")
            # Another interface with the old name is not touched.
            run("ip -n a link add w0 type veth peer name w9 && ip netns exec a tc qdisc add dev w0 clsact")
            accepted = status()["accepted"]
            until("reports", lambda: status()["accepted"] > accepted + 3)
            if ending == "end":
                end(ap)
            else:
                ap.kill()
                ap.wait()
            left = lambda: [line for line in traffic_control("lan7")[0] if "5343:" in line or "clsact" in line]
            until("the qdisc gone", lambda: not left())
            assert "clsact" in traffic_control()[0][-1], traffic_control()
            run("ip -n a link del w0 && ip -n a link set lan7 name w0")
            until("all as before", lambda: interface() == before)
            seen += 1
        if foreign:
            run("ip netns exec a tc qdisc del dev w0 root")
    end(station)
    return {"seen": seen}
