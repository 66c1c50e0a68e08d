// The five papers: what each says, the study's scenario, sliders over its settings, and a sentence
// about a run where the one that all runs have says too little.

import { number } from "../format.js";

/** A slider over values of one key. */
function values(label, key, steps, first) {
  return { label, first, steps: steps.map(value =>
    ({ name: String(value), settings: [`${key}=${JSON.stringify(value)}`] })) };
}

/** A slider over names, each with its settings. */
function named(label, steps, first) {
  return { label, first, steps: steps.map(([name, ...settings]) => ({ name, settings })) };
}

const sum = values => values.reduce((all, value) => all + value, 0);
const mean = values => sum(values) / values.length;

/** The mean of a series over a span of time. */
function over({ xs, ys }, from, to) {
  const inside = Array.from(ys).filter((y, i) => xs[i] > from && xs[i] <= to && !Number.isNaN(y));
  return mean(inside);
}

/** A number with three digits, as a sentence has it. */
const short = value => number(Number(value.toPrecision(3)));

const packets = counts => counts.map(count => `${count} packets`);
const rates = { table: "flows", column: "goodput_bps", title: "Goodput", unit: "Mbps" };

export const PAPERS = [
  {
    study: "ack-loss",
    title: "Lost ACKs starve uploads",
    source: "Hashimoto, Hasegawa, Murata: Fairness Improvement of Hybrid TCP Congestion Control "
      + "Mechanisms in Wireless LAN Environment, 2008",
    says: "Many uploads share one access point, whose queue fills with ACKs and drops some. A "
      + "sender with a large window survives, since a later ACK covers a lost one. A sender with "
      + "a window of one segment waits for its timer, and starves for tens of seconds. The remedy: "
      + "a sender that misses ACKs halves its window.",
    look: "Raise the number of stations until a flow has next to nothing: its window stays at one "
      + "segment. Then choose the remedy, and compare the shares and their sum.",
    file: "studies/ack-loss/uploads.toml",
    quick: ["duration=25 s", "warm_up=8 s"],
    sliders: [
      values("Stations", "node.sta.count", [2, 4, 8, 12, 16], 2),
      values("Buffer of the access point", "node.ap.queue", packets([20, 50, 100, 200, 500]), 2),
      named("Congestion control", [
        ["Compound", "tcp.congestion_control=compound"],
        ["Compound with the remedy", "tcp.congestion_control=ack-loss-literal+compound"],
        ["Reno", "tcp.congestion_control=reno"],
        ["Reno with the remedy", "tcp.congestion_control=ack-loss-literal+reno"],
      ], 0),
    ],
    figure: { table: "flows", column: "cwnd_bytes", title: "Congestion window", unit: "kB" },
  },
  {
    study: "fairness",
    title: "A small buffer makes uploads unequal",
    source: "Ando, Murase, Oguchi: An evaluation of fairness of bandwidth affected by the buffer "
      + "size of access point in the wireless LAN environment",
    says: "Terminals upload by TCP through one access point. With a buffer of 255 packets two to "
      + "four terminals get equal shares, and from five on some get nearly nothing. With 30.9 "
      + "packets two are equal and more are not; six tend to split into a fast and a slow group.",
    look: "Lower the buffer, or add terminals, until their shares come apart. An ACK for every "
      + "segment fills the buffer sooner.",
    file: "studies/fairness/map.toml",
    quick: ["duration=30 s", "warm_up=5 s", "record.sample_every=500 ms"],
    sliders: [
      values("Buffer of the access point", "node.ap.queue",
        packets([31, 49, 135, 149, 172, 255]), 0),
      named("Terminals", [[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]].map(([linux, xp]) =>
        [String(linux + xp), `node.linux.count=${linux}`, `node.conv-l.count=${linux}`,
          `node.xp.count=${xp}`, `node.conv-x.count=${xp}`]), 2),
      named("The receiver acknowledges", [
        ["every second segment", "tcp.delayed_ack={ every = 2, timeout = '40 ms' }"],
        ["every segment", "tcp.delayed_ack=off"],
      ], 0),
    ],
    figure: rates,
  },
  {
    study: "socps",
    title: "One bad channel costs all hosts",
    source: "Aida, Tobe, Tokuda: An Experimental Evaluation of Channel-state Dependent "
      + "Scheduling for Wireless LANs, 2003",
    says: "Eight stations are sent more than their base station can carry at 2 Mbps. Frames for a "
      + "station with a bad channel take time from all others. Stations report the strength of "
      + "their channels; the base station gives each a weight by its strength, and the others gain "
      + "what C1 would have wasted.",
    look: "Lower the channel of C1: with the FIFO all others lose with it, as long as the MAC "
      + "sends lost frames again. Then choose another scheduler.",
    file: "studies/socps/bad-cbr.toml",
    quick: ["duration=60 s", "warm_up=5 s", "node.others.count=7"],
    sliders: [
      named("Channel of C1", [2, 4, 6, 8, 10, 15].map(db =>
        [`${db} dB`, `node.c1.snr_trace.points=[['0 s', '${db} dB']]`]), 1),
      named("Scheduler", [["FIFO", "fifo"], ["GB1: above 12 dB", "gb1"],
        ["GB2: above 6 dB", "gb2"], ["GB3: above 1 dB", "gb3"], ["PW: by strength", "pw"]]
        .map(([name, variant]) => [name, `variant=${variant}`]), 0),
      named("The MAC sends lost frames again", [
        ["no", "cell.acknowledgements=false"], ["yes", "cell.acknowledgements=true"],
      ], 1),
    ],
    figure: rates,
    answer({ flows }) {
      const [c1, ...others] = flows.map(({ goodput_bps: bps }) => bps / 1e6);
      return `C1 gets ${short(c1)} Mbps, and the ${others.length} others ${short(mean(others))} `
        + `each on average. All together get ${short(c1 + sum(others))}.`;
    },
  },
  {
    study: "shake",
    title: "One connection over the links of three hosts",
    source: "Iida, Ishihara, Mizuno: Performance Evaluation of the method of connection-type "
      + "communication on multiple wireless links",
    says: "Hosts near each other lend their slow links to one transfer. TCP SHAKE is one connection "
      + "with a window for each link. It repeats lost segments on the widest link, which beats the "
      + "link on which they were lost; transfer times depend little on how the links lose.",
    look: "Three links of 64, 32 and 32 kbps carry a transfer of 500 kB. Make the first one slow "
      + "or lossy: how long does the transfer take, and how much goes over each link?",
    file: "studies/shake/connections-shake.toml",
    quick: ["duration=200 s", "flow.transfer.size=500 KB", "record.sample_every=1 s",
      "variant=shake"],
    sliders: [
      values("Rate of the first link", "link.path1.rate",
        ["16 kbps", "32 kbps", "64 kbps", "128 kbps", "256 kbps"], 2),
      named("Loss of the first link", [0, 1, 3, 10, 20].map(percent =>
        [`${percent} %`, `link.path1.loss=${percent / 100}`]), 2),
      named("Lost segments are repeated on the link", [["that is widest", "widest"],
        ["on which they were lost", "same"], ["with the largest window", "largest-window"],
        ["with the least round-trip time", "least-rtt"]].map(([name, rule]) =>
        [name, `flow.transfer.retransmission=${rule}`]), 0),
    ],
    isTransfer: true,
    answer({ flows: [{ completed_ns: at }], series }) {
      const carried = series.map(({ ys }) => ys.at(-1) ?? 0);
      const shares = carried.map((kb, i) =>
        `${Math.round(100 * kb / sum(carried))} % over link ${i + 1}`);
      const end = at ? `The 500 kB arrive after ${short(at / 1e9)} s`
        : "The 500 kB do not arrive within 200 s";
      return `${end}: ${shares.join(", ")}.`;
    },
    figure: { table: "paths", column: "delivered_bytes", title: "Delivered over each path",
      unit: "kB" },
  },
  {
    study: "tfrc-handover",
    title: "A video stream after a handover",
    source: "Otsuka, Tamura, Ishihara: Performance evaluation of TFRC focused on disconnection "
      + "period due to wireless LAN handover",
    says: "A station moves to an access point at which nine others stream. After 1.5 and 2.5 "
      + "seconds without an access point its rate stays below theirs for more than ten seconds; "
      + "after 3 seconds and more it recovers in two or three.",
    look: "Change the time without an access point, which begins at 20 s, and compare the mobile "
      + "with two of the nine others behind it.",
    file: "studies/tfrc-handover/handover.toml",
    quick: ["duration=40 s", "record.sample_every=1 s"],
    sliders: [
      values("Without an access point", "node.mobile.roaming.handovers.0.disconnection",
        ["0.5 s", "1.5 s", "2.5 s", "3 s", "3.5 s", "4.5 s", "6 s"], 1),
      named("Rules of TFRC", ["rfc3448", "rfc5348"].map(profile =>
        [profile.replace("rfc", "RFC "), `flow.mobile.profile=${profile}`,
          `flow.resident.profile=${profile}`]), 0),
    ],
    figure: { ...rates, of: /^(mobile|resident-resident[12])$/ },
    answer({ series, chosen: [{ name: gap }] }) {
      const end = 20 + Number.parseFloat(gap);
      const means = series.map(one => over(one, end, end + 10));
      const [mobile, ...others] = means;
      return `In the ten seconds behind the gap the mobile gets ${short(mobile)} Mbps, and the `
        + `${others.length} others ${short(mean(others))} each on average.`;
    },
  },
];
