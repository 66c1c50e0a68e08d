// Iida, Ishihara, Mizuno: one connection over several links.

import { arrival, arrivals, mbps, mean, named, over, rates, short, sum, values, windows, within }
  from "./common.js";

const SHAKE = "studies/shake/connections-shake.toml";
const CONNECTIONS = "studies/shake/connections-tcp.toml";
/** Seconds within which a transfer has to arrive. */
const LIMIT = 300;
/** The second in which the first link changes, and some after which the change has its effect. */
const [CHANGE, SETTLED] = [60, 70];
/** The end of a run over links that change. */
const END = 150;

const links = [1, 2, 3];
const yes = (label, key, first) =>
  named(label, [["yes", `${key}=true`], ["no", `${key}=false`]], first);
const rule = steps => named("Lost segments are retransmitted on the link", steps.map(([name, to]) =>
  [name, `flow.transfer.retransmission=${to}`]), 0);
const twoRules = [["that is widest", "widest"], ["on which they were lost", "same"]];
const buffers = named("Buffers of the connection", [36, 360].map(segments =>
  [`${segments} segments`, `flow.transfer.send_buffer=${segments * 1460} B`,
    `flow.transfer.receive_buffer=${segments * 1460} B`]), 0);
const acks = named("Links lose ACKs as well", [["yes"],
  ["no", ...links.map(link => `link.path${link}.loss_back=0`)]], 0);
const sizes = first => named("Size", [100, 200, 500, 1000].map(kb =>
  [`${kb} kB`, `flow.transfer.size=${kb} KB`]), first);

/** A slider whose steps have files of their own. */
function methods(label, steps) {
  return { label, first: 0, steps: steps.map(([name, file, ...settings]) =>
    ({ name, file, settings })) };
}

/** A transfer's end, and the part that each link carried. */
function parts(size, flow, series, limit) {
  const carried = series.map(({ ys }) => ys.at(-1) ?? 0);
  const shares = carried.map((kb, i) =>
    `${Math.round(100 * kb / sum(carried))} % over link ${i + 1}`);
  return `${arrival(flow, size, limit)}: ${shares.join(", ")}.`;
}

/** The longest time in seconds within which the receiver delivers nothing, until the end. */
function standstill({ xs, ys }, end) {
  let [longest, since] = [0, 0];
  for (let i = 1; i < xs.length && xs[i] <= end; i++) {
    if (ys[i] > ys[i - 1]) since = xs[i];
    longest = Math.max(longest, xs[i] - since);
  }
  return longest;
}

const carriedOver = { table: "paths", column: "delivered_bytes", title: "Delivered over each path",
  unit: "kB" };
const perPath = { ...windows, table: "paths" };

export default {
  study: "shake",
  studies: ["shake"],
  title: "One connection over the links of three hosts",
  source: "Iida, Ishihara, Mizuno: Performance Evaluation of the method of connection-type "
    + "communication on multiple wireless links",
  untried: {},
  experiments: [
    {
      name: "One transfer over three links",
      claims: {},
      says: "Hosts near each other lend their slow links to one transfer. TCP SHAKE is one "
        + "connection with a window for each link. It retransmits lost segments on the widest "
        + "link; transfer times depend little on how the links lose.",
      look: "Three links of 64, 32 and 32 kbps carry a transfer of 500 kB. Make the first one slow "
        + "or lossy: how long does the transfer take, and how much goes over each link?",
      file: SHAKE,
      quick: ["duration=200 s", "flow.transfer.size=500 KB", "record.sample_every=1 s",
        "variant=shake"],
      sliders: [
        values("Rate of the first link", "link.path1.rate",
          ["16 kbps", "32 kbps", "64 kbps", "128 kbps", "256 kbps"], 2),
        named("Loss of the first link", [0, 1, 3, 10, 20].map(percent =>
          [`${percent} %`, `link.path1.loss=${percent / 100}`]), 2),
        rule([...twoRules, ["with the largest window", "largest-window"],
          ["with the least round-trip time", "least-rtt"]]),
      ],
      figure: carriedOver,
      table: arrivals,
      answer: ({ flows: [flow], series }) => parts("500 kB", flow, series, 200),
    },
    {
      name: "The link of retransmissions, and SACK",
      claims: { "SHK-1": [0, 0, 0], "SHK-2": [0, 1, 0] },
      says: "A transfer of 1000 KB loses 1, 4 and 4 % besides bit errors of 1 %. Retransmissions "
        + "on the widest link beat those on the same link. With SACK the received data grows at a "
        + "nearly constant rate; without it the receiver stands still for long.",
      look: "Choose the same link, then switch SACK off, and compare the time of arrival and the "
        + "longest standstill. Several seeds differ by more than these choices may.",
      file: "studies/shake/repetition.toml",
      quick: [`duration=${LIMIT} s`, "variant=widest", "record.sample_every=500 ms"],
      sliders: [rule(twoRules), yes("SACK", "flow.transfer.sack", 0), buffers],
      figure: { table: "flows", column: "delivered_bytes", title: "Delivered in order",
        unit: "kB" },
      table: arrivals,
      answer({ flows: [flow], series: [delivered] }) {
        const end = (flow.completed_ns ?? LIMIT * 1e9) / 1e9;
        return `${arrival(flow, "1000 kB", LIMIT)}. The longest time without progress at the `
          + `receiver is ${short(standstill(delivered, end))} s.`;
      },
    },
    {
      name: "How the links lose",
      claims: { "SHK-3": [1, 3, 0] },
      says: "Transfers of 100 to 1000 KB, over links that lose 4/4/4, 1/4/4 or 1/4/2 % besides bit "
        + "errors of 1 %. The times differ hardly between these scenarios.",
      look: "Compare the three scenarios for a size. Then try other seeds: the paper's times are "
        + "means over 50.",
      file: "studies/shake/repetition.toml",
      quick: [`duration=${LIMIT} s`, "record.sample_every=1 s", "variant=widest"],
      sliders: [
        named("Losses of the links", [[4, 4, 4], [1, 4, 4], [1, 4, 2]].map(losses =>
          [`${losses.join(", ")} %`, ...losses.map((loss, i) =>
            `link.path${i + 1}.loss=${(1 - (1 - loss / 100) * 0.99).toFixed(4)}`)]), 1),
        sizes(3),
        acks,
      ],
      figure: carriedOver,
      table: arrivals,
      answer: ({ flows: [flow], series, chosen: [, { name }] }) =>
        parts(name, flow, series, LIMIT),
    },
    {
      name: "Bursts of losses",
      claims: { "SHK-4": [2, 0, 0] },
      says: "The second and third link lose runs of 1 to 5 segments, 50 apart on average. The link "
        + "of retransmissions matters, and SACK hardly. The paper's text and its table disagree "
        + "on the better link.",
      look: "Lengthen the bursts, then compare both links of retransmissions, and SACK.",
      file: "studies/shake/bursts.toml",
      quick: [`duration=${LIMIT} s`, "record.sample_every=1 s", "variant=2: widest, SACK"],
      sliders: [
        named("Mean length of a burst", [1, 2, 3, 4, 5].map(length =>
          [String(length), ...[2, 3].map(link => `link.path${link}.loss.mean_burst=${length}`)]),
        2),
        rule(twoRules),
        yes("SACK", "flow.transfer.sack", 0),
      ],
      figure: carriedOver,
      table: arrivals,
      answer: ({ flows: [flow], series }) => parts("500 kB", flow, series, LIMIT),
    },
    {
      name: "Windows of the links",
      claims: { "SHK-5": [1, 0, 1] },
      says: "Each link has its own window. The window of the first link is the largest and changes "
        + "most. When a timer expires, one window falls to a segment; the three together do not.",
      look: "Compare the windows. A lower threshold of duplicate ACKs halves them more often, and "
        + "lets fewer timers expire.",
      file: "studies/shake/repetition.toml",
      quick: [`duration=${LIMIT} s`, "variant=widest", "record.sample_every=500 ms"],
      sliders: [
        values("Duplicate ACKs before a retransmission", "flow.transfer.duplicates", [3, 10], 1),
        buffers,
        named("Queue of each link", [10, 50].map(length => [`${length} packets`,
          ...links.map(link => `link.path${link}.queue=${length} packets`)]), 1),
      ],
      figure: perPath,
      table: arrivals,
      answer({ flows: [{ completed_ns: at }], series }) {
        const inside = series.map(one => within(one, 0, at ? at / 1e9 : LIMIT));
        const together = inside[0].map((_, i) => sum(inside.map(ys => ys[i])));
        return `The windows have ${inside.map(ys => short(mean(ys))).join(", ")} kB on average. `
          + `All three together have at least ${short(Math.min(...together))} kB, and a segment `
          + "has 1.46.";
      },
    },
    {
      name: "One connection or three",
      claims: { "SHK-6": [0, 2, 1] },
      says: "Links lose 3, 5 and 4 %. Three TCP connections with data split 2:1:1, as the rates of "
        + "the links are, take about as long as TCP SHAKE. Equal parts take longer.",
      look: "Compare the methods, with SACK and without it. Then try other seeds.",
      file: SHAKE,
      quick: [`duration=${LIMIT} s`, "record.sample_every=1 s"],
      sliders: [
        methods("Method", [
          ["TCP SHAKE", SHAKE, "variant=shake"],
          ["three connections, 2:1:1", CONNECTIONS, "variant=weighted"],
          ["three connections, equal parts", CONNECTIONS, "variant=equal"],
          ["three connections, split by their progress", CONNECTIONS, "variant=adaptive"],
        ]),
        sizes(2),
        yes("SACK", "flow.transfer.sack", 0),
      ],
      figure: carriedOver,
      table: arrivals,
      answer: ({ flows: [flow], series, chosen: [, { name }] }) =>
        parts(name, flow, series, LIMIT),
    },
    {
      name: "A link that changes",
      claims: {},
      says: "A split by bandwidth fails when bandwidths change: the paper says it and shows no "
        + "figure of it.",
      look: "After a minute the first link becomes slow or fails. Compare the rates before and "
        + "after it.",
      file: "studies/shake/changes-shake.toml",
      quick: [`duration=${END} s`],
      sliders: [
        methods("Method", [
          ["TCP SHAKE", "studies/shake/changes-shake.toml", "variant=steady"],
          ["three connections, 2:1:1", "studies/shake/changes-tcp.toml",
            "variant=steady, weighted"],
          ["three connections, split by their progress", "studies/shake/changes-tcp.toml",
            "variant=steady, adaptive"],
        ]),
        named(`After ${CHANGE} s the first link`, [
          ["stays as it is"],
          ["has 16 kbps", `link.path1.changes=[{ at = '${CHANGE} s', rate = '16 kbps' }]`],
          ["fails", `link.path1.changes=[{ at = '${CHANGE} s', up = false }]`],
        ], 1),
      ],
      figure: rates,
      answer({ flows: [flow], series: [one] }) {
        const [before, after] = [over(one, 10, CHANGE), over(one, SETTLED, END)];
        return `The flow gets ${short(1e3 * before)} kbps before the change and `
          + `${short(1e3 * after)} kbps from ${SETTLED} s on; over the whole run `
          + `${short(1e3 * mbps(flow))}.`;
      },
    },
  ],
};
