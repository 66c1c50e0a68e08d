//! `cargo xtask bench-proxy`: connections through `fairwave proxy`, beside direct ones.

use crate::machine::{conditions, load};
use crate::record;
use crate::scripted::measured;
use clap::Args;
use serde_json::Value;
use xtask::shell::{Outcome, WITH_KERNEL_CC, cargo, run_aside};

/// Options of `bench-proxy`.
#[derive(Args)]
pub(crate) struct Options {
    /// Add the figures to `benches/runs/DATE-proxy.md`.
    #[arg(long)]
    record: bool,
}

/// Measures for about a minute, and prints or records the results.
pub(crate) fn bench(options: &Options) -> Outcome {
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli", WITH_KERNEL_CC]))?;
    let before = load();
    let (rows, many) = (measured("proxy.py", "figures")?, measured("proxy.py", "many")?);
    let facts = conditions(&before)?;
    let text = table(&facts, rows.as_array().ok_or("no rows")?, &many);
    println!("{text}");
    if options.record {
        record::add("proxy", "connections through the proxy", &text)?;
    }
    Ok(())
}

/// The figures as Markdown.
fn table(facts: &str, rows: &[Value], many: &Value) -> String {
    let rows: String = rows.iter().map(row).collect();
    let of = |key: &str| many[key].as_u64().unwrap_or(0);
    format!(
        "`cargo xtask bench-proxy --record`. {facts}. A client, a router and a server, each a \
         network namespace, in a row of veth pairs; the proxy is transparent on the router. \
         Throughput is iperf3's with 1 and with 8 connections for 4 s, round trips those of 5,000 \
         requests of 100 bytes, in turn directly and through the proxy. All of it shares the \
         processors of one machine. \"a core\" divides by the processor time of the proxy.\n\n\
         | turn | way | Gbps, 1 | Gbps, 8 | a core, 1 | a core, 8 | p50 us | p99 us |\n\
         |---:|---|---:|---:|---:|---:|---:|---:|\n{rows}\n\
         {} connections at once, 1,000 of them active, all bytes intact; each idle one takes {} \
         bytes of the proxy's memory beside the kernel's sockets.\n",
        of("flows"),
        of("bytes_a_flow")
    )
}

fn row(entry: &Value) -> String {
    let number = |key: &str| entry[key].as_f64().map_or("-".to_owned(), |v| format!("{v:.1}"));
    let cells = ["gbps_1", "gbps_8", "gbps_a_core_1", "gbps_a_core_8", "p50_us", "p99_us"];
    let way = entry["way"].as_str().unwrap_or("?");
    format!("| {} | {way} | {} |\n", entry["turn"], cells.map(number).join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_measured_is_a_dash() {
        let direct = json!({ "turn": 0, "way": "direct", "gbps_1": 20.04, "p50_us": 30.0 });
        assert_eq!(row(&direct), "| 0 | direct | 20.0 | - | - | - | 30.0 | - |\n");
    }
}
