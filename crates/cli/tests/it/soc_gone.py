"""Tasks of `soc.py` on interfaces that are deleted meanwhile."""

from soc_stage import (
    FAIRWAVE, PATIENCE_S, run, start, start_ap, status, until,
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
