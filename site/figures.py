"""Draws the figures of the pages in docs/models: structures, and series of runs.

    python3 site/figures.py FAIRWAVE [--check]

FAIRWAVE is the command that makes the runs. With --check nothing is written: it fails if a figure
would differ from the one that is kept. `cargo xtask gen` writes them, the suite checks them.
"""

import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "docs/models/figures"

# An upload of which the other point of the sweep is not shown.
UPLOAD = ["flow.up.delayed_ack=on"]

# A series of a run: scenario, settings, and the column that is drawn.
RUNS = {
    "reno": ("single-tcp", [*UPLOAD, "tcp.congestion_control=reno"], "flows.cwnd_bytes"),
    "cubic": ("single-tcp", [*UPLOAD, "tcp.congestion_control=cubic"], "flows.cwnd_bytes"),
    "bbr": ("single-tcp", [*UPLOAD, "tcp.congestion_control=bbr"], "flows.cwnd_bytes"),
    "compound": ("single-tcp", [*UPLOAD, "tcp.congestion_control=compound"], "flows.cwnd_bytes"),
    "vegas": ("single-tcp", [*UPLOAD, "tcp.congestion_control=vegas"], "flows.cwnd_bytes"),
    "westwood": ("single-tcp", [*UPLOAD, "tcp.congestion_control=westwood"], "flows.cwnd_bytes"),
    "rate-control": ("walk", ["node.walker.rate_control=minstrel"], "pairs.rate_mean_bps"),
    "mobility": ("walk", ["node.walker.rate_control=minstrel"], "stations.snr_millidb"),
    "fading": ("fading", ["node.ap.rate_control=minstrel"], "stations.snr_millidb"),
}

# Boxes by place (column, row) with arrows (from, to, words, whether dashed) and a note below.
BOXES = {
    "ack-loss": (
        [("laptop", 0, 0), ("radio\nchannel", 1, 0), ("access point,\nfull queue", 2, 0),
         ("server", 3, 0)],
        [(0, 1, "data", False), (1, 2, "", False), (2, 3, "data", False), (3, 2, "ACKs", True),
         (2, 1, "some ACKs", True), (1, 0, "", True)],
        "ACKs of the upload wait in the same queue as downloads, and are dropped where it is full.",
    ),
    "queues": (
        [("arrivals", 0, 0), ("mark, drop\nor filter", 1, 0), ("one queue,\nor one a flow", 2, 0),
         ("whose turn", 3, 0), ("radio or link", 4, 0)],
        [(0, 1, "", False), (1, 2, "", False), (2, 3, "", False), (3, 4, "", False)],
        "A discipline decides which packet is dropped, and which one is sent next.",
    ),
    "schedulers": (
        [("host 1, weight 2", 0, 0), ("host 2, weight 1", 0, 1), ("host 3, weight 1", 0, 2),
         ("scheduler", 1, 1), ("link", 2, 1)],
        [(0, 3, "1/2", False), (1, 3, "1/4", False), (2, 3, "1/4", False), (3, 4, "", False)],
        "While all hosts have packets, each gets its weight's share of the link.",
    ),
    "radio": (
        [("transmit\npower, dBm", 0, 0), ("path loss\nby distance", 1, 0),
         ("level", 2, 0), ("level less\nnoise: SNR", 3, 0), ("frame arrives\nor not", 4, 0)],
        [(0, 1, "", False), (1, 2, "", False), (2, 3, "", False), (3, 4, "by rate", False)],
        "The faster the rate of a frame, the higher the SNR that it needs.",
    ),
    "wires": (
        [("node", 0, 0), ("queue", 1, 0), ("rate", 2, 0), ("loss", 3, 0), ("delay, jitter", 4, 0),
         ("node", 5, 0)],
        [(0, 1, "", False), (1, 2, "", False), (2, 3, "", False), (3, 4, "", False),
         (4, 5, "", False)],
        "Each direction of a link has all of these.",
    ),
    "trace": (
        [("capture", 0, 0), ("frames to\npackets", 1, 0), ("packets to\nconnections", 2, 0),
         ("kind of each\npacket", 3, 0), ("the limit:\nloss, window,\napplication", 4, 0)],
        [(0, 1, "", False), (1, 2, "", False), (2, 3, "", False), (3, 4, "", False)],
        "Read once, in bounded memory.",
    ),
    "stacks": (
        [("the flow's\nown keys", 0, 0), ("table [tcp]", 1, 0), ("stack = \"linux-6\"", 2, 0),
         ("defaults", 3, 0)],
        [(0, 1, "else", False), (1, 2, "else", False), (2, 3, "else", False)],
        "Where the value of a key comes from: the first that has one.",
    ),
    "sources": (
        [("source:\nsizes and times", 0, 0), ("transport", 1, 0), ("queue", 2, 0),
         ("network", 3, 0), ("receiver", 4, 0)],
        [(0, 1, "datagrams", False), (1, 2, "", False), (2, 3, "", False), (3, 4, "", False)],
        "A source knows nothing of the network, so its datagrams queue where it is slower.",
    ),
    "dccp": (
        [("application", 0, 0), ("queue of\ndatagrams", 1, 0), ("CCID: when\nto send", 2, 0),
         ("receiver", 3, 0)],
        [(0, 1, "", False), (1, 2, "", False), (2, 3, "data", False), (3, 2, "ACK", True)],
        "A lost datagram is reported and never sent again.",
    ),
    "rtc": (
        [("encoder", 0, 0), ("pacer", 1, 0), ("network", 2, 0), ("receiver", 3, 0),
         ("GCC: target rate", 1, 1)],
        [(0, 1, "frames", False), (1, 2, "RTP", False), (2, 3, "", False),
         (3, 4, "arrival times", True), (4, 0, "rate", True)],
        "Growing delays lower the rate before the queue overflows.",
    ),
    "proxy": (
        [("client", 0, 0), ("near side", 1, 0), ("far side", 2, 0), ("server", 3, 0)],
        [(0, 1, "TCP", False), (1, 0, "", True), (1, 2, "data", False), (2, 3, "TCP", False),
         (3, 2, "", True)],
        "Two connections, each with its own congestion control and round-trip time.",
    ),
    "tcp-av": (
        [("target rate", 0, 0), ("bytes sent\nso far", 0, 1), ("what is owed", 1, 0),
         ("target window", 2, 0), ("window after\na loss", 3, 0)],
        [(0, 2, "", False), (1, 2, "", False), (2, 3, "", False), (3, 4, "", False)],
        "A loss halves Reno's window; here it returns to what the target needs.",
    ),
    "multi-tcp": (
        [("application", 0, 1), ("TCP over path 1", 1, 0), ("TCP over path 2", 1, 1),
         ("TCP over path 3", 1, 2), ("stream in order", 2, 1)],
        [(0, 1, "2", False), (0, 2, "1", False), (0, 3, "1", False), (1, 4, "", False),
         (2, 4, "", False), (3, 4, "", False)],
        "Blocks are divided by a fixed ratio, here 2:1:1; the slowest connection sets the pace.",
    ),
    "shake": (
        [("application", 0, 1), ("scheduler", 1, 1), ("path 1: Wi-Fi", 2, 0),
         ("path 2: LTE", 2, 1), ("path 3: a neighbour", 2, 2), ("one sequence,\none buffer", 3, 1)],
        [(0, 1, "", False), (1, 2, "", False), (1, 3, "", False), (1, 4, "", False),
         (2, 5, "", False), (3, 5, "", False), (4, 5, "", False)],
        "Each path has a window, a round-trip time and a timer of its own.",
    ),
    "soc": (
        [("SNR of frames", 0, 0), ("filter", 1, 0), ("reporter", 2, 0), ("table", 3, 0),
         ("policy", 4, 0), ("weight in\nthe queue", 5, 0)],
        [(0, 1, "", False), (1, 2, "", False), (2, 3, "report", True), (3, 4, "", False),
         (4, 5, "", False)],
        "The three on the left are in the station, the others in the access point.",
    ),
    "tfrc": (
        [("rate", 0, 0), ("pacing", 1, 0), ("receiver", 2, 0), ("loss intervals", 2, 1),
         ("equation", 0, 1)],
        [(0, 1, "", False), (1, 2, "data", False), (2, 3, "", False), (3, 4, "p, R", True),
         (4, 0, "X", True)],
        "The receiver measures how often packets are lost; the equation gives the rate of a TCP.",
    ),
    "cluster": (
        [("borrower", 0, 0), ("lender", 1, 0), ("server", 2, 0), ("own uplink", 1, 1)],
        [(0, 1, "local network", False), (1, 2, "lent uplink", False), (0, 3, "", False),
         (3, 2, "", False)],
        "A borrowed uplink is one more path of the borrower's SHAKE connection.",
    ),
    "handover": (
        [("sender", 0, 0), ("old access point", 1, 0), ("new access point", 1, 1),
         ("station", 2, 0)],
        [(0, 1, "until the gap", False), (1, 3, "", False), (0, 2, "after it", True),
         (2, 3, "", True)],
        "For a second or more neither path carries anything, and the sender receives nothing.",
    ),
}

# Lanes over time: names, and spans (begin, end, words, shade).
LANES = {
    "dcf": (
        [("station A", [(0, 2, "DIFS", 0), (2, 4, "backoff 2", 1), (4, 9, "data", 2),
                        (12, 14, "DIFS", 0)]),
         ("access point", [(9, 10, "", 0), (10, 12, "ACK", 3)]),
         ("station B", [(0, 2, "DIFS", 0), (2, 4, "5, 4", 1), (4, 12, "busy: count stops", 4),
                        (12, 14, "DIFS", 0), (14, 17, "3, 2, 1", 1), (17, 19, "data", 2)])],
        "Both count down while the channel is idle; A reaches zero first, B goes on where it stopped.",
    ),
    "edca": (
        [("voice", [(0, 2, "AIFS", 0), (2, 3, "slots", 1), (3, 5, "frame", 2), (6, 7, "ACK", 3)]),
         ("bulk data", [(0, 3, "AIFS", 0), (3, 7, "busy", 4), (7, 10, "AIFS", 0),
                        (10, 12, "slots", 1), (12, 18, "A-MPDU: 64 packets", 2),
                        (18, 19.5, "block ack", 3)])],
        "Voice waits for fewer slots; an aggregate pays once for contention and acknowledgement.",
    ),
    "ping": (
        [("ping", [(0, 1, "request", 2), (14, 15, "reply", 3)]),
         ("access point's queue", [(1.5, 13, "the download's packets, sent first", 4)]),
         ("round trip", [(0, 15, "", 1)])],
        "The reply waits behind every packet that was in the queue when it came.",
    ),
    "probe": (
        [("train", [(i, i + 0.8, str(i + 1), 2) for i in range(12)]),
         ("buffer", [(0, 6, "fills", 1), (6, 12, "full: 5 packets", 4)]),
         ("arrivals", [(2 * i + 1, 2 * i + 1.8, str(n), 3)
                       for i, n in enumerate([1, 2, 3, 4, 5, 6, 8, 10])])],
        "Sent faster than the link drains: numbers are missing from the first full moment on.",
    ),
    "tcp": (
        [("sender", [(0, 1, "1", 2), (1.2, 2.2, "2", 2), (2.4, 3.4, "3", 2), (3.6, 4.6, "4", 2),
                     (4.8, 5.8, "5", 2), (11, 12, "2", 4)]),
         ("receiver", [(3, 4, "1", 3), (5.4, 6.4, "3", 3), (6.6, 7.6, "4", 3), (7.8, 8.8, "5", 3),
                       (14, 15, "2", 3)]),
         ("ACKs", [(6, 7, "2", 1), (8.4, 9.4, "2, 3", 1), (9.6, 10.6, "2, 3-4", 1),
                   (10.8, 11.8, "2, 3-5", 1), (17, 18, "6", 1)])],
        "Segment 2 is lost. SACKs of later segments show it, and it is retransmitted before the timer.",
    ),
    "video": (
        [("frames sent", [(i * 3, i * 3 + 1, n, 2) for i, n in enumerate(["I", "P", "P", "P", "I"])]),
         ("arrive", [(2, 3, "I", 3), (5, 6, "P", 3), (8.5, 12.5, "late P", 4), (13, 14, "P", 3),
                     (14.5, 15.5, "I", 3)]),
         ("shown", [(4, 7, "I", 1), (7, 10, "P", 1), (10, 16, "frozen", 4), (16, 19, "I", 1)])],
        "A frame that misses its time is useless, and so are those that depend on it.",
    ),
}

SHADES = ["#ffffff", "#dbe9f6", "#0072b2", "#009e73", "#e9d8c8"]
INK = ["#282828", "#282828", "#ffffff", "#ffffff", "#282828"]
LINE = "#5a6068"


def text(x: float, y: float, words: str, size: int = 13, ink: str = "#282828",
         anchor: str = "middle") -> str:
    """Words with their base line at y."""
    return (f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{ink}">{escape(words)}</text>')


def drawing(width: float, height: float, title: str, parts: list[str]) -> str:
    """A drawing on a white ground."""
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" font-family="sans-serif" role="img">\n'
            f"<title>{escape(title)}</title>\n"
            '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
            f'markerHeight="8" orient="auto"><path d="M0 0l8 4-8 4z" fill="{LINE}"/></marker>'
            f'</defs>\n<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>\n')
    return head + "\n".join(parts) + "\n</svg>\n"


def boxes(name: str) -> str:
    """Boxes with arrows."""
    all_boxes, arrows, note = BOXES[name]
    wide, high, gap_x, gap_y, margin = 140, 58, 84, 34, 16
    at = [(margin + column * (wide + gap_x), margin + row * (high + gap_y))
          for _, column, row in all_boxes]
    parts = []
    for start, end, words, is_dashed in arrows:
        parts += arrow(at[start], at[end], wide, high, words, is_dashed)
    for (label, _, _), (x, y) in zip(all_boxes, at, strict=True):
        parts.append(f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="5" '
                     f'fill="#dbe9f6" stroke="#0072b2"/>')
        lines = label.split("\n")
        top = y + high / 2 + 5 - 8 * (len(lines) - 1)
        parts += [text(x + wide / 2, top + 16 * i, line) for i, line in enumerate(lines)]
    width = max(x for x, _ in at) + wide + margin
    bottom = max(y for _, y in at) + high + 26
    parts.append(text(margin, bottom, note, 13, LINE, "start"))
    return drawing(max(width, margin * 2 + 6.6 * len(note)), bottom + 12, note, parts)


def arrow(start: tuple[int, int], end: tuple[int, int], wide: int, high: int, words: str,
          is_dashed: bool) -> list[str]:
    """An arrow between the sides of two boxes; a dashed one lies below a plain one."""
    shift = 12 if is_dashed else -6
    (x1, y1), (x2, y2) = start, end
    middle = high / 2
    if x1 == x2:
        down = y2 > y1
        ends = (x1 + wide / 2, y1 + (high if down else 0), x2 + wide / 2, y2 + (0 if down else high))
    elif x2 > x1:
        ends = (x1 + wide, y1 + middle + shift, x2, y2 + middle + shift)
    else:
        ends = (x1, y1 + middle + shift, x2 + wide, y2 + middle + shift)
    dash = ' stroke-dasharray="5 4"' if is_dashed else ""
    line = (f'<line x1="{ends[0]:g}" y1="{ends[1]:g}" x2="{ends[2]:g}" y2="{ends[3]:g}" '
            f'stroke="{LINE}" stroke-width="1.5"{dash} marker-end="url(#a)"/>')
    if not words:
        return [line]
    x, y = (ends[0] + ends[2]) / 2, (ends[1] + ends[3]) / 2
    return [line, text(x, y + (16 if is_dashed else -6), words, 11, LINE)]


def lanes(name: str) -> str:
    """Lanes over time."""
    all_lanes, note = LANES[name]
    left, unit, high, gap, margin = 160, 42, 34, 14, 16
    parts, last = [], 0.0
    for row, (label, spans) in enumerate(all_lanes):
        y = margin + row * (high + gap)
        parts.append(text(left - 10, y + high / 2 + 5, label, 13, "#282828", "end"))
        for begin, end, words, shade in spans:
            last = max(last, end)
            x, wide = left + begin * unit, (end - begin) * unit
            parts.append(f'<rect x="{x:g}" y="{y}" width="{wide:g}" height="{high}" '
                         f'fill="{SHADES[shade]}" stroke="{LINE}"/>')
            if words:
                parts.append(text(x + wide / 2, y + high / 2 + 5, words, 12, INK[shade]))
    bottom = margin + len(all_lanes) * (high + gap)
    width = left + last * unit + margin
    parts.append(f'<line x1="{left}" y1="{bottom}" x2="{width - margin:g}" y2="{bottom}" '
                 f'stroke="{LINE}" marker-end="url(#a)"/>')
    parts.append(text(width - margin, bottom + 16, "time", 11, LINE, "end"))
    parts.append(text(margin, bottom + 34, note, 13, LINE, "start"))
    return drawing(max(width, margin * 2 + 6.6 * len(note)), bottom + 46, note, parts)


def of_run(fairwave: str, name: str, place: Path) -> str:
    """A series of a run, drawn by the command."""
    scenario, settings, column = RUNS[name]
    out, file = place / name, place / f"{name}.svg"
    sets = [word for setting in settings for word in ("--set", setting)]
    run = ["run", f"scenarios/{scenario}.toml", "--quiet", "--out", str(out), *sets]
    plot = ["plot", str(out), "--y", column, "--file", str(file)]
    for words in (run, plot):
        subprocess.run([fairwave, *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return file.read_text(encoding="utf-8")


def main() -> int:
    """Draws all figures; returns the exit code."""
    fairwave, *options = sys.argv[1:]
    fairwave = str(Path(fairwave).resolve())
    made = {name: boxes(name) for name in BOXES} | {name: lanes(name) for name in LANES}
    with tempfile.TemporaryDirectory() as place:
        made |= {name: of_run(fairwave, name, Path(place)) for name in RUNS}
    differ = []
    for name, drawn in sorted(made.items()):
        file = PLACE / f"{name}.svg"
        if options == ["--check"]:
            is_same = file.exists() and file.read_text(encoding="utf-8") == drawn
            differ += [] if is_same else [name]
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(drawn, encoding="utf-8")
    unused = {file.stem for file in PLACE.glob("*.svg")} - set(made)
    if differ or unused:
        print(f"docs/models/figures: {sorted(set(differ) | unused)}: `cargo xtask gen`")
    return 1 if differ or unused else 0


if __name__ == "__main__":
    sys.exit(main())
