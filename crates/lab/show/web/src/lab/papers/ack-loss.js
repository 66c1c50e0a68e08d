// Hashimoto, Hasegawa, Murata: lost ACKs.

import { jain, mbps, mean, named, packets, percent, short, sum, values, windows }
  from "./common.js";

const controls = named("Congestion control", [
  ["Compound", "tcp.congestion_control=compound"],
  ["Compound with the remedy", "tcp.congestion_control=ack-loss-literal+compound"],
  ["Reno", "tcp.congestion_control=reno"],
  ["Reno with the remedy", "tcp.congestion_control=ack-loss-literal+reno"],
], 0);

/** Shares of uploads and downloads. */
function directions({ flows }) {
  const of = wanted => flows.filter(({ direction }) => direction === wanted).map(mbps);
  const [up, down] = [of("up"), of("down")];
  return `An upload gets ${short(mean(up))} Mbps on average, a download ${short(mean(down))}. `
    + `All together get ${short(sum([...up, ...down]))} Mbps (Jain's index `
    + `${short(jain([...up, ...down]))}).`;
}

export default {
  study: "ack-loss",
  studies: ["ack-loss"],
  title: "Lost ACKs starve uploads",
  source: "Hashimoto, Hasegawa, Murata: Fairness Improvement of Hybrid TCP Congestion Control "
    + "Mechanisms in Wireless LAN Environment, 2008",
  untried: {},
  experiments: [
    {
      name: "Uploads alone",
      claims: { "ACK-1": [4, 2, 0], "ACK-2": [4, 2, 3] },
      says: "Many uploads share one access point, whose queue fills with ACKs and drops some. A "
        + "sender with a large window survives, since a later ACK covers a lost one. A sender with "
        + "a window of one segment waits for its timer, and starves for tens of seconds. The "
        + "remedy: a sender that misses ACKs halves its window.",
      look: "Raise the number of stations until a flow has next to nothing: its window stays at "
        + "one segment. Then choose the remedy, and compare the shares and their sum.",
      file: "studies/ack-loss/uploads.toml",
      quick: ["duration=25 s", "warm_up=8 s"],
      sliders: [
        values("Stations", "node.sta.count", [2, 4, 8, 12, 16], 2),
        values("Buffer of the access point", "node.ap.queue", packets([20, 50, 100, 200, 500]), 2),
        controls,
      ],
      figure: windows,
    },
    {
      name: "Uploads beside downloads",
      claims: { "ACK-3": [1, 1, 2], "ACK-4": [4, 0, 1] },
      says: "Eight stations upload and eight download. With few packet errors the uploads take "
        + "nearly everything; the remedy brings both together and costs some of the total. With "
        + "many packet errors the queue of the access point does not overflow, and the shares are "
        + "fair without the remedy.",
      look: "Compare a packet error rate of 0.001 with and without the remedy. Then raise the "
        + "rate, and change the number of the MAC's attempts, which the paper leaves open.",
      file: "studies/ack-loss/up-down.toml",
      quick: ["duration=25 s", "warm_up=8 s", "record.sample_every=500 ms"],
      sliders: [
        values("Packet error rate", "cell.errors.data", [0, 0.001, 0.01, 0.1, 0.3, 0.5], 1),
        controls,
        named("Attempts of the MAC", [
          ["1", "cell.short_retry_limit=1"],
          ["4, with RTS", "cell.rts_threshold=0 B", "cell.long_retry_limit=4"],
          ["7", "cell.short_retry_limit=7"],
        ], 2),
      ],
      figure: windows,
      answer: directions,
    },
    {
      name: "Threshold of lost ACKs",
      claims: {},
      says: "A sender halves its window once it misses a number of ACKs within a round trip. The "
        + "paper sets this threshold to 1, and leaves other values open.",
      look: "Raise the threshold: the total grows, and the shares come apart.",
      file: "studies/ack-loss/threshold.toml",
      quick: ["duration=25 s", "warm_up=8 s"],
      sliders: [
        values("Threshold", "tcp.thresh_ack_losses", [1, 2, 4, 8, 16], 0),
        values("Stations", "node.sta.count", [4, 8, 16, 24], 2),
        named("Congestion control", [
          ["Compound with the remedy", "tcp.congestion_control=ack-loss-literal+compound"],
          ["Reno with the remedy", "tcp.congestion_control=ack-loss-literal+reno"],
        ], 0),
      ],
      figure: windows,
      answer({ flows }) {
        const all = flows.map(mbps);
        const sent = sum(flows.map(({ acks_sent: acks }) => acks));
        const dropped = sum(flows.map(({ acks_dropped: acks }) => acks));
        return `All together get ${short(sum(all))} Mbps, the least ${short(Math.min(...all))} and `
          + `the most ${short(Math.max(...all))} (Jain's index ${short(jain(all))}). Of the ACKs `
          + `${percent(dropped / sent)} are dropped.`;
      },
    },
  ],
};
