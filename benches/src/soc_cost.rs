//! `cargo xtask bench-soc`: cost of sharing an interface by SoC, for a kernel and the agent
//! (SOC-8), and Table 4 of the paper in the kernel.

use crate::machine::{conditions, load};
use crate::record;
use crate::scripted::measured;
use clap::Args;
use serde_json::Value;
use std::fmt::Write;
use xtask::shell::{Outcome, cargo, note, run_aside};

/// Options of `bench-soc`.
#[derive(Args)]
pub(crate) struct Options {
    /// Add the figures to `benches/runs/DATE-soc.md`.
    #[arg(long)]
    record: bool,
    /// Measure only the times of the paper's Table 4.
    #[arg(long)]
    table4: bool,
}

/// Configurations of forwarding: the qdisc, and the interval of weight changes.
const WAYS: [(&str, Option<u64>, &str); 6] = [
    ("pfifo", None, "pfifo"),
    ("pfifo, reports", Some(20), "pfifo, beside a dry run: a report each 20 ms, weights change"),
    ("htb", None, "HTB by `fairwave soc ap`"),
    ("htb, reports", Some(20), "the same, a report each 20 ms, levels of one weight"),
    ("htb", Some(200), "the same, a report each 200 ms, weights change"),
    ("htb", Some(20), "the same, a report each 20 ms, weights change"),
];

/// Measures for about six minutes, as root, and prints or records the results.
pub(crate) fn bench(options: &Options) -> Outcome {
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    let before = load();
    note("bench-soc: table4");
    let forwarded = measured("soc.py", "table4")?;
    let forwarded = table4(forwarded.as_array().ok_or("no rows")?);
    if options.table4 {
        return keep(options, &format!("{}.\n\n{forwarded}", conditions(&before)?));
    }
    let mut found = Vec::new();
    for task in ["cost", "apart", "crowd", "crowd_apart"] {
        note(&format!("bench-soc: {task}"));
        found.push(measured("soc.py", task)?);
    }
    let [together, apart, crowd, crowd_apart] = &found[..] else { return Err("four tasks".into()) };
    let facts = conditions(&before)?;
    let rows = |found: &Value| found.as_array().cloned().ok_or("no rows");
    let text = page(&facts, [&rows(together)?, &rows(apart)?], [crowd, crowd_apart]);
    keep(options, &format!("{text}\n{forwarded}"))
}

/// Prints figures, and records them if that is requested.
fn keep(options: &Options, text: &str) -> Outcome {
    println!("{text}");
    if options.record {
        record::add("soc", "sharing by SoC", text)?;
    }
    Ok(())
}

/// The times of Table 4 as Markdown.
fn table4(rows: &[Value]) -> String {
    let mut text = "Table 4 in the kernel: voice packets of 350 bytes each 30 ms, which an access \
                    point routes from one veth to another while three stations report each 200 \
                    ms. Microseconds from the tracepoint `netif_rx` to `net_dev_xmit` of the same \
                    packet: from the driver's receipt to the end of its transmission, which is \
                    that of a memory and not of a radio. The paper's FIFO takes 2629 us, at most \
                    2655, GB 2638 (2668), PW 2637 (2679).\n\n\
                    | scheme | mean | median | maximum | beside FIFO | packets |\n\
                    |---|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let times = |row: &Value| {
        let all = row["ns"].as_array().map_or(&[][..], Vec::as_slice);
        let mut times: Vec<f64> = all.iter().filter_map(|ns| Some(ns.as_f64()? / 1e3)).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let fifo = rows.first().map_or(f64::NAN, |row| mean(&times(row)));
    for row in rows {
        let (name, times) = (row["scheme"].as_str().unwrap_or("?"), times(row));
        let own = mean(&times);
        let most = times.last().copied().unwrap_or(f64::NAN);
        let _ = writeln!(
            text,
            "| {name} | {own:.1} | {:.1} | {most:.1} | {:+.1} us | {} |",
            median(&times),
            own - fifo,
            times.len()
        );
    }
    text
}

/// The figures as Markdown, for programs that share the cores and for programs on separate cores.
fn page(facts: &str, [together, apart]: [&[Value]; 2], crowds: [&Value; 2]) -> String {
    let [together, apart] = [together, apart].map(table);
    let [crowd, crowd_apart] = crowds.map(of_crowd);
    format!(
        "`cargo xtask bench-soc --record`. {facts}. An access point and a station, each a network \
         namespace on a bridge; iperf3 sends datagrams of 100 bytes for 3 s as fast as it can, in \
         turn with each qdisc, five times. Nanoseconds are the processor time of iperf3 for a \
         datagram, its own system calls and all, which the veth pair and the bridge are part of: \
         median, and least to most. No class is at its limit (30 Gbps). The last columns are what \
         the programs of the access point and of the station have of a core meanwhile; the \
         station of a row with reports reads its level from a file four times in each interval.\n\n\
         All programs share the cores:\n\n{together}\n\
         The sender has a core to itself, all other programs have the other one:\n\n{apart}\n\
         The paper's Table 4: a FIFO takes 2629 us, GB 2638 and PW 2637 (+0.3 %), on FreeBSD 3.4 \
         with a 2 Mbps radio behind.\n\n\
         Stations that report every 20 ms and share the cores with the access point: {crowd}\n\n\
         The same with a core for the access point alone: {crowd_apart}\n"
    )
}

fn table(rows: &[Value]) -> String {
    let rows: String =
        WAYS.into_iter().map(|(qdisc, every, name)| row(qdisc, every, name, rows)).collect();
    format!(
        "| way | ns a datagram | beside pfifo | datagrams/s | changes/s | access point | station \
         |\n|---|---:|---:|---:|---:|---:|---:|\n{rows}"
    )
}

fn of_crowd(crowd: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let windows = crowd["windows"].as_array().map_or(&[][..], Vec::as_slice);
    let sorted = |of: &dyn Fn(&Value) -> f64| {
        let mut values: Vec<f64> = windows.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let of = |key: &str| median(&sorted(&|window| number(&window[key])));
    let shares = sorted(&|window| 100.0 * (number(&window["own"]) + number(&window["kernel"])));
    let [min, max] = [shares.first(), shares.last()].map(|end| *end.unwrap_or(&f64::NAN));
    format!(
        "of {} of them {:.0} reports/s arrive and {:.0} are missed, for which the access point has \
         {:.2} % ({min:.2} to {max:.2}) of a core, of that {:.2} % by itself and {:.2} % in the \
         kernel; {:.2} us a report. It holds {:.0} MB. Medians of {} windows of 5 s.",
        number(&crowd["stations"]),
        of("reports_s"),
        of("missed_s"),
        median(&shares),
        100.0 * of("own"),
        100.0 * of("kernel"),
        median(&shares) * 1e4 / of("reports_s"),
        number(&crowd["memory"]) / 1e6,
        windows.len(),
    )
}

/// The median of sorted values.
fn median(values: &[f64]) -> f64 {
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn row(qdisc: &str, every: Option<u64>, name: &str, rows: &[Value]) -> String {
    let of = |qdisc: &str, every: Option<u64>, key: &str| {
        let rows =
            rows.iter().filter(|row| row["way"] == qdisc && row["every_ms"].as_u64() == every);
        let mut values: Vec<f64> = rows.filter_map(|row| row[key].as_f64()).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let times = of(qdisc, every, "ns");
    let (min, max) = (times.first().unwrap_or(&f64::NAN), times.last().unwrap_or(&f64::NAN));
    let more = 100.0 * (median(&times) / median(&of("pfifo", None, "ns")) - 1.0);
    let share = |key: &str| match &of(qdisc, every, key)[..] {
        [] => "-".to_owned(),
        shares => format!("{:.1} %", 100.0 * median(shares)),
    };
    format!(
        "| {name} | {:.0} ({min:.0} to {max:.0}) | {more:+.1} % | {:.0} | {:.1} | {} | {} |\n",
        median(&times),
        median(&of(qdisc, every, "packets_s")),
        median(&of(qdisc, every, "changes_s")),
        share("ap"),
        share("station"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_crowd_is_told_by_the_median_of_its_windows() {
        let windows = [(0.03, 500.0), (0.01, 1000.0), (0.012, 1100.0)].map(|(own, reports_s)| {
            json!({ "own": own, "kernel": 0.004, "reports_s": reports_s, "missed_s": 1.0 })
        });
        let crowd = json!({ "stations": 200, "memory": 7e6, "windows": windows });
        assert_eq!(
            of_crowd(&crowd),
            "of 200 of them 1000 reports/s arrive and 1 are missed, for which the access point has \
             1.60 % (1.40 to 3.40) of a core, of that 1.20 % by itself and 0.40 % in the kernel; \
             16.00 us a report. It holds 7 MB. Medians of 3 windows of 5 s."
        );
    }

    #[test]
    fn a_way_stands_beside_the_fifo() {
        let rows = [(0, "pfifo", 100.0), (0, "htb", 110.0), (1, "pfifo", 100.0), (1, "htb", 130.0)]
            .map(|(turn, way, ns)| {
                let (packets_s, changes_s) = (1e6 / ns, 0.0);
                json!({ "turn": turn, "way": way, "every_ms": null, "ns": ns,
                    "packets_s": packets_s, "changes_s": changes_s })
            });
        assert_eq!(
            row("htb", None, "HTB", &rows),
            "| HTB | 130 (110 to 130) | +30.0 % | 9091 | 0.0 | - | - |\n"
        );
    }
}
