//! Two links between two hosts: pauses when one fails, processor time, memory.

use crate::machine::{conditions, load};
use crate::record;
use crate::scripted::measured;
use serde_json::Value;
use std::fmt::Write;
use xtask::shell::{Outcome, note};

const SCRIPT: &str = "shake_figures.py";

/// Measures for about seven minutes, and prints or records the results.
pub(super) fn bench(is_recorded: bool) -> Outcome {
    let before = load();
    let task = |name: &str| {
        note(&format!("bench-shake: {name}"));
        measured(SCRIPT, name)
    };
    let (speed, many, pauses) = (task("speed")?, task("many")?, task("pauses")?);
    let facts = conditions(&before)?;
    let [speed, pauses] = [&speed, &pauses].map(|rows| rows.as_array().map_or(&[][..], |v| v));
    let text = page(&facts, speed, &many, pauses);
    println!("{text}");
    if is_recorded {
        record::add("shake", "SHAKE over two links", &text)?;
    }
    Ok(())
}

fn page(facts: &str, speed: &[Value], many: &Value, pauses: &[Value]) -> String {
    let of = |key: &str| many[key].as_u64().unwrap_or(0);
    let connections = of("connections").max(1);
    format!(
        "`cargo xtask bench-shake --links --record`. {facts}. Two hosts, each a network namespace, \
         with two veth pairs between them.\n\n\
         iperf3 for 5 s through `fairwave shake connect --forward`, no shaping; all of it shares \
         the processors of one machine. \"a core\" divides by the processor time of the busier \
         end; packets and datagrams are those of both links and directions: a packet with GSO is \
         handed to a link as one, and has up to 64 datagrams of the wire.\n\n\
         | way | Gbps | Gbps a core | packets/s | datagrams/s | a core | client | server |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n{}\n\
         {connections} connections at once, each of which has {} bytes echoed: {} intact, in {:.1} \
         s. A connection takes {} bytes of the client's memory and {} of the server's.\n\n\
         Two links of 40 Mbps with queues of 200 kB; the first one is cut for 4 s under load. The \
         longest time in which the application reads nothing: in the 2 s before, and while the \
         link is cut. \"back\": from the repair until the link has carried 200 kB again. MPTCP is \
         the kernel's.\n\n\
         | carrier | cut | before, ms | pause, ms, each run | back, s, each run |\n\
         |---|---|---:|---|---|\n{}",
        speed.iter().map(speed_row).collect::<String>(),
        of("bytes"),
        of("intact"),
        many["seconds"].as_f64().unwrap_or(f64::NAN),
        of("client_bytes") / connections,
        of("server_bytes") / connections,
        pause_rows(pauses),
    )
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or(f64::NAN)
}

fn speed_row(row: &Value) -> String {
    let of = |key| number(row, key);
    let (gbit, seconds) = (of("bits") / 1e9, of("seconds"));
    let (client, server) = (of("client_s"), of("server_s"));
    format!(
        "| {} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} |\n",
        row["way"].as_str().unwrap_or("?"),
        gbit / seconds,
        gbit / client.max(server),
        of("packets") / seconds,
        of("datagrams") / seconds,
        of("datagrams") / client.max(server),
        client / seconds,
        server / seconds
    )
}

fn pause_rows(rows: &[Value]) -> String {
    let mut text = String::new();
    for how in ["silent", "down"] {
        for carrier in ["shake", "redundant", "mptcp"] {
            let of_it = |row: &&Value| row["how"] == how && row["carrier"] == carrier;
            let of = |key, decimals: usize| {
                let all = rows.iter().filter(of_it).map(|row| number(row, key));
                let mut all: Vec<f64> = all.collect();
                all.sort_by(f64::total_cmp);
                all.iter().map(|v| format!("{v:.decimals$}")).collect::<Vec<_>>()
            };
            let before = of("steady_ms", 0).pop().unwrap_or_default();
            let (pauses, back) = (of("pause_ms", 0).join(" "), of("back_s", 2).join(" "));
            let _ = writeln!(text, "| {carrier} | {how} | {before} | {pauses} | {back} |");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_core_is_that_of_the_busier_end() {
        let row = json!({ "way": "to the client", "bits": 1e10, "seconds": 5.0, "client_s": 4.0,
                          "server_s": 5.0, "packets": 1000.0, "datagrams": 9000.0 });
        let expected = "| to the client | 2.00 | 2.00 | 200 | 1800 | 1800 | 0.80 | 1.00 |\n";
        assert_eq!(speed_row(&row), expected);
    }

    #[test]
    fn pauses_stand_in_order_of_their_length() {
        let row = |ms: f64| {
            json!({ "carrier": "shake", "how": "down", "steady_ms": 3.0,
                                    "pause_ms": ms, "back_s": 0.5 })
        };
        let rows = pause_rows(&[row(90.0), row(25.0)]);
        assert!(rows.contains("| shake | down | 3 | 25 90 | 0.50 0.50 |"), "{rows}");
    }
}
