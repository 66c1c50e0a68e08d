"""What `cargo xtask bench-shake` measures between the two hosts of shake.py.

To be run as shake.py is.
"""

import json
import os
import resource
import subprocess
import time

import shake

# The kernel's number of MPTCP, which Python 3.11 knows no name for.
IPPROTO_MPTCP = 262
STEADY_S, CUT_S, MENDED_S = 3, 4, 4
CONNECTIONS, ECHOED = 1000, 20_000

# Sends without end to each connection; or returns what it gets, to many at once.
SERVER = """
import asyncio, socket, sys
protocol, port, task = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
async def send(reader, writer):
    try:
        while True:
            writer.write(bytes(65536))
            await writer.drain()
    except ConnectionError:
        pass
async def echo(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()
async def main():
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((sys.argv[1], port))
    server = await asyncio.start_server({"send": send, "echo": echo}[task], sock=listening, backlog=4096)
    print(flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

# Reads as fast as it can; prints when it got something, for the time given.
READER = """
import json, socket, struct, sys, time
host, port, protocol, through, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], float(sys.argv[5])
if through:
    tcp = socket.create_connection(("127.0.0.1", 1080))
    tcp.sendall(bytes([5, 1, 0]))
    tcp.recv(2)
    tcp.sendall(bytes([5, 1, 0, 1]) + socket.inet_aton(host) + struct.pack(">H", port))
    answer = tcp.recv(10)
    assert answer[1] == 0, answer
else:
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    tcp.connect((host, port))
print(flush=True)
times, end = [], time.monotonic() + seconds
while (now := time.monotonic()) < end:
    if not tcp.recv(65536):
        break
    times.append(time.monotonic())
print(json.dumps(times))
"""

# Many connections through SOCKS5 at once, each of which has bytes echoed.
MANY = """
import asyncio, hashlib, os, socket, struct, sys
host, port, count, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
async def one(barrier):
    reader, writer = await asyncio.open_connection("127.0.0.1", 1080)
    writer.write(bytes([5, 1, 0]))
    await reader.readexactly(2)
    writer.write(bytes([5, 1, 0, 1]) + socket.inet_aton(host) + struct.pack(">H", port))
    assert (await reader.readexactly(10))[1] == 0
    data = os.urandom(length)
    await barrier.wait()
    writer.write(data)
    same = await reader.readexactly(length) == data
    await barrier.wait()
    return same
async def main():
    barrier = asyncio.Barrier(count + 1)
    tasks = [asyncio.create_task(one(barrier)) for _ in range(count)]
    await barrier.wait()
    print("open", flush=True)
    await barrier.wait()
    print(sum([await task for task in tasks]), flush=True)
    sys.stdin.readline()
asyncio.run(main())
"""


def program(host, text, *words, **options):
    """A program in a namespace that has printed its first line."""
    words = [str(word) for word in words]
    line = ["ip", "netns", "exec", host, "python3", "-c", text, *words]
    child = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, **options)
    child.first = child.stdout.readline()
    return child


def received(link):
    """Bytes that host c has received on a link."""
    return json.loads(shake.run(f"ip -n c -s -j link show {link}"))[0]["stats64"]["rx"]["bytes"]


def set_mptcp():
    shake.run("ip -n c mptcp limits set subflows 2 add_addr_accepted 2")
    shake.run("ip -n s mptcp limits set subflows 2 add_addr_accepted 2")
    shake.run("ip -n c mptcp endpoint add 10.77.1.1 dev w1 subflow")


def pause(carrier, how):
    """Longest pauses of a reader before and while a link is cut, and when it carries again."""
    protocol = IPPROTO_MPTCP if carrier == "mptcp" else 0
    port = 9262 if protocol else 9000
    tools = [] if protocol else [shake.serve(), shake.connect(4, "--mode", carrier)]
    seconds = STEADY_S + CUT_S + MENDED_S
    through = "" if protocol else "socks"
    reader = program("c", READER, shake.SERVER[4], port, protocol, through, seconds)
    time.sleep(STEADY_S)
    cut_at = time.monotonic()
    shake.cut("w0") if how == "silent" else shake.run("ip -n s link set w0 down")
    time.sleep(CUT_S)
    shake.mend("w0") if how == "silent" else shake.run("ip -n s link set w0 up")
    mended_at, before = time.monotonic(), received("w0")
    shake.until(lambda: received("w0") > before + 200_000)
    back_at = time.monotonic()
    times = json.loads(reader.communicate(timeout=shake.PATIENCE_S)[0])
    for tool in tools[::-1]:
        tool.end()
    longest = lambda since, till: max(b - a for a, b in zip(times, times[1:]) if since < b and a < till)
    steady = longest(cut_at - 2, cut_at - 0.1)
    return {"carrier": carrier, "how": how, "steady_ms": 1e3 * steady,
            "pause_ms": 1e3 * longest(cut_at, mended_at), "back_s": back_at - mended_at}


def pauses():
    """Two links of 40 Mbps, of which one is cut under load, five times each way."""
    set_mptcp()
    servers = [program("s", SERVER, shake.SERVER[4], protocol, port, "send")
               for protocol, port in [(0, 9000), (IPPROTO_MPTCP, 9262)]]
    rows = [pause(carrier, how) for _ in range(5) for how in ["silent", "down"]
            for carrier in ["shake", "redundant", "mptcp"]]
    for server in servers:
        server.kill()
    return rows


def spent(tool):
    """Seconds of processor time of a tool."""
    with open(f"/proc/{tool.child.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(tool):
    """Resident bytes of a tool."""
    with open(f"/proc/{tool.child.pid}/status") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return 1024 * int(line.split()[1])


def packets():
    """Packets that the hosts have handed to both links, and the datagrams in them: a packet with
    GSO is one in the statistics of an interface, and all its datagrams in those of its qdisc."""
    both = [(host, f"w{link}") for host in "cs" for link in range(2)]
    links = [json.loads(shake.run(f"ip -n {host} -s -j link show {link}"))[0] for host, link in both]
    qdiscs = [json.loads(shake.run(f"tc -n {host} -s -j qdisc show dev {link}"))[0] for host, link in both]
    return (sum(link["stats64"]["tx"]["packets"] for link in links),
            sum(qdisc["packets"] for qdisc in qdiscs))


def speed():
    """iperf3 through a forwarded port, over two links without shaping, three times each way."""
    for link in range(2):
        for host in "cs":
            shake.run(f"tc -n {host} qdisc replace dev w{link} root pfifo limit 1000")
    server = shake.serve()
    client = shake.connect(4, "--forward", f"5201={shake.SERVER[4]}:5201")
    rows = []
    for way in ["to the client", "to the server"] * 3:
        listening = subprocess.Popen(["ip", "netns", "exec", "s", "iperf3", "-s", "-1", "--forceflush"],
                                     stdout=subprocess.PIPE, text=True)
        while "listening" not in listening.stdout.readline():
            pass
        before = spent(client), spent(server), *packets()
        words = ["-R"] if way == "to the client" else []
        line = ["ip", "netns", "exec", "c", "iperf3", "-J", "-c", "127.0.0.1", "-t", "5", *words]
        result = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        listening.wait(timeout=shake.PATIENCE_S)
        after = spent(client), spent(server), *packets()
        end = result["end"]["sum_received"]
        rows.append({"way": way, "seconds": end["seconds"], "bits": 8 * end["bytes"],
                     "client_s": after[0] - before[0], "server_s": after[1] - before[1],
                     "packets": after[2] - before[2], "datagrams": after[3] - before[3]})
    client.end()
    server.end()
    return rows


def many():
    """A thousand connections at once, each of which has bytes echoed."""
    # Each tool has two sockets a connection.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    echo = program("s", SERVER, shake.SERVER[4], 0, 9001, "echo")
    server, client = shake.serve(), shake.connect(4)
    before = memory(client), memory(server)
    many = program("c", MANY, shake.SERVER[4], 9001, CONNECTIONS, ECHOED, stdin=subprocess.PIPE)
    opened = time.monotonic()
    intact = int(many.stdout.readline())
    result = {"connections": CONNECTIONS, "bytes": ECHOED, "intact": intact,
              "seconds": time.monotonic() - opened,
              "client_bytes": memory(client) - before[0], "server_bytes": memory(server) - before[1]}
    many.communicate("\n", timeout=shake.PATIENCE_S)
    client.end()
    server.end()
    echo.kill()
    return result


if __name__ == "__main__":
    shake.main([pauses, speed, many])
