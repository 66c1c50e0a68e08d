// Aida, Tobe, Tokuda: scheduling by the state of channels.

import { mbps, mean, named, over, percent, rates, short, sum, values, variation }
  from "./common.js";

/** Seconds of the intervals in which the paper measures throughput. */
const BIN_SECONDS = 3;
/** Mbps that are offered to the walking host: 1472 bytes each 12 ms. */
const OFFERED = 1472 * 8 / 12e-3 / 1e6;
/** Ranges of mean SNR in dB, for the walking host. */
const RANGES = [["below 0 dB", -Infinity, 0], ["0 to 5 dB", 0, 5], ["5 to 10 dB", 5, 10],
  ["10 dB and more", 10, Infinity]];

const SCHEDULERS = [["FIFO", "fifo"], ["GB1: above 12 dB", "gb1"], ["GB2: above 6 dB", "gb2"],
  ["GB3: above 1 dB", "gb3"], ["PW: by strength", "pw"]];
const byVariant = steps =>
  named("Scheduler", steps.map(([name, variant]) => [name, `variant=${variant}`]), 0);
const schedulers = byVariant(SCHEDULERS);
const levels = first => named("Channel of C1", [2, 4, 6, 8, 10, 15].map(db =>
  [`${db} dB`, `node.c1.snr_trace.points=[['0 s', '${db} dB']]`]), first);
const attempts = first => named("The MAC retransmits lost frames", [
  ["no", "cell.acknowledgements=false"], ["yes", "cell.acknowledgements=true"]], first);
const intervals = first => named("A packet of voice each", [30, 20, 16, 14, 12].map(ms =>
  [`${ms} ms`, `flow.c1.interval=${ms} ms`, `flow.c.interval=${ms} ms`]), first);

/** Rates of C1, of each other host on average, and of all together. */
function besideC1({ flows }) {
  const [c1, ...others] = flows.map(mbps);
  return `C1 gets ${short(c1)} Mbps, and the ${others.length} others ${short(mean(others))} each `
    + `on average. All together get ${short(c1 + sum(others))}.`;
}

/** Rates in the paper's intervals, without the first and the last. */
const bins = ({ bins_bps: bps }) => bps.slice(1, -1);
const totals = flows => bins(flows[0]).map((_, i) => sum(flows.map(flow => bins(flow)[i])));

/** Differences between hosts, and within each over time. */
function evenness({ flows }) {
  const all = flows.map(mbps);
  const swing = mean(flows.map(flow => variation(bins(flow))));
  return `Hosts get ${short(Math.min(...all))} to ${short(Math.max(...all))} Mbps, all together `
    + `${short(sum(all))}. In intervals of ${BIN_SECONDS} s the standard deviation of a host's `
    + `rate is ${percent(swing)} of its mean.`;
}

/** The coefficient of correlation. */
function correlation(as, bs) {
  const [a, b] = [mean(as), mean(bs)];
  const product = (xs, x, ys, y) => sum(xs.map((value, i) => (value - x) * (ys[i] - y)));
  return product(as, a, bs, b) / Math.sqrt(product(as, a, as, a) * product(bs, b, bs, b));
}

/** A level of C1 and its rate in each interval of the paper, in dB and bits per second. */
async function strengths({ flows: [{ bins_bps: bps }], read }, column) {
  const soc = (await read("soc", column)).find(({ name }) => name === "c1");
  const found = bps.map((rate, i) =>
    [over(soc, i * BIN_SECONDS, (i + 1) * BIN_SECONDS), rate]);
  return found.filter(([db]) => Number.isFinite(db));
}

/** The rate of the walking host in Mbps, by ranges of its mean SNR. */
async function slope(run) {
  const found = await strengths(run, "channel_millidb");
  return RANGES.map(([name, from, to]) => {
    const inside = found.filter(([db]) => db >= from && db < to);
    return [name, inside.length ? mean(inside.map(([, bps]) => bps / 1e6)) : null];
  });
}

export default {
  study: "socps",
  studies: ["socps"],
  title: "One bad channel costs all hosts",
  source: "Aida, Tobe, Tokuda: An Experimental Evaluation of Channel-state Dependent "
    + "Scheduling for Wireless LANs, 2003",
  untried: {
    "SOC-8": "Not in a simulation: the claim is about time on a processor, and the paper does not "
      + "state its clock. The study measures the queues of this program apart.",
  },
  experiments: [
    {
      name: "Constant streams, C1 with a bad channel",
      claims: { "SOC-5": [0, 4, 0, 3] },
      says: "Eight stations are sent more than their base station can carry at 2 Mbps. Frames for "
        + "a station with a bad channel take time from all others. Stations report the strength of "
        + "their channels; the base station gives each a weight by its strength, and the others "
        + "gain what C1 would have wasted.",
      look: "Lower the channel of C1: with the FIFO all others lose with it, as long as the MAC "
        + "retransmits lost frames. Then choose another scheduler, or fewer hosts.",
      file: "studies/socps/bad-cbr.toml",
      quick: ["duration=60 s", "warm_up=5 s"],
      sliders: [levels(1), schedulers, attempts(1),
        values("Hosts besides C1", "node.others.count", [1, 3, 5, 7], 3)],
      figure: rates,
      answer: besideC1,
    },
    {
      name: "TCP, all channels good",
      claims: { "SOC-1": [0, 0] },
      says: "Eight hosts with good channels receive by TCP. Over 300 s the FIFO and the weights "
        + "carry the same, in total and for each host. In intervals of three seconds the rates "
        + "swing visibly more with the FIFO.",
      look: "Compare the swing of the rates under the FIFO and under PW, which serves each host "
        + "from its own queue.",
      file: "studies/socps/good-tcp.toml",
      quick: ["duration=150 s"],
      sliders: [byVariant([...SCHEDULERS, ["FQ-CoDel", "fq-codel"],
        ["DRR by airtime", "airtime-drr"]]), attempts(0)],
      figure: rates,
      answer: evenness,
    },
    {
      name: "TCP, C1 with a bad channel",
      claims: { "SOC-2": [2, 1, 1] },
      says: "The channel of C1 has at most 10 dB. GB1, which sends nothing to it, carries more "
        + "than the other weights, and about as much as the FIFO: congestion control of TCP alone "
        + "slows C1 down.",
      look: "Compare the totals of the FIFO, GB1 and PW, with and without retransmissions of the "
        + "MAC.",
      file: "studies/socps/bad-tcp.toml",
      quick: ["duration=150 s"],
      sliders: [levels(2), schedulers, attempts(1)],
      figure: rates,
      answer: besideC1,
    },
    {
      name: "Voice, all channels good",
      claims: { "SOC-3": [3, 0, 0] },
      says: "Eight hosts receive voice. With the FIFO hosts get different rates that vary "
        + "strongly; with PW all get the same, and hardly any deviation is left.",
      look: "Send packets more often until the cell is full. Then compare the FIFO with PW.",
      file: "studies/socps/load-voip.toml",
      quick: ["duration=90 s"],
      sliders: [intervals(0), byVariant([["FIFO", "fifo"], ["PW: by strength", "pw"]]),
        named("Jitter of the servers", ["0 s", "10 ms"].map(jitter =>
          [jitter, `link.wires.jitter=${jitter}`]), 1)],
      figure: rates,
      answer: evenness,
    },
    {
      name: "Voice, C1 with a bad channel",
      claims: { "SOC-4": [2, 4, 3] },
      says: "The channel of C1 has at most 10 dB. A smaller weight of C1 raises the total of "
        + "voice. The threshold of GB matters: GB3 carries about what the FIFO does, and PW "
        + "adapts.",
      look: "Fill the cell with packets each 14 ms. Then compare the totals of the schedulers.",
      file: "studies/socps/bad-load-voip.toml",
      quick: ["duration=90 s"],
      sliders: [levels(2), schedulers, intervals(3)],
      figure: rates,
      answer: besideC1,
    },
    {
      name: "Voice beside TCP",
      claims: { "SOC-6": [0, 4, 0] },
      says: "C1 to C4 receive voice and C5 to C8 receive by TCP; the channel of C1 is bad. Voice "
        + "gets about the same under all schedulers. TCP gets more under PW, GB1 and GB2 than "
        + "under the FIFO.",
      look: "Compare the part of TCP under the FIFO and under PW, for a good and a bad channel of "
        + "C1.",
      file: "studies/socps/bad-mixed.toml",
      quick: ["duration=120 s"],
      sliders: [levels(1), schedulers, attempts(0)],
      figure: rates,
      answer({ flows }) {
        const all = flows.map(mbps);
        const [voice, tcp] = [sum(all.slice(0, 4)), sum(all.slice(4))];
        return `Voice gets ${short(voice)} Mbps, of which C1 has ${short(all[0])}. TCP gets `
          + `${short(tcp)} Mbps, and all together ${short(voice + tcp)}.`;
      },
    },
    {
      name: "TCP, C1 walks about",
      claims: { "SOC-7": [4, 1, 0] },
      says: "C1 walks about the room, a lap in two minutes. Under PW its share follows its "
        + "strength of connection (SoC). The total deviates more under the FIFO. A report each 20 "
        + "ms instead of 200 costs throughput under every scheduler.",
      look: "Compare how well the rate of C1 follows its SoC, and the totals at 20 and 200 ms.",
      file: "studies/socps/moving-tcp.toml",
      quick: ["duration=250 s"],
      sliders: [schedulers, values("A report each", "cell.soc.interval",
        ["20 ms", "200 ms", "1 s"], 1), attempts(0)],
      figure: { ...rates, of: /^c[12]$/ },
      async answer(run) {
        const found = await strengths(run, "soc_millidb");
        const follows = correlation(...[0, 1].map(part => found.map(one => one[part])));
        const all = totals(run.flows);
        return `The rate of C1 and its SoC have a correlation of ${short(follows)}. All together `
          + `get ${short(mean(all) / 1e6)} Mbps, with a standard deviation of `
          + `${percent(variation(all))} in intervals of ${BIN_SECONDS} s.`;
      },
    },
    {
      name: "Delivery by strength of connection",
      claims: { "SOC-9": [1, 1] },
      says: "A host walks and receives datagrams. In intervals of three seconds its link has no "
        + "two states, good and bad: between about 0 and 10 dB delivery rises steadily.",
      look: "Compare a channel without fading with one that fades. Datagrams that waited in the "
        + "queue arrive later, so that a range can have more than is sent in it.",
      file: "studies/socps/slope.toml",
      quick: ["duration=600 s", "record.sample_every=1 s"],
      sliders: [named("Channel", [["no fading", "variant=dqpsk"],
        ["Rayleigh fading", "variant=rayleigh"], ["Rice fading", "variant=rice"],
        ["loss by a slope from 0 to 10 dB", "variant=slope"]], 0), attempts(0)],
      figure: rates,
      table: { what: "mean SNR", unit: "Mbps", rows: slope },
      async answer(run) {
        const words = (await slope(run)).filter(([, rate]) => rate !== null)
          .map(([name, rate]) => `${short(rate)} (${name})`);
        return `Of ${short(OFFERED)} Mbps the host receives, by mean SNR, ${words.join(", ")}.`;
      },
    },
  ],
};
