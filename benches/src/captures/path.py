"""A path between two TUN devices of one namespace: delay, loss, reordering and an outage.

It is what this kernel's queueing disciplines cannot do. Packets that are read from one device are
written to the other when they are due. What was dropped is printed as JSON when standard input
closes: for each flow, packets with payload and packets without.
"""

import fcntl
import heapq
import json
import os
import random
import selectors
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


def tun(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def flow(packet):
    """Protocol, ports and whether there is payload; None of what is no TCP or UDP over IPv4."""
    if packet[0] >> 4 != 4 or packet[9] not in (6, 17):
        return None
    head = (packet[0] & 15) * 4
    source, destination = struct.unpack_from("!HH", packet, head)
    own = (packet[head + 12] >> 4) * 4 if packet[9] == 6 else 8
    return ("tcp" if packet[9] == 6 else "udp", source, destination, len(packet) > head + own)


class Way:
    """One direction: its settings, its random numbers and its count of drops."""

    def __init__(self, seed, delay_ms=0, loss=0, reorder=0, by_ms=0, outage=None):
        self.random = random.Random(seed)
        self.delay, self.loss, self.reorder, self.by = delay_ms / 1e3, loss, reorder, by_ms / 1e3
        self.outage = outage
        self.drops, self.delayed = {}, 0

    def due(self, packet, now, began):
        """When the packet leaves; None if it is dropped. An outage alone drops SYNs: how long a
        handshake takes is not what is judged."""
        what = flow(packet)
        out = self.outage and self.outage[0] <= now - began < self.outage[1]
        if what is None:
            return None if out else now + self.delay
        if out or (self.random.random() < self.loss and not is_syn(packet)):
            count = self.drops.setdefault("%s %d>%d" % what[:3], [0, 0])
            count[0 if what[3] else 1] += 1
            return None
        if self.random.random() < self.reorder:
            self.delayed += 1
            return now + self.delay + self.by
        return now + self.delay


def is_syn(packet):
    head = (packet[0] & 15) * 4
    return packet[9] == 6 and packet[head + 13] & 2


def main():
    settings = json.loads(sys.argv[1])
    devices = [tun("ta"), tun("tb")]
    ways = [Way(1, **settings.get("there", {})), Way(2, **settings.get("back", {}))]
    ready = selectors.DefaultSelector()
    for number, device in enumerate(devices):
        ready.register(device, selectors.EVENT_READ, number)
    ready.register(sys.stdin, selectors.EVENT_READ, None)
    print("ready", flush=True)
    waiting, order, began = [], 0, None
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, device, packet = heapq.heappop(waiting)
            try:
                os.write(device, packet)
            except (BlockingIOError, OSError):
                pass
        timeout = max(0, waiting[0][0] - now) if waiting else None
        for key, _ in ready.select(timeout):
            if key.data is None:
                drops = {"there": ways[0].drops, "back": ways[1].drops}
                print(json.dumps({"drops": drops, "delayed": [way.delayed for way in ways]}))
                return
            for _ in range(64):
                try:
                    packet = os.read(key.fd, 65536)
                except BlockingIOError:
                    break
                now = time.monotonic()
                began = began or now
                at = ways[key.data].due(packet, now, began)
                if at is not None:
                    order += 1
                    heapq.heappush(waiting, (at, order, devices[1 - key.data], packet))


main()
