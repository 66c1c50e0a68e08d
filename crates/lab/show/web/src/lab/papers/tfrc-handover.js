// Otsuka, Tamura, Ishihara: TFRC over a handover.

import { mean, named, over, rates, short, values } from "./common.js";

/** The second in which the mobile leaves its access point. */
const LEAVES = 20;
/** Seconds behind the gap over which means are taken. */
const BEHIND = 10;
const GAP_KEY = "node.mobile.roaming.handovers.0.disconnection";

const gaps = first => values("Without an access point", GAP_KEY,
  ["0.5 s", "1.5 s", "2.5 s", "3 s", "3.5 s", "4.5 s", "6 s"], first);
const profiles = named("Rules of TFRC", ["rfc3448", "rfc5348"].map(profile =>
  [profile.replace("rfc", "RFC "), `flow.mobile.profile=${profile}`,
    `flow.resident.profile=${profile}`]), 0);
const wires = values("Delay of the wire, one way", "link.ap-host.delay",
  ["1 ms", "25 ms", "50 ms", "150 ms"], 1);
const REMEDIES = [
  ["none", "none"],
  ["A: the free rate is set ahead", "A"],
  ["B: the receiver leaves out what it observed", "B"],
  ["C: new samples weigh more", "C"],
  ["D: old packets are dropped", "D"],
  ["B and D", "BD"],
  ["A, B, C and D", "ABCD"],
];
const some = /^(mobile|resident-resident[12])$/;

/** Means over the seconds behind the gap: that of the mobile, that of the others that have a value,
 * and the number of others. */
function behind(series, [{ name: gap }]) {
  const end = LEAVES + Number.parseFloat(gap);
  const [mobile, ...others] = series.map(one => over(one, end, end + BEHIND));
  return [mobile, mean(others.filter(Number.isFinite)), others.length];
}

/** Rates behind the gap. */
function ratesBehind({ series, chosen }) {
  const [mobile, others, count] = behind(series, chosen);
  return `In the ten seconds behind the gap the mobile gets ${short(mobile)} Mbps, and the `
    + `${count} others ${short(others)} each on average.`;
}

export default {
  study: "tfrc-handover",
  studies: ["tfrc-handover"],
  title: "A video stream after a handover",
  source: "Otsuka, Tamura, Ishihara: Performance evaluation of TFRC focused on disconnection "
    + "period due to wireless LAN handover",
  untried: {},
  experiments: [
    {
      name: "The rate after the gap",
      claims: { "HO-1": [1, 0, 1] },
      says: "A station moves to an access point at which nine others stream. After 1.5 and 2.5 "
        + "seconds without an access point its rate stays below theirs for more than ten seconds; "
        + "after 3 seconds and more it recovers in two or three.",
      look: "Change the time without an access point, which begins at 20 s, and compare the mobile "
        + "with two of the nine others behind it.",
      file: "studies/tfrc-handover/handover.toml",
      quick: ["duration=40 s", "record.sample_every=1 s"],
      sliders: [gaps(1), profiles, wires],
      figure: { ...rates, of: some },
      answer: ratesBehind,
    },
    {
      name: "The mean loss interval",
      claims: { "HO-2": [5, 0, 1] },
      says: "The sender sets its rate by the mean number of packets between two loss events. After "
        + "short gaps this interval falls below that of the others. After long ones it is far "
        + "higher, about 4000 packets from 4.5 s on, since a run of losses is one loss event.",
      look: "Compare a gap of 1.5 s with one of 6 s, at several delays of the wire.",
      file: "studies/tfrc-handover/handover.toml",
      quick: ["duration=40 s", "record.sample_every=500 ms"],
      sliders: [gaps(5), profiles, wires],
      figure: { table: "flows", column: "mean_loss_interval_milli", title: "Mean loss interval",
        unit: "packets", of: some },
      answer({ series, chosen }) {
        const [mobile, others] = behind(series, chosen);
        const words = value => (Number.isFinite(value) ? `${short(value)} packets`
          : "unknown, since nothing was lost");
        return "In the ten seconds behind the gap the mean loss interval of the mobile is "
          + `${words(mobile)}; that of the others is ${words(others)}.`;
      },
    },
    {
      name: "The round-trip time",
      claims: { "HO-3": [4, 0, 1] },
      says: "After gaps of up to 3.5 s the round-trip time of the mobile is above that of the "
        + "others, since packets waited in its queue. From 4.5 s on it is equal or lower.",
      look: "Compare the round-trip times behind gaps of 3.5 and 4.5 s.",
      file: "studies/tfrc-handover/handover.toml",
      quick: ["duration=40 s", "record.sample_every=500 ms"],
      sliders: [gaps(4), profiles, wires],
      figure: { table: "flows", column: "srtt_ns", title: "Smoothed round-trip time", unit: "ms",
        of: some },
      answer({ series, chosen }) {
        const [mobile, others] = behind(series, chosen);
        return "In the ten seconds behind the gap the round-trip time of the mobile is "
          + `${short(mobile)} ms, and that of the others ${short(others)} ms.`;
      },
    },
    {
      name: "Remedies",
      claims: {},
      says: "The paper proposes four remedies and evaluates none. A sets the free rate of the new "
        + "access point before the handover. B leaves out the receiver's observations during the "
        + "gap. C weighs new samples more for a while. D drops packets that waited too long.",
      look: "Choose a remedy, and compare the rates behind a short and a long gap.",
      file: "studies/tfrc-handover/remedies.toml",
      quick: ["duration=40 s", "record.sample_every=1 s"],
      sliders: [gaps(2), named("Remedy", REMEDIES.map(([name, variant]) =>
        [name, `variant=${variant}`]), 0), profiles],
      figure: { ...rates, of: some },
      answer: ratesBehind,
    },
  ],
};
