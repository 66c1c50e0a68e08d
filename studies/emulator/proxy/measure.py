"""The share of bins in which TCP-AV reached its target, by NRT: a program through `fairwave proxy` on
the kernel's sockets, and the scenario's flow in the simulator, beside four uploads of Reno.

    sudo mount -t bpf bpf /mnt && sudo fairwave cc load fw_tcp_av --pin /mnt/fairwave
    sudo PIN=/mnt/fairwave python3 measure.py fairwave OUT [DELAY,... [TARGET_MBPS,... [WINDOW_KIB,...]]]

prints rows of Markdown as they come. (A node has a /sys of its own, so the law is pinned elsewhere.) `send` and `sink` are the programs inside.
"""

import json
import os
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 65
EFFECTIVE_MBPS = 25.0  # what the paper measured for one flow


def sink(port, window_kib):
    """Takes one connection with a receive window of that size: the kernel doubles what is asked, and offers half."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window_kib << 10)
    listener.bind(("0.0.0.0", port))
    listener.listen()
    peer, _ = listener.accept()
    try:
        while peer.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass


def send(proxy, server, port):
    """Uploads through the proxy until it ends."""
    with socket.create_connection((proxy, 1080)) as connection:
        address = socket.gethostbyname(server)
        connection.sendall(f"CONNECT {address}:{port} HTTP/1.1\r\n\r\n".encode())
        answer = connection.recv(1 << 10)
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        try:
            while True:
                connection.sendall(bytes(1 << 16))
        except OSError:
            pass


def settings(delay, target, window):
    pairs = {
        "link.ap-server.delay": delay,
        "flow.first.proxy.av.target": f"{target} Mbps",
        "flow.first.proxy.buffer": f"{window} KiB",
        "flow.first.receive_buffer": f"{window} KiB",
    }
    return [word for key, value in pairs.items() for word in ("--set", f'{key}="{value}"')]


def run(words):
    done = subprocess.run(words, capture_output=True, text=True)
    # 4: late. The row says so.
    if done.returncode not in (0, 4):
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}{done.stdout}")
    return done.returncode, json.loads(done.stdout)["summary"]


def others(summary):
    flows = [flow for flow in summary["flows"] if flow["name"].startswith("reno")]
    return sum(flow["goodput_bps"] for flow in flows) / len(flows) / 1e6


def emulated(fairwave, out, delay, target, window):
    me = f"python3 {os.path.abspath(__file__)}"
    proxy = f"{fairwave} proxy --quiet --json --listen 0.0.0.0:1080 --allow 0.0.0.0/0 --target {target}M --for {SECONDS - 3}s"
    if "PIN" in os.environ:
        proxy += f" --pin {os.environ['PIN']}"
    orders = [f"server={me} sink 7000 {window}", f"proxy1={proxy}", f"pc1@1s={me} send proxy1 server 7000"]
    words = [fairwave, "emulate", f"{HERE}/uploads.toml", "--json", "--force", "--out", out]
    words += settings(delay, target, window) + ["--set", f'flow.first.start="{SECONDS - 0.1} s"']
    code, summary = run(words + [word for order in orders for word in ("--exec", order)])
    found = None
    for name in sorted(os.listdir(f"{out}/programs") if os.path.isdir(f"{out}/programs") else []):
        with open(f"{out}/programs/{name}") as file:
            text = file.read()
        if '"achieved"' in text:
            found = json.loads(text[text.index("{"):])
    if found is None:
        raise SystemExit(f"{out}: the proxy has said nothing")
    mbps = found["bytes_up"] * 8 / (found["lasted_s"] - 1) / 1e6
    return found["achieved"], found["steered_by"], mbps, others(summary), code


def simulated(fairwave, out, delay, target, window):
    words = [fairwave, "run", f"{HERE}/uploads.toml", "--json", "--force", "--out", out]
    _, summary = run(words + settings(delay, target, window))
    first = next(flow for flow in summary["flows"] if flow["name"] == "first")
    bins = first["bins_bps"][1:]
    return sum(rate >= target * 1e6 for rate in bins) / len(bins), first["goodput_bps"] / 1e6, others(summary)


def main(fairwave, out, delays="2.5 ms,5 ms", targets="2.5,5,5.5,6.25,7.5", windows="64,256"):
    print("| delay | window KiB | target Mbps | NRT | AVR, kernel | bins | Mbps | others' | AVR, simulator | Mbps | others' | |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|", flush=True)
    for window in map(int, windows.split(",")):
        for delay in delays.split(","):
            for target in map(float, targets.split(",")):
                got, law, mbps, each, code = emulated(fairwave, f"{out}/kernel", delay, target, window)
                avr, sim_mbps, sim_each = simulated(fairwave, f"{out}/simulator", delay, target, window)
                judged = got["reached"] + got["missed"]
                cells = [delay, window, target, f"{target / EFFECTIVE_MBPS:.2f}", f"{got['share'] or 0:.2f}", judged]
                cells += [f"{mbps:.2f}", f"{each:.2f}", f"{avr:.2f}", f"{sim_mbps:.2f}", f"{sim_each:.2f}"]
                remark = law if code == 0 else f"{law}, late"
                print("| " + " | ".join(map(str, cells)) + f" | {remark} |", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[0] == "sink":
        sink(int(words[1]), int(words[2]))
    elif words[0] == "send":
        send(words[1], words[2], int(words[3]))
    else:
        main(*words)
