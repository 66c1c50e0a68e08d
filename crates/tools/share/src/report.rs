//! Output of `fairwave share`: JSON and words.

use fairwave_cluster::Lent;
use fairwave_share_host::discovery::Announced;
use fairwave_text::Table;
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave share lend --json` at its end.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LendOutput {
    /// The interface that was lent.
    pub via: String,
    /// Time for which it was lent.
    #[schemars(extend("unit" = "seconds"))]
    pub seconds: f64,
    /// Bytes of IP packets of the last day, both ways.
    pub today_bytes: u64,
    /// Number of leases.
    pub leases: u64,
    /// The latest leases, at most 100.
    pub latest: Vec<LeaseOutput>,
    /// Requests that were denied, or whose lease was ended, with a reason.
    pub denied: u64,
    /// Handshakes of hosts without the key.
    pub strangers: u64,
    /// Datagrams that were not sealed with a session's keys, came again, or belong to no lease.
    pub refused: u64,
}

/// One lease.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeaseOutput {
    /// Address of the borrower.
    pub borrower: String,
    /// Address and port of the server to which its datagrams went.
    pub server: String,
    /// Bytes of IP packets to the server.
    pub up_bytes: u64,
    /// Bytes of IP packets from the server.
    pub down_bytes: u64,
    /// Packets dropped because they would have waited too long for their turn at the rate.
    pub dropped: u64,
}

impl LeaseOutput {
    pub(crate) fn of(lent: &Lent) -> Self {
        Self {
            borrower: lent.borrower.to_string(),
            server: lent.target.to_string(),
            up_bytes: lent.up,
            down_bytes: lent.down,
            dropped: lent.dropped,
        }
    }
}

/// Output of `fairwave share list --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShareListOutput {
    /// The lenders that answered, by name.
    pub lenders: Vec<LenderOutput>,
}

/// A lender that announces itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LenderOutput {
    /// Its name, for `--borrow NAME`.
    pub name: String,
    /// Its addresses, each with the port.
    pub addresses: Vec<String>,
    /// Bandwidth that it lends; null if it has no limit.
    #[schemars(extend("unit" = "megabits per second"))]
    pub rate_mbps: Option<f64>,
}

impl LenderOutput {
    pub(crate) fn of(announced: &Announced) -> Self {
        Self {
            name: announced.name.clone(),
            addresses: announced.addresses.iter().map(ToString::to_string).collect(),
            rate_mbps: announced.rate.map(fairwave_units::BitRate::as_mbps_f64),
        }
    }
}

/// The leases as a table, and the counts.
pub(crate) fn lend_words(output: &LendOutput) -> String {
    let heads = ["borrower", "server", "MB out", "MB in", "dropped"];
    let mut table = Table::new("Leases", &heads);
    for lease in &output.latest {
        table.row(vec![
            lease.borrower.clone(),
            lease.server.clone(),
            format!("{:.1}", lease.up_bytes as f64 / 1e6),
            format!("{:.1}", lease.down_bytes as f64 / 1e6),
            lease.dropped.to_string(),
        ]);
    }
    let LendOutput { via, seconds, today_bytes, leases, denied, strangers, refused, .. } = output;
    let table = if output.latest.is_empty() { String::new() } else { table.render() + "\n" };
    format!(
        "{table}{leases} leases of {via} in {seconds:.1} s, {:.1} MB today; {denied} denied, \
         {strangers} handshakes without the key, {refused} datagrams refused.\n",
        *today_bytes as f64 / 1e6
    )
}

/// The lenders as a table.
pub(crate) fn list_words(output: &ShareListOutput) -> String {
    if output.lenders.is_empty() {
        return "No lender answers on this network.\n".to_owned();
    }
    let mut table = Table::new("Lenders", &["name", "Mbps", "address"]);
    for lender in &output.lenders {
        let rate = lender.rate_mbps.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.3}"));
        let address = lender.addresses.first().cloned().unwrap_or_default();
        table.row(vec![lender.name.clone(), rate, address]);
    }
    table.render() + "\n"
}
