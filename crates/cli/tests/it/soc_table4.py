"""The measurement of the paper's Table 4 in the kernel: from the receipt of a packet to the end of
its transmission, by the kernel's tracepoints, at an access point that routes."""

import os
import select
import socket
from soc_stage import STATIONS, end, enter, mac, run, start_ap, start_station, until, weights

TRACE = "/run/netns/trace"
# Voice of the paper: 350 bytes of IP each 30 ms.
IP_BYTES = 350
EVERY_S = 0.03
WARM_UP = 10


def set_up():
    """A server behind a second interface of the access point, which routes; and tracefs."""
    run("ip netns add srv && ip link add u0 netns a type veth peer name e0 netns srv")
    run("ip -n a addr add 10.78.0.1/24 dev u0 && ip -n a link set u0 up")
    run("ip -n srv addr add 10.78.0.2/24 dev e0 && ip -n srv link set e0 up")
    run("ip -n srv route add default via 10.78.0.1")
    run("ip netns exec a sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'")
    for name in STATIONS:
        run(f"ip -n {name} route add 10.78.0.0/24 via 10.79.0.1")
    run(f"mkdir -p {TRACE} && mount -t tracefs t {TRACE}")


class Tracer:
    """An instance of the kernel's tracer of its own, which is gone afterwards."""

    def __init__(self):
        self.place = f"{TRACE}/instances/fairwave-{os.getpid()}"
        os.mkdir(self.place)
        self.write("trace_clock", "mono")
        # Received: handed from the driver to the kernel. Sent: the driver has taken it.
        self.write("events/net/netif_rx/filter", f'name == "u0" && len == {IP_BYTES}')
        self.write("events/net/net_dev_xmit/filter", f'name == "w0" && len == {IP_BYTES + 14} && rc == 0')
        self.switch(1)

    def write(self, file, text):
        with open(f"{self.place}/{file}", "w") as opened:
            opened.write(text)

    def switch(self, state):
        for event in ["netif_rx", "net_dev_xmit"]:
            self.write(f"events/net/{event}/enable", str(state))

    def times(self):
        """Nanoseconds of each packet from one tracepoint to the other, in order; the buffer is empty
        afterwards."""
        with open(f"{self.place}/trace") as file:
            lines = [line.split() for line in file if not line.startswith("#")]
        self.write("trace", "")
        received, found = {}, []
        for words in lines:
            at = next(i for i, word in enumerate(words) if word in ("netif_rx:", "net_dev_xmit:"))
            time_ns = round(float(words[at - 1].rstrip(":")) * 1e9)
            address = next(word for word in words if word.startswith("skbaddr="))
            if words[at] == "netif_rx:":
                received[address] = time_ns
            elif address in received:
                found.append(time_ns - received.pop(address))
        return found

    def close(self):
        self.switch(0)
        os.rmdir(self.place)


def forward(tracer, count):
    """Forwards voice packets to the first station; their times in nanoseconds."""
    enter("srv")
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tracer.times()
    for _ in range(WARM_UP + count):
        sender.sendto(bytes(IP_BYTES - 28), ("10.79.0.2", 9000))
        select.select([], [], [], EVERY_S)
    times = tracer.times()
    assert len(times) >= count, f"{len(times)} of {count} packets were traced"
    return times[-count:]


def table4(repetitions=100):
    """The times under a FIFO, and under SoCPS by each of the paper's policies."""
    set_up()
    enter("s1")
    # Somebody listens, so that nobody answers that nobody does.
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("10.79.0.2", 9000))
    tracer = Tracer()
    try:
        run("ip netns exec a tc qdisc add dev w0 root pfifo limit 50")
        rows = [{"scheme": "fifo", "ns": forward(tracer, repetitions)}]
        run("ip netns exec a tc qdisc del dev w0 root")
        for policy in ["gb1", "gb2", "gb3", "pw"]:
            ap = start_ap("--policy", policy, "--quiet", rate="1 Gbps")
            stations = [start_station(name, 20, "200 ms") for name in STATIONS]
            until("three weights", lambda: [weights().get(mac(number)) for number in [2, 3, 4]] == [1.0] * 3)
            rows.append({"scheme": policy, "ns": forward(tracer, repetitions)})
            for station in stations:
                end(station)
            end(ap)
    finally:
        tracer.close()
    return rows
