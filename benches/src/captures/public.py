"""Compares `fairwave trace` with tshark over a directory of public captures.

    public.py FAIRWAVE DIRECTORY

DIRECTORY has a folder for each project whose captures were copied there. Prints a section of
results/captures.md. Captures that either program cannot read are counted and named.
"""

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FIGURES = ("packets", "resent", "sack", "zero")
FIELDS = {
    "tcp.stream": "packets",
    "tcp.analysis.retransmission": "resent",
    "tcp.analysis.out_of_order": "resent",
    "tcp.options.sack_le": "sack",
    "tcp.analysis.zero_window": "zero",
}
WORKERS = 2

# Kinds of difference, found by reading the packets of captures that differ.
EXPLAINED = """\
Kinds of difference, found by reading the packets:

- *Copies*: both sides of a router, or all ports of a bridge, were captured. `fairwave trace` leaves
  the second packet out; tshark counts it as a retransmission. The copies above have the same
  numbers and checksum, nearly all of them the same identification, and SACK blocks of their own;
  in imaps they have a lower TTL and no identification.
- *Links and protocols that are named and not read*: ARCnet, Cisco FabricPath (ajp), the
  authentication header and IP compression; CAPWAP data whose 802.11 fields are in Cisco's byte
  order (capwap_data), which tshark detects.
- *IP lengths beyond the frame* (telnet, tls_invalid_reads): damaged captures. `fairwave trace`
  takes lengths from the IP header, so that a snap length changes nothing; tshark ends the segment
  where the frame ends.
- *Damaged headers* (the fuzz files, ip_fragmented_garbage, kerberos_fuzz, reasm_crash_anon): tshark
  counts a TCP header that is cut, and calls a reset with an old number a retransmission.
- *A connection that begins with a SYN-ACK* on the ports of another one (ndpi_match_string): tshark
  and `fairwave trace` keep both in one stream and differ in the numbers that they unwrap.
""".splitlines()


def ours(program, file, *named):
    """The JSON of `fairwave trace`, or its error."""
    command = [program, "trace", str(file), "--json", "--quiet", *named]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[0].replace(f"{file}: ", "")
    return json.loads(done.stdout), None


def theirs(file):
    """tshark's counts; those of TCP headers that ICMP errors quote are left out."""
    command = ["tshark", "-n", "-r", str(file), "-Y", "tcp && !icmp && !icmpv6", "-T", "fields"]
    # Sequence numbers and the order of segments are judged from the headers alone.
    command += ["-o", "tcp.desegment_tcp_streams:FALSE"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    counts = Counter()
    for line in done.stdout.splitlines():
        for cell, figure in zip(line.split("\t"), FIELDS.values()):
            counts[figure] += len([part for part in cell.split(",") if part])
    failed = done.returncode and not done.stdout
    if failed:
        return None, done.stderr.strip().splitlines()[-1].replace(str(file), file.name)
    return counts, None


def counts_of(read):
    """The same figures of ours."""
    counts = Counter(packets=read["capture"]["ip"]["tcp"])
    for connection in read["connections"]:
        for way in (connection["a_sent"], connection["b_sent"]):
            counts["resent"] += way["retransmissions"] + way["kinds"].get("out_of_order", 0)
            counts["sack"] += way["sack_blocks"]
            counts["zero"] += way["zero_windows"]
    return counts


def impossible(program, file, read):
    """Figures that cannot be: shares above 100 %, more ACKs lost than seen, spells that overlap."""
    several = []
    for connection in read["connections"]:
        watched = connection["watched_ns"]
        spells = connection["idle"]["count"]
        for end, other in (("a_sent", "b_sent"), ("b_sent", "a_sent")):
            way, back = connection[end], connection[other]
            at = f"connection {connection['number']}, {end}"
            for what in ("starvation", "ack_gaps", "zero_window_spells"):
                spells += way[what]["count"]
                if way[what]["total_ns"] > watched:
                    yield f"{at}: {what} above 100 %"
            for what in ("application_limited_ns", "window_limited_ns"):
                if way[what] > watched:
                    yield f"{at}: {what} above 100 %"
            if (way["acks_lost_inferred"] or 0) > back["packets"]:
                yield f"{at}: more ACKs lost than seen"
            if way["retransmitted_segments"] > way["segments"] + way["syn"] + way["fin"]:
                yield f"{at}: more segments retransmitted than sent"
        if spells > 1:
            several.append(connection["number"])
    for first in range(0, len(several), 50):
        yield from overlaps(program, file, several[first : first + 50])
    for kind in ("udp", "dccp"):
        for stream in read[kind]:
            for end in ("a_sent", "b_sent"):
                numbers, packets = stream[end]["numbers"], stream[end]["packets"]
                # An outage can be longer than the rest, but not by any factor.
                if numbers and numbers["lost"] > 100 * packets:
                    yield f"{kind} {stream['number']}, {end}: {numbers['lost']} lost of {packets}"


def overlaps(program, file, numbers):
    """Spells of one kind and end that begin before the last one has ended."""
    named = [part for number in numbers for part in ("-c", str(number))]
    read, _ = ours(program, file, *named)
    for connection in read["connections"]:
        ends = {}
        for event in connection["events"]["first"]:
            kind, begins = (event["side"], event["what"]), event["at_ns"]
            if event["length_ns"] is None:
                continue
            if begins < ends.get(kind, 0):
                yield f"connection {connection['number']}: {kind} overlap at {begins} ns"
            ends[kind] = max(ends.get(kind, 0), begins + event["length_ns"])


def reasons(read):
    """Kinds of packets that the programs treat differently, where `fairwave trace` counts them."""
    frames, ip = read["capture"]["frames"], read["capture"]["ip"]
    counts = {
        "copies left out": ip["copies"],
        "802.11 retries left out": frames["repeated"],
        "wrong check sequence": frames["bad_fcs"],
        "link not read": frames["not_ip"] + frames["unsupported"],
        "protocol over IP not read": ip["other"],
        "cut or broken headers": ip["unreadable"] + ip["broken"] + frames["broken"],
        "incomplete fragments": ip["incomplete"] + ip["fragments"],
        "tunnel": sum(tunnel["packets"] for tunnel in read["capture"]["tunnels"]),
    }
    return [what for what, count in counts.items() if count]


class Case:
    """A capture, as both programs read it."""

    def __init__(self, program, place, file):
        self.name = str(file.relative_to(place))
        read, self.error = ours(program, file)
        self.theirs, self.their_error = theirs(file)
        self.ours = counts_of(read) if read else None
        self.impossible = list(impossible(program, file, read)) if read else []
        self.why = reasons(read) if read else []
        self.read = read

    def is_read(self):
        return self.ours is not None and self.theirs is not None

    def errors(self):
        return f"- {self.name}: {self.error or 'read'}; {self.their_error or 'read'}"

    def differs(self):
        return any(self.ours[figure] != self.theirs[figure] for figure in FIGURES)

    def row(self):
        return f"| {self.name} | {cells(self.ours, self.theirs)} | {', '.join(self.why) or '-'} |"


def cells(ours, theirs):
    """Both counts of each figure, or one where they agree."""
    pairs = [(ours[figure], theirs[figure]) for figure in FIGURES]
    return " | ".join(str(a) if a == b else f"**{a}** / {b}" for a, b in pairs)


HEAD = "packets | resent or late | SACK blocks | zero windows"


def projects(cases):
    return sorted({case.name.split("/")[0] for case in cases})


def totals(cases):
    """A table with a row for each project."""
    lines = [f"| project | captures | with TCP | alike | {HEAD} |", "|---" * 8 + "|"]
    for project in projects(cases):
        own = [case for case in cases if case.name.startswith(project + "/") and case.is_read()]
        with_tcp = [case for case in own if case.ours["packets"] or case.theirs["packets"]]
        alike = sum(not case.differs() for case in with_tcp)
        ours, theirs = Counter(), Counter()
        for case in with_tcp:
            ours.update(case.ours)
            theirs.update(case.theirs)
        counts = cells(ours, theirs)
        lines.append(f"| {project} | {len(own)} | {len(with_tcp)} | {alike} | {counts} |")
    return lines


def section(cases, version):
    """The section of the page."""
    read = [case for case in cases if case.is_read()]
    # Where nothing was retransmitted, equal counts of packets say little.
    eventful = [case for case in read if sum(case.theirs[of] for of in FIGURES[1:])]
    different = [case for case in read if case.differs()]
    listed = [case for case in eventful if not case.differs() and case.theirs["packets"] >= 40]
    unread = [case for case in cases if not case.is_read()]
    wrong = [f"- {case.name}: {what}" for case in cases for what in case.impossible]
    lines = [
        "## Public captures",
        "",
        f"Made by `cargo xtask captures --public DIRECTORY` with {version}: {len(cases)} captures, "
        f"test files of {', '.join(projects(cases))}. Of two counts the first, bold one is of "
        "`fairwave trace`. *Resent or late* are retransmissions and packets out of order together, "
        "which the programs tell apart by different rules ([trace](../docs/models/trace.md)).",
        "",
        *totals(cases),
        "",
        f"Figures that cannot be (shares above 100 %, more ACKs lost than seen, spells that "
        f"overlap): {len(wrong) or 'none'}.",
        *wrong,
        "",
        f"{len(different)} captures are counted differently:",
        "",
        f"| capture | {HEAD} | packets of these kinds |",
        "|---" * 6 + "|",
        *(case.row() for case in different),
        "",
        *EXPLAINED,
        "",
        f"Of the {len(eventful)} captures with retransmissions, SACK or zero windows, those of 40 "
        "packets and more that are counted alike:",
        "",
        f"| capture | {HEAD} |",
        "|---" * 5 + "|",
        *(f"| {case.name} | {cells(case.ours, case.theirs)} |" for case in listed),
        "",
        f"Not read by one of the programs (`fairwave trace`; tshark): {len(unread)}.",
        *(case.errors() for case in unread),
    ]
    return "\n".join(lines)


def main():
    program, place = sys.argv[1], Path(sys.argv[2])
    files = sorted(file for file in place.rglob("*") if file.is_file())
    with ThreadPoolExecutor(WORKERS) as pool:
        cases = list(pool.map(lambda file: Case(program, place, file), files))
    version = subprocess.run(["tshark", "--version"], capture_output=True, text=True)
    print(section(cases, "TShark " + version.stdout.split()[2]))


if __name__ == "__main__":
    main()
