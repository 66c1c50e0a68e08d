//! The judgement of `fairwave shake diagnose`: which cause holds the sum of the paths back.

use crate::report::{DiagnosisOutput, FindingOutput, RunOutput, RunPath};

/// Part of the sum of the paths' rates alone that counts as reached.
const REACHED: f64 = 0.9;
/// Time with a CPU or in wait of one, over wall time, from which on the loop's thread is the limit.
const BUSY: f64 = 0.9;
/// Loss that halves the window of a path often enough to matter.
const LOSSY: f64 = 0.01;
/// A queue is too long when the round-trip time under load exceeds the minimum by this factor and
/// this time.
const BLOATED: f64 = 4.0;
const BLOATED_MS: f64 = 100.0;
/// Round-trip times differ too much from this ratio on.
const SPREAD: f64 = 4.0;
/// Part of the widest path's rate alone that all together reach where they share a bottleneck.
const SHARED: f64 = 1.2;

/// Judges runs of each path alone, in their order, and of all together.
pub(crate) fn judge(server: String, alone: Vec<RunOutput>, together: RunOutput) -> DiagnosisOutput {
    let sum_mbps: f64 = alone.iter().map(|run| run.mbps).sum();
    let reached = if sum_mbps > 0.0 { together.mbps / sum_mbps } else { 0.0 };
    let mut findings: Vec<_> = alone.iter().filter_map(down).collect();
    let is_short = alone.len() > 1 && reached < REACHED;
    findings.extend(cpu(&together));
    findings.extend(together.paths.iter().filter_map(loss));
    if is_short {
        findings.extend(spread(&together));
    }
    findings.extend(alone.iter().filter_map(bloat));
    if is_short {
        findings.extend(shared(&alone, &together));
    }
    let limit = match findings.first() {
        Some(finding) if is_short || finding.cause == "down" || finding.cause == "cpu" => {
            finding.cause.clone()
        }
        _ if is_short => "unknown".to_owned(),
        _ => "none".to_owned(),
    };
    DiagnosisOutput { server, sum_mbps, reached, limit, alone, together, findings }
}

fn finding(cause: &str, via: Option<&str>, text: String, remedy: &str) -> FindingOutput {
    let via = via.map(str::to_owned);
    FindingOutput { cause: cause.to_owned(), via, text, remedy: remedy.to_owned() }
}

fn down(run: &RunOutput) -> Option<FindingOutput> {
    let via = run.paths.first().map(|path| path.via.clone())?;
    let text = format!("{via} gets no answer from the server.");
    let remedy = "Check that it has an address and a route to the server, and that its network \
                  passes UDP.";
    (!run.has_answered).then(|| finding("down", Some(&via), text, remedy))
}

fn cpu(run: &RunOutput) -> Option<FindingOutput> {
    let percent = run.cpu * 100.0;
    let text = format!(
        "The CPU of this host: the loop ran, or waited for it, for {percent:.0} % of the time."
    );
    let remedy = "End other programs, or use a faster machine: the loop uses one core.";
    (run.cpu >= BUSY).then(|| finding("cpu", None, text, remedy))
}

fn loss(path: &RunPath) -> Option<FindingOutput> {
    let loss = path.loss.filter(|loss| *loss >= LOSSY)?;
    let via = &path.via;
    let text = format!("Loss: {:.1} % of the datagrams over {via} do not arrive.", loss * 100.0);
    let remedy = "Improve its signal, or look for a policer; for calls, --mode redundant \
                  hides losses.";
    Some(finding("loss", Some(via), text, remedy))
}

fn bloat(run: &RunOutput) -> Option<FindingOutput> {
    let path = run.paths.first()?;
    let (min, loaded) = (path.min_rtt_ms?, path.loaded_rtt_ms?);
    let via = &path.via;
    let text = format!(
        "The buffer of {via}: round-trip times are {min:.0} ms idle and {loaded:.0} ms under load."
    );
    let remedy = "Have the router of this link use fq_codel or cake (SQM) a little below its rate.";
    let is_bloated = loaded > min * BLOATED && loaded > min + BLOATED_MS;
    is_bloated.then(|| finding("buffer", Some(via), text, remedy))
}

/// Round-trip times so different that data of the fast path wait for those of the slow one.
fn spread(run: &RunOutput) -> Option<FindingOutput> {
    let known = |path: &&RunPath| path.loaded_rtt_ms.is_some();
    let time = |path: &&RunPath| path.loaded_rtt_ms.unwrap_or_default();
    let fast = run.paths.iter().filter(known).min_by(|a, b| time(a).total_cmp(&time(b)))?;
    let slow = run.paths.iter().filter(known).max_by(|a, b| time(a).total_cmp(&time(b)))?;
    let text = format!(
        "Round-trip times differ: {:.0} ms over {}, {:.0} ms over {}; early data wait for \
         late ones, as far as the receive buffer reaches.",
        time(&fast),
        fast.via,
        time(&slow),
        slow.via
    );
    let remedy = "Shorten the queue of the slow link (SQM), or leave it out.";
    let is_large = time(&slow) > time(&fast) * SPREAD && time(&slow) > time(&fast) + BLOATED_MS;
    is_large.then(|| finding("rtt_spread", Some(&slow.via), text, remedy))
}

/// All together are hardly faster than the widest: something behind them carries no more.
fn shared(alone: &[RunOutput], together: &RunOutput) -> Option<FindingOutput> {
    let widest = alone.iter().map(|run| run.mbps).fold(0.0, f64::max);
    let text = format!(
        "A link that the paths share: all carry {:.3} Mbps, the widest alone {widest:.3}.",
        together.mbps
    );
    let remedy = "Use links of different networks, and a server whose own link exceeds \
                  their sum.";
    let several = alone.iter().filter(|run| run.has_answered).count() > 1;
    (several && together.mbps < widest * SHARED).then(|| finding("link", None, text, remedy))
}

/// A diagnosis in words.
pub(crate) fn words(output: &DiagnosisOutput) -> String {
    let mut text = String::new();
    let heads = ["path", "Mbps", "RTT idle, ms", "loaded, ms", "loss", "CPU"];
    let mut table = fairwave_text::Table::new("Measured", &heads);
    let number = |value: Option<f64>, places: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.places$}"))
    };
    let runs = output.alone.iter().map(|run| (run, true));
    for (run, is_alone) in runs.chain([(&output.together, false)]) {
        let path = run.paths.first().filter(|_| is_alone);
        let percent = |value: Option<f64>| match number(value.map(|value| value * 100.0), 1) {
            text if text == "-" => text,
            text => text + " %",
        };
        table.row(vec![
            path.map_or_else(|| "all".to_owned(), |path| path.via.clone()),
            format!("{:.3}", run.mbps),
            number(path.and_then(|path| path.min_rtt_ms), 1),
            number(path.and_then(|path| path.loaded_rtt_ms), 1),
            percent(path.and_then(|path| path.loss)),
            format!("{:.0} %", run.cpu * 100.0),
        ]);
    }
    text.push_str(&table.render());
    let percent = output.reached * 100.0;
    let verdict = match output.limit.as_str() {
        "none" => "Nothing holds the sum back.",
        "unknown" => "None of the known causes was seen; the server's CPU may be one.",
        _ => "Held back by:",
    };
    text.push_str(&format!(
        "\nTogether {:.3} of {:.3} Mbps ({percent:.0} %). {verdict}\n",
        output.together.mbps, output.sum_mbps
    ));
    for found in &output.findings {
        text.push_str(&format!("- {} {}\n", found.text, found.remedy));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    fn path(via: &str, min: f64, loaded: f64, loss: f64) -> RunPath {
        let (min_rtt_ms, loaded_rtt_ms, loss) = (Some(min), Some(loaded), Some(loss));
        RunPath { via: via.to_owned(), mbps: 0.0, min_rtt_ms, loaded_rtt_ms, loss }
    }

    fn run(mbps: f64, cpu: f64, paths: &[RunPath]) -> RunOutput {
        RunOutput { has_answered: true, seconds: 4.0, mbps, cpu, paths: paths.to_vec() }
    }

    /// Two links of 20 and 10 Mbps, alone and together.
    fn judged(one: &RunPath, other: &RunPath, together: f64, cpu: f64) -> DiagnosisOutput {
        let alone = [run(20.0, 0.2, slice::from_ref(one)), run(10.0, 0.1, slice::from_ref(other))];
        let both = run(together, cpu, &[one.clone(), other.clone()]);
        judge("server".to_owned(), alone.to_vec(), both)
    }

    #[test]
    fn each_cause_is_found_and_named() {
        let sound = [path("wlan0", 20.0, 30.0, 0.0), path("usb0", 40.0, 60.0, 0.001)];
        let [one, other] = &sound;
        let limit = |found: DiagnosisOutput| found.limit;
        assert_eq!(limit(judged(one, other, 28.0, 0.3)), "none");
        assert_eq!(limit(judged(one, other, 20.0, 0.95)), "cpu");
        assert_eq!(limit(judged(one, other, 21.0, 0.3)), "link");
        assert_eq!(limit(judged(one, other, 25.0, 0.3)), "unknown");
        let lossy = path("usb0", 40.0, 60.0, 0.03);
        let found = judged(one, &lossy, 22.0, 0.3);
        assert_eq!(
            (found.limit.as_str(), found.findings[0].via.as_deref()),
            ("loss", Some("usb0"))
        );
        let slow = path("usb0", 300.0, 500.0, 0.0);
        assert_eq!(limit(judged(one, &slow, 24.5, 0.3)), "rtt_spread");
        let deep = path("wlan0", 20.0, 200.0, 0.0);
        let found = judged(&deep, &path("usb0", 40.0, 160.0, 0.0), 25.0, 0.3);
        assert_eq!((found.limit.as_str(), found.findings.len()), ("buffer", 1));
    }

    #[test]
    fn a_queue_is_named_also_where_the_sum_is_reached() {
        let deep = path("wlan0", 20.0, 900.0, 0.0);
        let found = judged(&deep, &path("usb0", 40.0, 60.0, 0.0), 29.0, 0.3);
        assert_eq!((found.limit.as_str(), found.findings[0].cause.as_str()), ("none", "buffer"));
        let text = words(&found);
        assert!(text.contains("Nothing holds the sum back") && text.contains("900 ms"), "{text}");
    }

    #[test]
    fn a_path_without_an_answer_is_the_first_cause() {
        let sound = path("wlan0", 20.0, 30.0, 0.0);
        let silent = RunPath { via: "usb0".to_owned(), ..RunPath::default() };
        let none = RunOutput { paths: vec![silent], ..RunOutput::default() };
        let alone = vec![run(20.0, 0.2, slice::from_ref(&sound)), none];
        let found = judge("server".to_owned(), alone, run(19.0, 0.2, &[sound]));
        assert_eq!((found.limit.as_str(), found.findings.len()), ("down", 1));
        assert!(words(&found).contains("usb0 gets no answer"));
    }
}
