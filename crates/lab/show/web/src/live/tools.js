// Graphs of each live tool: a key of the elements of a list, or keys of the tool itself.

const percent = { unit: "%", factor: 100 };
const connections = key => ({ list: "connections", key });

const DCCP = [
  { ...connections("rate_mbps"), title: "Application data", unit: "Mbps" },
  { ...connections("allowed_mbps"), title: "Rate that congestion control allows", unit: "Mbps" },
  { ...connections("rtt_ms"), title: "Smoothed round-trip time", unit: "ms" },
  { ...connections("loss_event_rate"), title: "Loss event rate", ...percent },
];

export const GRAPHS = {
  "shake connect": [
    { list: "paths", key: "bytes_received", title: "Received over each path", unit: "Mbps",
      factor: 8e-6, isCounter: true },
    { list: "paths", key: "bytes_sent", title: "Sent over each path", unit: "Mbps", factor: 8e-6,
      isCounter: true },
    { list: "paths", key: "rtt_ms", title: "Smoothed round-trip time", unit: "ms" },
    { list: "paths", key: "loss", title: "Datagrams lost since the start", ...percent },
    { list: "paths", key: "in_flight", title: "In flight", unit: "kB", factor: 1e-3 },
    { list: "paths", key: "radio_signal_dbm", title: "Signal of the radio", unit: "dBm" },
    { list: "paths", key: "radio_tx_mbps", title: "Rate of the radio's frames", unit: "Mbps" },
    { list: "paths", key: "radio_retries", title: "Retries of frames", unit: "a second",
      isCounter: true },
  ],
  "dccp send": DCCP,
  "dccp serve": DCCP,
  "dccp relay": [
    { keys: ["sent_mbps", "received_mbps", "allowed_mbps"], title: "Application data",
      unit: "Mbps" },
    { keys: ["rtt_ms"], title: "Smoothed round-trip time", unit: "ms" },
    { keys: ["loss_event_rate"], title: "Loss event rate", ...percent },
    { keys: ["queued"], title: "Datagrams that wait", unit: "" },
  ],
  "soc ap": [
    { list: "stations", key: "soc_db", title: "Strength of connection", unit: "dB" },
    { list: "stations", key: "weight", title: "Weight", unit: "" },
    { list: "stations", key: "signal_dbm", title: "Signal at the access point", unit: "dBm" },
  ],
  emulate: [
    { list: "flows", key: "delivered_bytes", title: "Delivered by each flow", unit: "Mbps",
      factor: 8e-6, isCounter: true },
    { list: "nodes", key: "bytes_in", title: "From each real node", unit: "Mbps", factor: 8e-6,
      isCounter: true },
    { list: "nodes", key: "bytes_out", title: "To each real node", unit: "Mbps", factor: 8e-6,
      isCounter: true },
    { list: "queues", key: "packets", title: "Queue length", unit: "packets" },
    { list: "stations", key: "snr_db", title: "Signal-to-noise ratio", unit: "dB" },
    { keys: ["lateness_p99_ns", "packet_lateness_p99_ns"], title: "Lateness, 99th percentile",
      unit: "ms", factor: 1e-6 },
  ],
};

/** What a tool's name is, by its command. */
export function kindOf(command) {
  return { "soc ap": "interface", emulate: "run directory" }[command] ?? "process";
}

/** Commands whose figures this page shows, for a reader who has none of them running. */
export const EXAMPLES = [
  "fairwave shake connect HOST --key shake.key --via wlan0 --via usb0",
  "fairwave dccp relay --from udp:127.0.0.1:5004 --to dccp:HOST",
  "sudo fairwave soc ap --interface wlan0 --key net.key --rate '20 Mbps'",
  "sudo fairwave emulate scenarios/home.toml",
];
