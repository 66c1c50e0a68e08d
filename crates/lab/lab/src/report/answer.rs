//! Results of a run or a sweep in one or two sentences.

use crate::points::Point;
use crate::results::{FlowSummary, QueueSummary, Summary};
use crate::stats::{Estimate, jain};
use fairwave_text::{mbps, millis};
use fairwave_units::several;

/// Jain's index from which shares count as even: the flows' goodputs differ by a tenth of the mean.
const EVEN: f64 = 0.99;

/// Goodput of the flows of a run, their fairness, delays and drops.
pub fn of_run(summary: &Summary) -> Vec<String> {
    [Some(goodput(summary)), waiting(summary)].into_iter().flatten().collect()
}

fn goodput(summary: &Summary) -> String {
    let totals = &summary.totals;
    let flows = several(summary.flows.len() as u64, "flow");
    let all = mbps(totals.goodput_bps);
    if summary.flows.len() < 2 {
        return format!("{flows} with {all} Mbps.");
    }
    let compared = comparable(&summary.flows);
    let rates: Vec<f64> = compared.iter().map(|flow| flow.goodput_bps as f64).collect();
    let index = jain(&rates).filter(|_| compared.len() > 1);
    let shares = match (index, compared.iter().min_by_key(|flow| flow.goodput_bps)) {
        (Some(jain), Some(last)) if jain < EVEN => {
            let (name, got) = (&last.name, mbps(last.goodput_bps));
            format!(
                "; the shares are uneven (Jain's index {jain:.3}), {name} has least, {got} Mbps"
            )
        }
        (Some(jain), _) => format!("; the shares are even (Jain's index {jain:.3})"),
        (None, _) => String::new(),
    };
    let starved = match totals.starved_flows {
        0 => String::new(),
        starved => format!("; {} below a tenth of the fair share", several(starved as u64, "flow")),
    };
    format!("{flows} with {all} Mbps together{shares}{starved}.")
}

/// Flows whose shares can be compared: those of bulk TCP, or all where there is none. Flows of
/// datagrams, of pages or of a fixed size have a pace of their own.
fn comparable(flows: &[FlowSummary]) -> Vec<&FlowSummary> {
    let takes_all = |flow: &&FlowSummary| {
        flow.datagrams.is_none() && flow.web.is_none() && flow.completed_ns.is_none()
    };
    let greedy: Vec<&FlowSummary> = flows.iter().filter(takes_all).collect();
    if greedy.is_empty() { flows.iter().collect() } else { greedy }
}

/// Round trips of a ping, or the longest delays, of datagrams if there are any; and the queue that
/// dropped most.
fn waiting(summary: &Summary) -> Option<String> {
    let p99 = |flow: &FlowSummary| flow.delay.as_ref().map(|delay| delay.p99_ns);
    let slowest = summary.flows.iter().max_by_key(|flow| (flow.datagrams.is_some(), p99(flow)));
    let delay = slowest.and_then(|flow| {
        Some(format!("99 % of the data of {} arrives within {} ms", flow.name, millis(p99(flow)?)))
    });
    let ping = summary.flows.iter().find_map(|flow| {
        let p99_ms = millis(flow.round_trips.as_ref()?.p99_ns);
        Some(format!("99 % of the round trips of {} take at most {p99_ms} ms", flow.name))
    });
    let delay = ping.or(delay);
    let dropped = |queue: &QueueSummary| {
        queue.drops_queue_full + queue.drops_retry_limit + queue.drops_link_loss + queue.drops_aqm
    };
    let worst = summary.queues.iter().max_by_key(|queue| dropped(queue));
    let drops = worst.filter(|queue| dropped(queue) > 0).map(|queue| {
        let packets = several(dropped(queue), "packet");
        format!("of the queues, {} dropped most, {packets} in the measured span", queue.name)
    });
    let parts: Vec<String> = [delay, drops].into_iter().flatten().collect();
    let text = parts.join("; ");
    let mut letters = text.chars();
    let first = letters.next()?.to_uppercase();
    Some(format!("{first}{}.", letters.as_str()))
}

/// The points of a sweep with the minimum and the maximum goodput, and the one with the most uneven
/// shares.
pub fn of_points(points: &[Point]) -> Vec<String> {
    [extremes(points), uneven(points)].into_iter().flatten().collect()
}

/// The point where Jain's index is least, if the flows' shares are uneven there. Flows of datagrams
/// have a pace of their own, so that the index means nothing beside them.
fn uneven(points: &[Point]) -> Option<String> {
    let mut names = points.iter().flat_map(|point| &point.metrics).map(|(name, _)| name);
    if names.any(|name| name.starts_with("flow.") && name.ends_with(".lost_percent")) {
        return None;
    }
    let least = |point: &Point| point.metric("jain").map(|jain| jain.mean);
    let found = points.iter().filter_map(|point| Some((point, least(point)?)));
    let (point, jain) = found.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let starved = point.metric("starved_flows").map_or(0.0, |flows| flows.mean);
    let starved = match starved {
        0.0 => String::new(),
        flows => format!(", {flows:.1} of them below a tenth of the fair share"),
    };
    (jain < EVEN).then(|| {
        let label = point.label();
        format!("Their shares are most uneven at {label}: Jain's index {jain:.3}{starved}.")
    })
}

fn extremes(points: &[Point]) -> Option<String> {
    let mut found: Vec<(&Point, Estimate)> =
        points.iter().filter_map(|point| Some((point, *point.metric("goodput_mbps")?))).collect();
    found.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let [(low, least), .., (high, most)] = &found[..] else { return None };
    Some(format!(
        "The flows together get from {} Mbps ({}) to {} Mbps ({}).",
        interval(least),
        low.label(),
        interval(most),
        high.label()
    ))
}

fn interval(Estimate { mean, half_width, .. }: &Estimate) -> String {
    let half = half_width.map_or_else(String::new, |half| format!(" ± {half:.2}"));
    format!("{mean:.2}{half}")
}

/// A scenario's question with the answer, for a terminal; nothing without an answer.
pub fn text(question: &str, answer: &[String]) -> String {
    if answer.is_empty() {
        return String::new();
    }
    let question = if question.is_empty() { String::new() } else { format!("{question}\n") };
    format!("{question}{}\n\n", answer.join(" "))
}
