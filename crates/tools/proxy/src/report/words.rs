//! Messages and results of the proxy as text.

use super::output::{AchievedOutput, ProxyOutput, TargetOutput};
use fairwave_text::{Table, mbps};
use fairwave_units::several;
use std::net::SocketAddr;

/// Maximum number of active targets that are shown; `--json` has all.
const ROWS: usize = 40;

/// Returns the message at the start: addresses for clients, and how rates are controlled.
pub(crate) fn greeting(
    addresses: &[SocketAddr],
    interfaces: &[String],
    steered_by: &str,
) -> String {
    let mut text = String::new();
    for at in addresses {
        text.push_str(&format!("Listening at TCP {at} for SOCKS5 and HTTP CONNECT.\n"));
    }
    if !interfaces.is_empty() {
        let places = interfaces.join(", ");
        text.push_str(&format!("Connections that arrive at {places} are led through the proxy.\n"));
    }
    let steered = match steered_by {
        "pacing" => "Targets are kept by pacing: fw_tcp_av is not loaded, or not wanted.\n",
        _ => "Targets are kept by fw_tcp_av.\n",
    };
    text + steered
}

/// Returns the results of the run.
pub(crate) fn summary(found: &ProxyOutput) -> String {
    let mut text = format!(
        "Ran for {:.0} s: {}, {} of them still open; {} broke, {} were ended as idle.\n\
         {} MB went up, {} MB came down.\n{}\n",
        found.lasted_s,
        several(found.opened, "connection"),
        found.active,
        found.broken,
        found.idle,
        found.bytes_up / 1_000_000,
        found.bytes_down / 1_000_000,
        achieved(&found.achieved, found.bin_s),
    );
    let refused = &found.refused;
    let turned_away = [refused.not_allowed, refused.busy, refused.malformed, refused.unreachable];
    if turned_away.iter().any(|count| *count > 0) {
        text.push_str(&format!(
            "Turned away: {} not allowed, {} without room, {} malformed or late, {} to servers out \
             of reach.\n",
            refused.not_allowed, refused.busy, refused.malformed, refused.unreachable
        ));
    }
    if found.best_effort > 0 {
        text.push_str(&format!("{} went without their target.\n", found.best_effort));
    }
    text + &targets(&found.targets)
}

/// Returns text such as "reached in 97 % of 5 s bins", with the numbers of bins.
fn achieved(found: &AchievedOutput, bin_s: f64) -> String {
    let Some(avr) = found.avr else { return format!("No {bin_s} s bin had a target.") };
    let rest = match found.not_offered {
        0 => String::new(),
        bins => format!("; in {bins} of the others, clients offered less"),
    };
    let all = found.reached + found.missed + found.not_offered;
    format!(
        "Targets were reached in {:.0} % of {bin_s} s bins ({} of {all}{rest}).",
        100.0 * avr,
        found.reached
    )
}

fn targets(found: &[TargetOutput]) -> String {
    let heads =
        ["client", "server", "way", "connections", "target Mbps", "last bin Mbps", "reached %"];
    let mut table = Table::new("Targets under way", &heads);
    for one in found.iter().take(ROWS) {
        let share = one.achieved.share.map(|share| format!("{:.0}", 100.0 * share));
        table.row(vec![
            one.client.clone(),
            one.server.clone().unwrap_or_else(|| "-".to_owned()),
            one.direction.name().to_owned(),
            one.flows.to_string(),
            mbps(one.target_bps),
            one.rate_bps.map_or_else(|| "-".to_owned(), mbps),
            share.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    let more = found.len().saturating_sub(ROWS);
    let rest = if more > 0 { format!("{more} more are in --json.\n") } else { String::new() };
    table.render() + &rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::achieved::Achieved;

    #[test]
    fn achievement_is_a_sentence() {
        let found = |reached, missed, not_offered| {
            AchievedOutput::of(Achieved { reached, missed, not_offered })
        };
        let expected = "in 88 % of 5 s bins (97 of 110; in 7 of the others, clients offered less).";
        let text = achieved(&found(97, 6, 7), 5.0);
        assert!(text.ends_with(expected), "{text}");
        assert!(achieved(&found(0, 0, 0), 5.0).starts_with("No 5 s bin"));
        assert!(achieved(&found(0, 0, 4), 5.0).contains("in 0 % of"));
    }
}
