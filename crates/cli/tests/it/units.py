"""The units of `fairwave shake`: server and client start as their users, with their system calls.

To be run as `unshare --net --mount --pid --fork --kill-child --mount-proc python3 units.py FAIRWAVE
UNIT...`. systemd does not run here: an ordinary user and a filter like that of the unit's groups of
system calls stand for it. Prints the exit codes of client and server.
"""

import ctypes
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile

FAIRWAVE, *UNITS = sys.argv[1:]
PATIENCE_S = 60
NOBODY = 65534
# linux/prctl.h, linux/seccomp.h, linux/bpf_common.h.
SET_NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2
ALLOW, DENY = 0x7FFF0000, 0x00050000
LOAD, EQUALS, RETURN = 0x20, 0x15, 0x06
EPERM = 1


def numbers():
    """Numbers of the system calls of this machine, by name."""
    line = ["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"]
    macros = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in re.findall(r"__NR_(\w+) (\d+)\n", macros)}


def members(group):
    """Names of the system calls of a group, those of its own groups among them."""
    line = ["systemd-analyze", "syscall-filter", "--no-pager", group]
    text = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    names = set()
    for name in text.split("\n")[1:]:
        name = name.strip()
        if name.startswith("@"):
            names |= members(name)
        elif name and not name.startswith("#"):
            names.add(name)
    return names


def allowed(unit):
    """Names of the system calls that a unit allows. `@default` is in each list."""
    names = members("@default")
    for line in re.findall(r"^SystemCallFilter=(.+)$", unit, re.MULTILINE):
        found = set().union(*(members(group) for group in line.lstrip("~").split()))
        names = names - found if line.startswith("~") else names | found
    return names


def program(unit):
    """A filter for the kernel: what is not allowed ends with EPERM."""
    known = numbers()
    lines = [(LOAD, 0, 0, 0)]
    for number in sorted(known[name] for name in allowed(unit) & known.keys()):
        lines += [(EQUALS, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    lines.append((RETURN, 0, 0, DENY | EPERM))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def confine(code):
    """Makes this process the user `nobody` without privileges, under the filter."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    lines = ctypes.create_string_buffer(code, len(code))
    what = struct.pack("@HP", len(code) // 8, ctypes.addressof(lines))
    libc = ctypes.CDLL(None, use_errno=True)
    for line in [(SET_NO_NEW_PRIVS, 1, 0, 0, 0), (SET_SECCOMP, FILTER, what, 0, 0)]:
        assert libc.prctl(*line) == 0, os.strerror(ctypes.get_errno())


def started(path, key, *changes):
    """The command of a unit, which has printed its first line of JSON."""
    with open(path) as file:
        unit = file.read()
    words = re.search(r"^ExecStart=\S+ (.+)$", unit, re.MULTILINE)[1]
    for old, new in [("${CREDENTIALS_DIRECTORY}/key", key), ("--quiet", "--json"), *changes]:
        assert old in words, words
        words = words.replace(old, new)
    code = program(unit)
    child = subprocess.Popen([FAIRWAVE, *words.split()], stdout=subprocess.PIPE, text=True,
                             preexec_fn=lambda: confine(code))
    first = child.stdout.readline()
    assert first, f"`{words}` ends with {child.wait(timeout=PATIENCE_S)}"
    json.loads(first)
    return child


def main():
    """Starts both, and ends them."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.chmod(place, 0o755)
        with open("key", "w") as file:
            file.write("a secret of these tests\n")
        os.chown("key", NOBODY, NOBODY)
        os.chmod("key", 0o600)
        key = os.path.join(place, "key")
        server = started(UNITS[0], key)
        client = started(UNITS[1], key, ("vps.example", "127.0.0.1"),
                         ("--via wlan0 --via usb0", "--via lo"))
        codes = []
        for child in [client, server]:
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=PATIENCE_S)
            codes.append(child.returncode)
        print(json.dumps(codes))


if __name__ == "__main__":
    main()
