// Ando, Murase, Oguchi: buffers of access points, converters and TCP-AV.

import { mbps, mean, named, packets, percent, rates, short, values, windows } from "./common.js";

/** Steps of terminals: the numbers that run Linux 2.4 and Windows XP. */
const TERMINALS = [[1, 1], [2, 1], [2, 2], [3, 2], [3, 3], [4, 4], [5, 5]];

const strides = named("The receiver acknowledges", [
  ["every second segment", "tcp.delayed_ack={ every = 2, timeout = '40 ms' }"],
  ["every segment", "tcp.delayed_ack=off"],
], 0);

const senders = named("The sender is", [
  ["a host behind a converter", "flow.up.from=pc"], ["a station", "flow.up.from=sta"],
], 0);

/** Seconds of the runs with a target, and of the intervals in which it is judged. */
const [AV_SECONDS, BIN_SECONDS] = [55, 5];
/** Seconds of a run with datagrams, and bytes of payload in each. */
const [UDP_SECONDS, PAYLOAD] = [2, 1470];

const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

/** Rates at which datagrams leave the sender and reach the receiver, in Mbps. */
function datagrams([flow]) {
  return [flow.sent_packets * PAYLOAD * 8 / UDP_SECONDS / 1e6, mbps(flow)];
}

export default {
  study: "fairness",
  studies: ["ap-buffer", "fairness", "tcp-av"],
  title: "A small buffer makes uploads unequal",
  source: "Ando, Murase, Oguchi: An evaluation of fairness of bandwidth affected by the buffer "
    + "size of access point in the wireless LAN environment",
  untried: {},
  experiments: [
    {
      name: "Buffer and terminals",
      claims: { "BUF-2": [5, 3, 0], "BUF-3": [0, 4, 0] },
      says: "Terminals upload by TCP through one access point. With a buffer of 255 packets two "
        + "to four terminals get equal shares, and from five on some get nearly nothing. With 30.9 "
        + "packets two are equal and more are not; six tend to split into a fast and a slow group.",
      look: "Lower the buffer, or add terminals, until their shares come apart. An ACK for every "
        + "segment fills the buffer sooner.",
      file: "studies/fairness/map.toml",
      quick: ["duration=30 s", "warm_up=5 s", "record.sample_every=500 ms"],
      sliders: [
        values("Buffer of the access point", "node.ap.queue",
          packets([31, 49, 135, 149, 172, 255]), 0),
        named("Terminals", TERMINALS.map(([linux, xp]) =>
          [String(linux + xp), `node.linux.count=${linux}`, `node.conv-l.count=${linux}`,
            `node.xp.count=${xp}`, `node.conv-x.count=${xp}`]), 4),
        strides,
      ],
      figure: rates,
    },
    {
      name: "A starved terminal beside a fast one",
      claims: { "BUF-4": [0, 2, 0] },
      says: "At the access point with 30.9 packets one of five terminals gets 0.143 Mbps and "
        + "another 8.8. The starved one sends data without receiving ACKs, and waits for its "
        + "retransmission timer; the fast one sends without a pause.",
      look: "Make the sockets' windows larger or the buffer smaller. A buffer that was measured as "
        + "30.9 packets may hold only 21 of them: a probe counts what leaves meanwhile, too.",
      file: "studies/fairness/detail.toml",
      quick: ["duration=30 s", "warm_up=5 s"],
      sliders: [
        values("Buffer of the access point", "node.ap.queue", packets([21, 31, 49]), 1),
        named("Windows of the sockets", [64, 96, 128].map(kib => [`${kib} KiB`,
          `tcp.send_buffer=${kib} KiB`, `tcp.receive_buffer=${kib} KiB`,
          `tcp.window_scaling=${kib > 64}`]), 0),
        strides,
      ],
      figure: windows,
      answer({ flows }) {
        const sorted = [...flows].sort((a, b) => a.goodput_bps - b.goodput_bps);
        const words = flow => `${flow.name} with ${short(mbps(flow))} Mbps and `
          + count(flow.timeouts, "timeout");
        return `The slowest is ${words(sorted[0])}; the fastest is ${words(sorted.at(-1))}.`;
      },
    },
    {
      name: "UDP through a converter",
      claims: { "BUF-5": [3, 0] },
      says: "An Ethernet converter connects a terminal to the wireless LAN. Of the datagrams that "
        + "the terminal hands to it only about half arrive. How many are sent is not stated.",
      look: "Raise the offered rate beyond what the radio carries. Then send from a station, whose "
        + "own queue is the bottleneck.",
      file: "studies/fairness/converter-udp.toml",
      quick: [`duration=${UDP_SECONDS} s`, "record.sample_every=50 ms"],
      sliders: [
        values("Offered rate", "flow.up.rate",
          ["10 Mbps", "20 Mbps", "30 Mbps", "54 Mbps", "70 Mbps", "95 Mbps"], 3),
        senders,
      ],
      figure: { table: "queues", column: "length_packets", title: "Queue of the first radio",
        unit: "packets", of: /^(conv|sta)$/ },
      table: { what: "datagrams", unit: "Mbps", rows({ flows }) {
        const [sent, received] = datagrams(flows);
        return [["sent", sent], ["received", received]];
      } },
      answer({ flows }) {
        const [sent, received] = datagrams(flows);
        return `Of ${short(sent)} Mbps that are sent ${short(received)} arrive, `
          + `${percent(received / sent)}.`;
      },
    },
    {
      name: "TCP through a converter",
      claims: { "BUF-5": [0, 0] },
      says: "The converter leaves the timing of TCP alone: segments leave the terminal at the pace "
        + "at which they cross the radio.",
      look: "Compare a host behind a converter with a station, at several delays of the wire.",
      file: "studies/fairness/converter-tcp.toml",
      quick: ["duration=10 s", "record.sample_every=100 ms"],
      sliders: [
        values("Delay of the wire, one way", "link.ap-server.delay",
          ["2.5 ms", "5 ms", "20 ms", "50 ms"], 0),
        senders,
      ],
      figure: { table: "flows", column: "srtt_ns", title: "Smoothed round-trip time", unit: "ms" },
      answer({ flows: [flow], series: [{ ys }] }) {
        const known = Array.from(ys).filter(y => y > 0);
        return `The flow gets ${short(mbps(flow))} Mbps at a round-trip time of `
          + `${short(mean(known))} ms on average, with ${count(flow.retransmissions, "segment")} `
          + "retransmitted.";
      },
    },
    {
      name: "The buffer, measured by a probe",
      claims: { "BUF-1": [5, 0, 2] },
      says: "A wired host sends numbered datagrams faster than the radio carries them. The number "
        + "in front of the first gap, averaged over ten runs, is taken for the buffer.",
      look: "Compare the paper's count with the buffer. Packets that leave while the probe arrives "
        + "are counted as well: a fast radio or a slow probe makes the count too large.",
      file: "studies/ap-buffer/idle.toml",
      quick: ["duration=10 s", "flow.probe.train=3000", "flow.probe.trials=3",
        "record.sample_every=20 ms"],
      sliders: [
        values("Buffer of the access point", "node.ap.queue",
          packets([31, 49, 135, 149, 172, 255]), 5),
        values("Radio", "cell.standard", ["802.11b", "802.11g"], 1),
        values("Rate of the probe", "flow.probe.rate", ["40 Mbps", "60 Mbps", "95 Mbps"], 2),
      ],
      figure: { table: "queues", column: "length_packets", title: "Queue of the access point",
        unit: "packets", of: /^ap$/ },
      table: { what: "count", unit: "packets", rows({ flows: [{ probe }], chosen: [{ name }] }) {
        const [one] = probe.sizes;
        return [["the buffer", Number.parseInt(name, 10)],
          ["the paper's count", one.naive?.mean ?? null],
          ["our count", one.corrected?.mean ?? null]];
      } },
      answer({ flows: [{ probe: { sizes: [one] } }], chosen: [{ name: buffer }] }) {
        if (!one.naive) return `The probe never fills the buffer of ${buffer}.`;
        return `The buffer holds ${buffer}. The paper's method counts ${short(one.naive.mean)}; `
          + `without the packets that left meanwhile it is ${short(one.corrected?.mean)}.`;
      },
    },
    {
      name: "A target bandwidth by TCP-AV",
      claims: { "BUF-6": [2, 2, 0] },
      says: "Five terminals share 25 Mbps. The first one passes a proxy with TCP-AV, whose target "
        + "is a little above the fair share of 5 Mbps; the others use plain TCP. The target is "
        + "reached in all intervals of five seconds, and at 5 ms one way in nearly all.",
      look: "Raise the target beyond 5 Mbps. Then make the window of the proxy smaller: a window "
        + "of 64 KiB is full before the target is reached.",
      file: "studies/tcp-av/windows.toml",
      quick: [`duration=${AV_SECONDS} s`],
      sliders: [
        values("Target", "flow.first.proxy.av.target",
          ["2.5 Mbps", "5 Mbps", "5.5 Mbps", "6.25 Mbps", "7.5 Mbps", "10 Mbps"], 2),
        values("Window of the proxy", "flow.first.proxy.buffer",
          ["64 KiB", "96 KiB", "128 KiB", "256 KiB"], 2),
        values("Delay of the wire, one way", "link.ap-server.delay",
          ["2.5 ms", "5 ms", "20 ms"], 0),
      ],
      figure: rates,
      answer({ flows: [first, ...others], chosen: [{ name }] }) {
        const target = Number.parseFloat(name) * 1e6;
        const bins = first.bins_bps.slice(1);
        const good = bins.filter(bps => bps >= target).length;
        return `The first flow reaches ${name} in ${good} of ${bins.length} intervals of `
          + `${BIN_SECONDS} s. It gets ${short(mbps(first))} Mbps, and the ${others.length} others `
          + `${short(mean(others.map(mbps)))} each on average.`;
      },
    },
  ],
};
