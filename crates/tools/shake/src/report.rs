//! Output of `fairwave shake`: JSON and words.

use fairwave_linux::radio::Station;
use fairwave_shake_host::endpoint::{DatagramStats, PathStats, Priority};
use fairwave_text::Table;
use fairwave_units::{BitRate, several};
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave shake connect HOST --json` at its end.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ShakeOutput {
    /// Address and port of the server.
    pub server: String,
    /// `shake`: the paths' rates add up; `multi`: one TCP connection for each path; `redundant`:
    /// every path carries everything.
    pub mode: String,
    /// Time since the session was opened.
    #[schemars(extend("unit" = "seconds"))]
    pub seconds: f64,
    /// Connections of applications.
    pub connections: u64,
    /// Connections among them that failed, or whose target could not be reached.
    pub failed: u64,
    /// Sessions: more than one if the server was started anew.
    pub sessions: u64,
    /// Bytes of applications that no path had carried at the end.
    pub unsent: u64,
    /// Datagrams of UDP.
    pub datagrams: DatagramOutput,
    /// The paths, in the order of the options.
    pub paths: Vec<PathOutput>,
}

/// Datagrams of applications.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct DatagramOutput {
    /// Datagrams sent to the server, each once for all its copies.
    pub sent: u64,
    /// Datagrams received from it.
    pub received: u64,
    /// Datagrams dropped at this end: they would have been too late, or were too many or too long.
    pub dropped: u64,
}

impl DatagramOutput {
    pub(crate) fn of(stats: DatagramStats) -> Self {
        Self { sent: stats.sent, received: stats.received, dropped: stats.dropped }
    }
}

/// One path.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PathOutput {
    /// Its interface, or its lender as given.
    pub via: String,
    /// Bandwidth of the option, or that its lender announced at set-up; null if it is unknown.
    #[schemars(extend("unit" = "megabits per second"))]
    pub bandwidth_mbps: Option<f64>,
    /// Whether it worked at the end: its interface could be used, and the server answered over it.
    pub is_up: bool,
    /// `regular`; `backup`: a metered link, which carries data only if the others cannot carry the
    /// bytes that wait; `standby`: a link at risk, which carries copies alone while another works.
    pub priority: String,
    /// Payload of UDP, both ways, in bytes.
    pub bytes: u64,
    /// Payload of UDP that was sent, in bytes.
    pub bytes_sent: u64,
    /// Payload of UDP that was received, in bytes.
    pub bytes_received: u64,
    /// Bytes of streams in flight from this end at the end.
    pub in_flight: u64,
    /// Payload of UDP, both ways, over the time of the whole session.
    #[schemars(extend("unit" = "megabits per second"))]
    pub rate_mbps: f64,
    /// Smoothed round-trip time; null if it never answered.
    #[schemars(extend("unit" = "milliseconds"))]
    pub rtt_ms: Option<f64>,
    /// Minimum round-trip time.
    #[schemars(extend("unit" = "milliseconds"))]
    pub min_rtt_ms: Option<f64>,
    /// Part of the datagrams, of both directions, that did not arrive; null if it never answered.
    #[schemars(extend("unit" = "share"))]
    pub loss: Option<f64>,
    /// Largest IP packet that it is known to take, in bytes.
    pub mtu: Option<u16>,
    /// Statistics of its radio; null if it is no Wi-Fi link to an access point.
    pub radio: Option<RadioOutput>,
}

/// Statistics of a path's radio, as far as the driver reports them. Counters begin with the
/// association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RadioOutput {
    /// Signal strength of the last frame received.
    #[schemars(extend("unit" = "dBm"))]
    pub signal_dbm: Option<i8>,
    /// Rate of the last frame sent.
    #[schemars(extend("unit" = "megabits per second"))]
    pub tx_mbps: Option<f64>,
    /// Rate of the last frame received.
    #[schemars(extend("unit" = "megabits per second"))]
    pub rx_mbps: Option<f64>,
    /// Frames handed to the radio.
    pub tx_frames: Option<u32>,
    /// Retries of frames.
    pub retries: Option<u32>,
    /// Frames that were given up after all attempts.
    pub given_up: Option<u32>,
}

impl RadioOutput {
    /// The statistics of a station's link to its access point.
    pub(crate) fn of(station: &Station) -> Self {
        let mbps = |kbps: u32| f64::from(kbps) / 1e3;
        Self {
            signal_dbm: station.signal_dbm.or(station.signal_average_dbm),
            tx_mbps: station.tx_kbps.map(mbps),
            rx_mbps: station.rx_kbps.map(mbps),
            tx_frames: station.tx_packets,
            retries: station.tx_retries,
            given_up: station.tx_failed,
        }
    }

    /// Retries of each frame since `before`; `None` where no frame was sent, the driver does not
    /// count, or the association is a new one.
    pub(crate) fn retries_since(&self, before: &Self) -> Option<f64> {
        let frames = self.tx_frames?.checked_sub(before.tx_frames?)?;
        let retries = self.retries?.checked_sub(before.retries?)?;
        (frames > 0).then(|| f64::from(retries) / f64::from(frames))
    }
}

impl PathOutput {
    pub(crate) fn of(
        via: &str,
        bandwidth: Option<BitRate>,
        stats: &PathStats,
        seconds: f64,
    ) -> Self {
        let bytes = stats.bytes_sent + stats.bytes_received;
        let ms = |time: fairwave_units::Duration| time.as_secs_f64() * 1e3;
        Self {
            via: via.to_owned(),
            bandwidth_mbps: bandwidth.map(BitRate::as_mbps_f64),
            is_up: stats.is_up,
            priority: priority_name(stats.priority).to_owned(),
            bytes,
            bytes_sent: stats.bytes_sent,
            bytes_received: stats.bytes_received,
            in_flight: stats.in_flight,
            rate_mbps: if seconds > 0.0 { bytes as f64 * 8e-6 / seconds } else { 0.0 },
            rtt_ms: stats.srtt.map(ms),
            min_rtt_ms: stats.min_rtt.map(ms),
            loss: stats.loss(),
            mtu: stats.mtu,
            radio: None,
        }
    }

    /// Its state in a word.
    pub(crate) fn state(&self) -> &str {
        match self.priority.as_str() {
            _ if !self.is_up => "down",
            "backup" | "standby" => &self.priority,
            _ => "up",
        }
    }
}

fn priority_name(priority: Priority) -> &'static str {
    match priority {
        Priority::Regular => "regular",
        Priority::Backup => "backup",
        Priority::Standby => "standby",
    }
}

/// Output of `fairwave shake diagnose HOST --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiagnosisOutput {
    /// Address and port of the server.
    pub server: String,
    /// Sum of the paths' rates alone.
    #[schemars(extend("unit" = "megabits per second"))]
    pub sum_mbps: f64,
    /// Rate of all together over this sum.
    #[schemars(extend("unit" = "share"))]
    pub reached: f64,
    /// Cause that holds the sum back: `down`, `cpu`, `loss`, `rtt_spread`, `buffer`, `link`, `none`
    /// or `unknown`.
    pub limit: String,
    /// A run over each path alone, in the order of the options.
    pub alone: Vec<RunOutput>,
    /// The run over all of them.
    pub together: RunOutput,
    /// Causes that were seen, the most important first.
    pub findings: Vec<FindingOutput>,
}

/// One run of a diagnosis.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct RunOutput {
    /// Whether the server has answered; without an answer there are no figures.
    pub has_answered: bool,
    /// Its time.
    #[schemars(extend("unit" = "seconds"))]
    pub seconds: f64,
    /// Rate of the test's bytes; to the server, of the payload of UDP.
    #[schemars(extend("unit" = "megabits per second"))]
    pub mbps: f64,
    /// Time in which the loop at this host ran, or waited for a CPU, over that of the run.
    #[schemars(extend("unit" = "share"))]
    pub cpu: f64,
    /// Its paths.
    pub paths: Vec<RunPath>,
}

/// One path of a run.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct RunPath {
    /// Its interface.
    pub via: String,
    /// Payload of UDP, both ways.
    #[schemars(extend("unit" = "megabits per second"))]
    pub mbps: f64,
    /// Minimum round-trip time.
    #[schemars(extend("unit" = "milliseconds"))]
    pub min_rtt_ms: Option<f64>,
    /// Median round-trip time in the second half of the run.
    #[schemars(extend("unit" = "milliseconds"))]
    pub loaded_rtt_ms: Option<f64>,
    /// Part of the datagrams that did not arrive.
    #[schemars(extend("unit" = "share"))]
    pub loss: Option<f64>,
}

/// A cause that was seen.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FindingOutput {
    /// As in `limit`.
    pub cause: String,
    /// The interface that it concerns, if it is one.
    pub via: Option<String>,
    /// The cause in words.
    pub text: String,
    /// A remedy.
    pub remedy: String,
}

/// Output of `fairwave shake serve --json` at its end.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServeOutput {
    /// Time for which it listened.
    #[schemars(extend("unit" = "seconds"))]
    pub seconds: f64,
    /// Connections of clients' applications.
    pub connections: u64,
    /// Connections among them that failed, or whose target could not be reached or is not allowed.
    pub failed: u64,
    /// Handshakes of hosts without the key.
    pub strangers: u64,
    /// Datagrams that were not sealed with a session's keys, came again, or belong to no session.
    pub refused: u64,
}

/// The paths as a table, and the sum.
pub(crate) fn words(output: &ShakeOutput) -> String {
    let heads = ["interface", "Mbps", "MB out", "MB in", "share", "RTT, ms", "loss", "MTU", "is"];
    let mut table = Table::new("Paths", &heads);
    let all: u64 = output.paths.iter().map(|path| path.bytes).sum();
    let number = |value: Option<f64>, places: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.places$}"))
    };
    for path in &output.paths {
        let share = (all > 0).then(|| path.bytes as f64 * 100.0 / all as f64);
        let percent = |value: Option<f64>, places| match number(value, places) {
            text if text == "-" => text,
            text => text + " %",
        };
        table.row(vec![
            path.via.clone(),
            format!("{:.3}", path.rate_mbps),
            format!("{:.1}", path.bytes_sent as f64 / 1e6),
            format!("{:.1}", path.bytes_received as f64 / 1e6),
            percent(share, 0),
            number(path.rtt_ms, 1),
            percent(path.loss.map(|loss| loss * 100.0), 2),
            path.mtu.map_or_else(|| "-".to_owned(), |mtu| mtu.to_string()),
            path.state().to_owned(),
        ]);
    }
    let (connections, seconds) = (several(output.connections, "connection"), output.seconds);
    let failed = match output.failed {
        0 => String::new(),
        failed => format!(", {failed} of them failed"),
    };
    let sum: f64 = output.paths.iter().map(|path| path.rate_mbps).sum();
    format!(
        "{}\n{:.1} MB at {sum:.3} Mbps in {seconds:.1} s, {connections}{failed}.\n",
        table.render(),
        all as f64 / 1e6,
    )
}

/// A server's counts in words.
pub(crate) fn serve_words(output: &ServeOutput) -> String {
    let ServeOutput { seconds, connections, failed, strangers, refused } = output;
    let connections = several(*connections, "connection");
    format!(
        "{connections} in {seconds:.1} s, {failed} of them failed; {strangers} \
         handshakes without the key, {refused} datagrams refused.\n"
    )
}
