//! Output of `fairwave dccp relay`, and the lines of its socket.

use super::output::{HandoverOutput, KnownOutput};
use super::words::words;
use fairwave_units::several;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Output of `fairwave dccp relay --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RelayOutput {
    /// Where the stream comes from.
    pub from: String,
    /// Where it goes.
    pub to: String,
    /// `ip`: protocol 33; `udp`: inside UDP.
    pub over: String,
    /// Address and port of the other relay; null if there was no connection.
    pub peer: Option<String>,
    /// Time since the relay started.
    #[schemars(extend("unit" = "seconds"))]
    pub seconds: f64,
    /// Connections of DCCP, one after the other.
    pub connections: u64,
    /// Times that a connection was established again, as the peer was lost or the address of this
    /// host changed.
    pub restored: u64,
    /// Datagrams that the application sent to this relay.
    pub r#in: CountOutput,
    /// Datagrams that went to the other relay.
    pub sent: CountOutput,
    /// Datagrams that came from the other relay.
    pub received: CountOutput,
    /// Datagrams that went to the application.
    pub out: CountOutput,
    /// Datagrams that were dropped here, by cause.
    pub dropped: LostOutput,
    /// State of congestion control of the data sent from here.
    pub sending: KnownOutput,
    /// State of congestion control of the data received here.
    pub receiving: KnownOutput,
    /// Changes of the way to the peer: handovers.
    pub handovers: Vec<HandoverOutput>,
    /// End of the last connection: `closed`, or the reason why it did not close in good order; null
    /// if there was no connection.
    pub ended: Option<String>,
    /// Reason why the relay ended with an error; null if it did not.
    pub error: Option<String>,
}

/// Datagrams and their application data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CountOutput {
    /// Number of datagrams.
    pub datagrams: u64,
    /// Their application data in bytes.
    pub bytes: u64,
}

impl CountOutput {
    pub(crate) const fn add(&mut self, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
    }
}

/// Datagrams that a relay dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostOutput {
    /// Congestion control did not let them go before their deadline.
    pub too_old: u64,
    /// The send queue was full.
    pub queue_full: u64,
    /// They are longer than a packet may be.
    pub too_long: u64,
    /// There was no connection.
    pub no_connection: u64,
    /// They came from the other relay before the application had sent a datagram, so that its
    /// address was unknown.
    pub no_application: u64,
    /// They came from the other relay and this one was too slow, or the application's socket
    /// refused them.
    pub not_taken: u64,
}

/// A line of a relay's socket: the rate for the encoder, and the state of the connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateLine {
    /// Time since the relay started.
    #[schemars(extend("unit" = "seconds"))]
    pub at_s: f64,
    /// Rate that the encoder may have; null without a connection, also while it is opened again.
    #[schemars(extend("unit" = "bits per second"))]
    pub rate_bps: Option<u64>,
    /// Rate X that congestion control allows; null without a connection, and for CCID 2.
    #[schemars(extend("unit" = "megabits per second"))]
    pub allowed_mbps: Option<f64>,
    /// Rate X_recv in the receiver's most recent report.
    #[schemars(extend("unit" = "megabits per second"))]
    pub receive_mbps: Option<f64>,
    /// Loss event rate p.
    #[schemars(extend("unit" = "loss events per packet"))]
    pub loss_event_rate: Option<f64>,
    /// Smoothed round-trip time.
    #[schemars(extend("unit" = "milliseconds"))]
    pub rtt_ms: Option<f64>,
    /// Application data sent per second since the line before.
    #[schemars(extend("unit" = "megabits per second"))]
    pub sent_mbps: f64,
    /// Application data received per second since the line before.
    #[schemars(extend("unit" = "megabits per second"))]
    pub received_mbps: f64,
    /// Datagrams that wait to be sent.
    pub queued: u64,
    /// Datagrams dropped so far, whatever the cause.
    pub dropped: u64,
    /// Changes of the way to the peer since the line before: handovers.
    pub handovers: Vec<HandoverOutput>,
}

/// A line of the socket in words.
pub(crate) fn rate_words(line: &RateLine) -> String {
    let known = KnownOutput {
        loss_event_rate: line.loss_event_rate,
        rtt_ms: line.rtt_ms,
        allowed_mbps: line.allowed_mbps,
        receive_mbps: line.receive_mbps,
        ..KnownOutput::default()
    };
    let changes: String = line.handovers.iter().map(|one| format!(", {}", one.change)).collect();
    format!(
        "{:.1} s: sent {:.3} Mbps, received {:.3} Mbps{}{changes}\n",
        line.at_s,
        line.sent_mbps,
        line.received_mbps,
        words(&known)
    )
}

/// A relay's result in words.
pub(crate) fn relay_words(found: &RelayOutput) -> String {
    let count = |name: &str, count: CountOutput| {
        format!("  {name:<9}{:>9} datagrams {:>12} bytes\n", count.datagrams, count.bytes)
    };
    let LostOutput { too_old, queue_full, too_long, no_connection, no_application, not_taken } =
        found.dropped;
    let causes = [
        ("too old", too_old),
        ("queue full", queue_full),
        ("too long", too_long),
        ("no connection", no_connection),
        ("no application", no_application),
        ("not taken", not_taken),
    ];
    let dropped = causes.into_iter().filter(|(_, count)| *count > 0);
    let dropped: Vec<_> = dropped.map(|(cause, count)| format!("{count} {cause}")).collect();
    let dropped = if dropped.is_empty() { "none".to_owned() } else { dropped.join(", ") };
    let changes = found.handovers.iter().map(|one| format!("{} at {:.1} s", one.change, one.at_s));
    let changes: Vec<_> = changes.collect();
    let changes = match changes[..] {
        [] => String::new(),
        _ => format!("  handovers: {}\n", changes.join(", ")),
    };
    format!(
        "{} -> {}: {:.1} s, {}, {} restored; {}\n{}{}{}{}  dropped: {dropped}\n  \
         sending{}\n  receiving{}\n{changes}",
        found.from,
        found.to,
        found.seconds,
        several(found.connections, "connection"),
        found.restored,
        found.ended.as_deref().unwrap_or("no connection"),
        count("in", found.r#in),
        count("sent", found.sent),
        count("received", found.received),
        count("out", found.out),
        words(&found.sending),
        words(&found.receiving),
    )
}
