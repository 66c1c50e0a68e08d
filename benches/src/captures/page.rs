//! The page with the accuracy of `fairwave trace`.

use super::case::Case;
use std::collections::BTreeSet;

/// Verdicts in the order in which they are tried.
const VERDICTS: [&str; 5] = ["starvation", "receive_window", "application", "loss", "path"];

/// Text before the tables.
const HEAD: &str = "# How `fairwave trace` judges captures of real programs

Made by `cargo xtask captures`: iperf3, curl, ssh, scp and ffmpeg over a path of 20 ms between three
network namespaces, captured by tcpdump at both ends, with offloads on (TSO, GSO, GRO) and off. The
path, a program between two TUN devices, drops, delays and reorders packets and counts what it
dropped; `tbf` limits the rate. What limits each transfer is known beforehand. `path` is a rate with
a queue of some 60 ms, `loss` 2 to 4 of a hundred packets lost at random without a queue,
`application` a program that sends less than the path carries, `receive_window` a receive buffer
that is too small, `starvation` an outage of 2.5 s, and `send_buffer` a send buffer that is too
small.

";

/// The whole page.
pub(super) fn page(cases: &[Case]) -> String {
    let parts = [confusion(cases), counts(cases), between(cases), udp(cases), each(cases)];
    HEAD.to_owned() + &parts.join("\n")
}

fn judged(cases: &[Case]) -> impl Iterator<Item = (&Case, &str)> + Clone {
    cases.iter().filter_map(|case| Some((case, case.limit.as_deref()?)))
}

/// Table of the actual limits against the verdicts, at the sender and at the receiver.
fn confusion(cases: &[Case]) -> String {
    let limits: BTreeSet<&str> = judged(cases).map(|(_, limit)| limit).collect();
    let mut text = format!(
        "## Limits of connections\n\nConnections by their known limit (rows) and the verdict \
         (columns), from the sender's capture + from the receiver's.\n\n| limit | {} |\n|---|{}\n",
        VERDICTS.join(" | "),
        "---|".repeat(VERDICTS.len())
    );
    for limit in limits {
        let cell = |verdict: &str| {
            let of = judged(cases).filter(|(_, truth)| *truth == limit);
            let count =
                |end: usize| of.clone().filter(|(case, _)| case.reported(end) == verdict).count();
            match [count(0), count(1)] {
                [0, 0] => "-".to_owned(),
                [sender, receiver] => format!("{sender} + {receiver}"),
            }
        };
        text.push_str(&format!("| `{limit}` | {} |\n", VERDICTS.map(cell).join(" | ")));
    }
    let (mut right, mut agree, mut all) = (0, 0, 0);
    for (case, limit) in judged(cases) {
        all += 2;
        right += [0, 1].map(|end| usize::from(case.reported(end) == limit)).iter().sum::<usize>();
        agree += usize::from(case.reported(0) == case.reported(1));
    }
    text.push_str(&format!(
        "\n{right} of {all} captures were judged rightly; both ends of a connection were judged \
         alike in {agree} of {} pairs. There is no verdict `send_buffer`: between a program that \
         writes too little and a buffer that takes too little a capture shows no difference.\n",
        all / 2
    ));
    text
}

/// Lost ACKs, from the sender's capture.
fn counts(cases: &[Case]) -> String {
    let mut text = "## Lost ACKs\n\nACKs that the path dropped, and the losses found in the \
                    sender's capture. Dropped ones of a closed socket, which have no IP \
                    identification, do not show.\n\n| capture | dropped | found | by |\n\
                    |---|---|---|---|\n"
        .to_owned();
    let (mut without, mut wrong, mut undecided) = (0, 0, 0);
    for (case, _) in judged(cases) {
        let (way, dropped) = (case.way(0), case.acks_dropped());
        let inferred = way["acks_lost_inferred"].as_u64();
        if dropped > 3 {
            let by = way["acks_lost_by"].as_str().unwrap_or("-");
            let inferred = inferred.map_or("-".to_owned(), |inferred| inferred.to_string());
            text.push_str(&format!("| {} | {dropped} | {inferred} | {by} |\n", case.name));
            continue;
        }
        without += 1;
        wrong += usize::from(inferred.is_some_and(|inferred| inferred > dropped));
        undecided += usize::from(inferred.is_none());
    }
    text.push_str(&format!(
        "\nOf the {without} others, stretch ACKs of receivers with GRO among them, {wrong} have \
         more losses found than the path dropped, and {undecided} are undecided.\n"
    ));
    text
}

/// Losses found by the comparison of both captures.
fn between(cases: &[Case]) -> String {
    let exact = cases.iter().filter(|case| case.lost_between() == case.dropped()).count();
    let sum = |part: fn(&Case) -> [u64; 2]| {
        cases.iter().map(|case| part(case).iter().sum::<u64>()).sum::<u64>()
    };
    let (dropped, printed) = (sum(Case::dropped), sum(Case::lost_between));
    let mut text = format!(
        "## Losses between two captures\n\n`fairwave trace SENDER RECEIVER --same-clock` counts \
         exactly what the path and its queues dropped, there and back, in {exact} of {} pairs \
         ({dropped} packets dropped, {printed} found).\n",
        cases.len()
    );
    for case in cases.iter().filter(|case| case.lost_between() != case.dropped()) {
        let (printed, dropped) = (case.lost_between(), case.dropped());
        text.push_str(&format!("- {}: {dropped:?} dropped, {printed:?} found\n", case.name));
    }
    text
}

/// Losses of numbered datagrams, from the receiver's capture.
fn udp(cases: &[Case]) -> String {
    let mut text = "## Numbered datagrams\n\nDatagrams that the path dropped, the losses and the \
                    last jitter in ms that iperf itself reports, and the losses and jitter in the \
                    receiver's capture.\n\n\
                    | capture | numbers | dropped | by iperf | lost | reordered | jitter by \
                    iperf | jitter |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for case in cases.iter().filter(|case| case.limit.is_none()) {
        let numbers = &case.way(1)["numbers"];
        let cell = |key: &str| numbers[key].as_u64().map_or("-".to_owned(), |n| n.to_string());
        let told = &case.truth["told"];
        let own = told["lost_packets"].as_u64().map_or("-".to_owned(), |lost| lost.to_string());
        let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.3}"));
        let own_jitter = ms(told["jitter_ms"].as_f64());
        let jitter = ms(numbers["jitter"]["last_ns"].as_f64().map(|ns| ns / 1e6));
        let [dropped, _] = case.dropped();
        let place = numbers["numbering"].as_str().unwrap_or("-");
        let (lost, late) = (cell("lost"), cell("reordered"));
        let name = &case.name;
        text.push_str(&format!(
            "| {name} | {place} | {dropped} | {own} | {lost} | {late} | {own_jitter} | {jitter} |\n"
        ));
    }
    text
}

/// Every connection.
fn each(cases: &[Case]) -> String {
    let mut text = "## Each connection\n\nWrong verdicts are bold. Joined: packets that stand \
                    for several segments, at the sender + at the receiver. Resent: retransmitted \
                    segments, of so many, at the sender.\n\n\
                    | capture | limit | at the sender | at the receiver | joined | resent |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    for (case, limit) in judged(cases) {
        let verdict = |end: usize| match case.reported(end) {
            reported if reported == limit => reported.to_owned(),
            reported => format!("**{reported}**"),
        };
        let count = |end: usize, key: &str| case.way(end)[key].as_u64().unwrap_or(0);
        let joined = [0, 1].map(|end| count(end, "offloaded_packets").to_string()).join(" + ");
        let resent = format!("{} of {}", count(0, "retransmitted_segments"), count(0, "segments"));
        let [sender, receiver] = [verdict(0), verdict(1)];
        let name = &case.name;
        text.push_str(&format!(
            "| {name} | {limit} | {sender} | {receiver} | {joined} | {resent} |\n"
        ));
    }
    text
}
