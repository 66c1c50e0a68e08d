// The five papers: what each says, the study's scenario, and sliders over its settings.

/** A slider over values of one key. */
function values(label, key, steps, first) {
  return { label, first, steps: steps.map(value =>
    ({ name: String(value), settings: [`${key}=${JSON.stringify(value)}`] })) };
}

/** A slider over names, each with its settings. */
function named(label, steps, first) {
  return { label, first, steps: steps.map(([name, ...settings]) => ({ name, settings })) };
}

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
    look: "Raise the number of stations until a flow stays near zero, then choose the remedy.",
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
    says: "Eight stations receive through one base station at 2 Mbps. Frames for a station with a "
      + "bad channel take time from all others. Stations report the strength of their channels; "
      + "the base station gives each a weight by its strength, and a good channel its full share.",
    look: "Lower the channel of C1, and compare the scheduler with the FIFO.",
    file: "studies/socps/bad-tcp.toml",
    quick: ["duration=60 s", "warm_up=5 s"],
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
  },
  {
    study: "shake",
    title: "One connection over the links of three hosts",
    source: "Iida, Ishihara, Mizuno: Performance Evaluation of the method of connection-type "
      + "communication on multiple wireless links",
    says: "Hosts near each other lend their slow links to one transfer. TCP SHAKE is one connection "
      + "with a window for each link. It repeats lost segments on the widest link, which beats the "
      + "link on which they were lost; transfer times depend little on how the links lose.",
    look: "Make the first link slow or lossy, and see which links carry the transfer of 500 kB, and "
      + "how long it takes.",
    file: "studies/shake/connections-shake.toml",
    quick: ["duration=200 s", "flow.transfer.size=500 KB", "record.sample_every=1 s",
      "variant=shake"],
    sliders: [
      values("Rate of the first link", "link.path1.rate",
        ["16 kbps", "32 kbps", "64 kbps", "128 kbps", "256 kbps"], 2),
      values("Loss of the first link", "link.path1.loss", [0, 0.01, 0.03, 0.1, 0.2], 2),
      values("Lost segments go on the", "flow.transfer.retransmission",
        ["widest", "same", "largest-window", "least-rtt"], 0),
    ],
    isTransfer: true,
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
    look: "Change the time without an access point, and look at the rate of the mobile from the "
      + "twentieth second on.",
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
  },
];
