"""`fairwave share` between a borrower, a lender and a server, each a network namespace.

To be run as `unshare --net --mount --pid --fork --kill-child --mount-proc python3 share.py FAIRWAVE
TASK`: what it makes is gone when it ends, however it does. A task prints a JSON value on success.
"""

import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

FAIRWAVE = sys.argv[1]
PATIENCE_S = 60
SERVER = "10.77.9.9"
LENDER = "10.88.0.2"
NEIGHBOUR = "10.88.0.3"
PROXY = "socks5h://127.0.0.1:1080"
ALLOW = ["--allow", f"{SERVER}/32"]


def run(line):
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


def build():
    """Borrower b, lender l and its neighbour h on one network; b and l have an uplink each to s."""
    run("mkdir -p /run/netns && mount -t tmpfs t /run/netns")
    for name in "blhs":
        run(f"ip netns add {name} && ip -n {name} link set lo up")
    run(f"ip -n s addr add {SERVER}/32 dev lo")
    run("ip -n l link add lan type bridge && ip -n l link set lan up")
    run(f"ip -n l addr add {LENDER}/24 dev lan")
    for name, address in [("b", "10.88.0.1"), ("h", NEIGHBOUR)]:
        run(f"ip -n {name} link add lan type veth peer name lan-{name} netns l")
        run(f"ip -n l link set lan-{name} master lan up")
        run(f"ip -n {name} addr add {address}/24 dev lan && ip -n {name} link set lan up")
    for number, name in enumerate("bl"):
        uplink(number, name)


def uplink(number, name):
    """An uplink to s."""
    run(f"ip -n {name} link add up{number} type veth peer name up{number} netns s")
    for host, last in [(name, 1), ("s", 2)]:
        run(f"ip -n {host} addr add 10.77.{number}.{last}/24 dev up{number}")
        run(f"ip -n {host} link set up{number} up")
        run(f"tc -n {host} qdisc add dev up{number} root tbf rate 40mbit burst 20k limit 200k")
    run(f"ip -n {name} route add {SERVER} via 10.77.{number}.2 dev up{number}")


class Tool:
    """A command in a namespace, which has printed its first line of JSON."""

    def __init__(self, host, *words):
        line = ["ip", "netns", "exec", host, FAIRWAVE, *words, "--json"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.child = subprocess.Popen(line, **pipes)
        self.notes = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.first = json.loads(self.child.stdout.readline() or "null")

    def read(self):
        for line in self.child.stderr:
            self.notes.put(line)

    def note_with(self, text):
        """Waits for a line of standard error with this text."""
        seen = []
        while True:
            try:
                seen.append(self.notes.get(timeout=PATIENCE_S))
            except queue.Empty:
                raise AssertionError(f"no line with {text}: {seen}") from None
            if text in seen[-1]:
                return seen[-1].strip()

    def end(self):
        """Its result after the signal to end."""
        self.child.send_signal(signal.SIGTERM)
        rest = self.child.stdout.read()
        assert self.child.wait(timeout=PATIENCE_S) == 0, self.child.returncode
        return json.loads(rest)

    def kill(self):
        self.child.kill()
        self.child.wait(timeout=PATIENCE_S)


def serve(host="s"):
    return Tool(host, "shake", "serve", "--key", "key")


def lend(*words):
    words = words or ALLOW
    return Tool("l", "share", "lend", "--key", "share", "--via", "up1", "--name", "lender", *words)


def client(*words, host=SERVER, key="share"):
    return ["shake", "connect", host, "--key", "key", "--borrow-key", key, *words]


def connect(*words):
    return Tool("b", *client(*words))


def refused(patience="2 s", **options):
    """Exit code and standard error of a client that gets no session."""
    line = ["ip", "netns", "exec", "b", FAIRWAVE, *client("--borrow", LENDER, **options)]
    line += ["--timeout", patience]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    return [done.returncode, done.stderr]


def web():
    """Files of the present directory over HTTP."""
    line = ["ip", "netns", "exec", "s", "python3", "-m", "http.server", "-b", SERVER, "8000"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen(line, **quiet)
    run(f"ip netns exec s curl -s --retry 50 --retry-connrefused --retry-delay 1 "
        f"http://{SERVER}:8000/ > /dev/null")
    return child


def fetch(name):
    """A download through the borrower's SOCKS5 port, as a process."""
    url = f"http://{SERVER}:8000/{name}"
    return subprocess.Popen(
        ["ip", "netns", "exec", "b", "curl", "-sf", "--proxy", PROXY, url, "-o", "got"])


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_whole(got, name):
    return got.wait(timeout=PATIENCE_S) == 0 and digest("got") == digest(name)


def until_has(size):
    end = time.monotonic() + PATIENCE_S
    while not os.path.exists("got") or os.path.getsize("got") < size:
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def carries():
    """A lender found by its name: a file comes whole over the own uplink and the borrowed one."""
    server, lender = serve(), lend("--rate", "20M", *ALLOW)
    line = ["ip", "netns", "exec", "b", FAIRWAVE, "share", "list", "--json"]
    listed = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    both = connect("--via", "up0", "--borrow", "lender")
    both.note_with("lender can be used")
    assert is_whole(fetch("file"), "file")
    result = both.end()
    lender.note_with("no longer borrows")
    found = {"listed": listed, "client": result, "lender": lender.end(), "first": lender.first}
    server.end()
    return found


def survives():
    """The lender is killed in mid-transfer and comes back; then the own uplink loses its carrier."""
    server, lender = serve(), lend()
    both = connect("--via", "up0", "--borrow", LENDER)
    run("head -c 24000000 /dev/urandom > large")
    got = fetch("large")
    until_has(2_000_000)
    lender.kill()
    until_has(8_000_000)
    lender = lend()
    both.note_with(f"{LENDER}:17996 can be used")
    until_has(12_000_000)
    run("ip -n s link set up0 down")
    assert is_whole(got, "large")
    result = both.end()
    lender.note_with("no longer borrows")
    found = {"client": result, "lender": lender.end()}
    server.end()
    return found


def replugs():
    """The lent interface is taken away and comes back under its name, and so does the lease."""
    server, lender = serve(), lend()
    only = connect("--borrow", LENDER)
    assert is_whole(fetch("file"), "file")
    run("ip -n l link del up1")
    gone = only.note_with("cannot be used")
    uplink(1, "l")
    only.note_with("can be used")
    assert is_whole(fetch("file"), "file")
    # The next one is there before the lender looks.
    run("ip -n l link del up1")
    uplink(1, "l")
    assert is_whole(fetch("file"), "file")
    only.kill()
    lender.end()
    server.end()
    return gone


def ends():
    """The lender ends while a client borrows from it."""
    server, lender = serve(), lend()
    only = connect("--borrow", LENDER)
    assert is_whole(fetch("file"), "file")
    found = lender.end()
    only.kill()
    server.end()
    return found


def limits():
    """A host without an uplink of its own: the rate is kept, and the bytes of a day."""
    server, lender = serve(), lend("--rate", "2M", *ALLOW)
    only = connect("--borrow", LENDER)
    run("head -c 1500000 /dev/urandom > small")
    assert is_whole(fetch("small"), "small")
    rate = {"client": only.end()}
    lender.note_with("no longer borrows")
    rate["lender"] = lender.end()

    lender = lend("--per-day", "1MB", *ALLOW)
    only = connect("--borrow", LENDER)
    got = fetch("file")
    quota = {"client": only.note_with("cannot be used"), "lender": lender.note_with("may not")}
    got.kill()
    only.kill()
    quota["bytes"] = lender.end()["today_bytes"]
    server.end()
    return {"rate": rate, "quota": quota}


def refuses():
    """The lender's own network, a wrong key, and a time of the day."""
    server, lender, neighbour = serve(), lend(), serve("h")
    lan, itself = refused(host=NEIGHBOUR), refused(host=LENDER)
    with open("other", "w") as file:
        file.write("a secret of other hosts\n")
    # A borrower is silent for 8 s before it reports that there is no answer.
    stranger = refused(patience="9 s", key="other")
    counts = lender.end()
    hours = [time.strftime("%H:00", time.localtime(time.time() + ahead * 3600)) for ahead in (2, 3)]
    lender = lend("--hours", "-".join(hours), *ALLOW)
    closed = refused()
    lender.end()
    server.end()
    return {
        "lan": lan, "itself": itself, "closed": closed, "stranger": stranger,
        "lender": counts, "neighbour": neighbour.end(),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.chmod(place, 0o755)
        build()
        for name, secret in [("key", "of SHAKE's two ends"), ("share", "of the cluster")]:
            with open(name, "w") as file:
                file.write(f"a secret {secret}\n")
        run("head -c 6000000 /dev/urandom > file")
        child = web()
        tasks = {"carries": carries, "survives": survives, "ends": ends, "limits": limits,
                 "refuses": refuses, "replugs": replugs}
        print(json.dumps(tasks[sys.argv[2]]()))
        child.kill()
