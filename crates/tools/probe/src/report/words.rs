//! Findings of a probe of a real network, in sentences for a home user.

use crate::sizes::{LARGE, ip_bytes};
use crate::{Buffer, HeldBack, Kind, Latency, Leg, Loaded, Measured, Way};
use fairwave_lab::report::answer::text;
use fairwave_units::BitRate;

/// Maximum one-way delay, from mouth to ear, that ITU-T G.114 recommends for a conversation, in
/// milliseconds.
const RECOMMENDED_MS: f64 = 150.0;
/// Number of datagrams delayed by this host's own socket from which a warning is shown.
const OFTEN: u64 = 100;

/// The findings.
pub(crate) fn words(host: &str, found: &Measured) -> String {
    let mut lines = vec![buffer(host, found)];
    lines.extend(carried(found));
    lines.extend(round_trip("while nothing else is sent", &found.idle));
    lines.extend(round_trip("beside an upload", &found.up));
    lines.extend(round_trip("beside a download", &found.down));
    lines.extend(round_trip("beside both", &found.both));
    lines.extend(lost(&found.there, "there"));
    lines.extend(lost(&found.back, "back"));
    let found = text(&question(host, found), &answer(found));
    lines.join("\n") + "\n\n" + &found
}

/// The question that a probe answers.
fn question(host: &str, found: &Measured) -> String {
    let way = match found.way {
        Way::There => "to",
        Way::Back => "from",
    };
    format!("How long does a call wait beside {} {way} {host}?", loaded(found).0)
}

/// The answer to the question, in one or two sentences: the wait of a call, and the remedy.
pub(crate) fn answer(found: &Measured) -> Vec<String> {
    let Some(ms) = call_wait_ms(found) else {
        let rate = found.rate.map_or(0.0, BitRate::as_mbps_f64);
        let unknown = match found.kind {
            Some(Kind::NoneFound) => format!(
                "It waits nowhere at {rate:.0} Mbps, as no buffer fills; whether one fills at a \
                 higher rate is not known."
            ),
            _ => "That is not known: too few packets came back.".to_owned(),
        };
        return vec![unknown];
    };
    let wait = match ms {
        ms if ms < 1.0 => "less than 1 ms".to_owned(),
        ms if ms < 1e3 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1e3),
    };
    let (load, _) = loaded(found);
    let verdict = if ms < RECOMMENDED_MS { "less" } else { "more" };
    let wait = format!(
        "A video call beside {load} waits {wait}, {verdict} than the {RECOMMENDED_MS:.0} ms that \
         ITU-T G.114 recommends for a whole path."
    );
    let remedy = "A smaller buffer, or a queue for each flow (FQ-CoDel, CAKE), shortens the wait.";
    let remedy = (ms >= RECOMMENDED_MS).then(|| remedy.to_owned());
    [Some(wait), remedy].into_iter().flatten().collect()
}

/// The load in the measured direction, and round trips beside it.
fn loaded(found: &Measured) -> (&'static str, &Latency) {
    match found.way {
        Way::There => ("an upload", &found.up),
        Way::Back => ("a download", &found.down),
    }
}

/// Round-trip times under a load, and the pings that were lost; `None` if there were no pings.
fn round_trip(load: &str, latency: &Latency) -> Option<String> {
    let Latency { ms, sent, lost } = latency;
    let lost = match lost {
        0 => String::new(),
        lost => format!("; {lost} of {sent} pings lost"),
    };
    match ms {
        Some(ms) => Some(format!(
            "Round trip {load}: {:.1} ms (95 of 100 within {:.1} ms{lost}).",
            ms.p50, ms.p95
        )),
        None if *sent > 0 => {
            Some(format!("Round trip {load}: unknown, as all of {sent} pings were lost."))
        }
        None => None,
    }
}

fn carried(found: &Measured) -> Option<String> {
    let carries = |leg: &Leg, way: &str| Some(format!("{:.1} Mbps {way}", leg.carried_mbps?));
    let ways = [carries(&found.there, "there"), carries(&found.back, "back")];
    let ways: Vec<String> = ways.into_iter().flatten().collect();
    let carried = format!("The narrowest link on the way carries {}.", ways.join(" and "));
    (!ways.is_empty()).then_some(carried)
}

fn lost(leg: &Leg, way: &str) -> Option<String> {
    let loss = leg.loss().filter(|loss| *loss > 0.0)?;
    Some(format!(
        "{:.1} % of the packets that are sent singly are lost on the way {way}.",
        100.0 * loss
    ))
}

fn buffer(host: &str, found: &Measured) -> String {
    let rate = found.rate.map_or(0.0, BitRate::as_mbps_f64);
    let way = match found.way {
        Way::There => "to",
        Way::Back => "from",
    };
    let gap = found.before_gap.map_or_else(String::new, |count| {
        format!(" The first gap in a train came after {:.0} packets.", count.value)
    });
    let Some(Buffer { packets, bytes, .. }) = found.buffer else {
        let reason = match found.kind {
            Some(Kind::Aqm) => format!(
                "The buffer on the way {way} {host} drops packets before it is full: it manages \
                 its queue (AQM), so it has no size to find."
            ),
            Some(_) => format!(
                "No buffer on the way {way} {host} filled at {rate:.0} Mbps. Try more with --rate."
            ),
            None => format!("It is not known whether there is a buffer on the way {way} {host}."),
        };
        return reason + &gap;
    };
    let counted = match found.kind {
        Some(Kind::Packets) => ". Its limit counts packets",
        Some(Kind::Bytes) => ". Its limit counts bytes",
        Some(Kind::PerStation) => ". Packets of other stations have queues of their own",
        Some(Kind::Aqm | Kind::NoneFound) | None => {
            ". Whether its limit counts packets or bytes is not clear"
        }
    };
    format!(
        "The buffer on the way {way} {host} holds {:.0} packets ({:.0} to {:.0}), {:.0} \
         kB{counted}.{gap}",
        packets.value,
        packets.low,
        packets.high,
        bytes.value / 1e3
    )
}

/// Wait of a call beside a load. If greetings were sent during a load, their wait is used: with a
/// queue for each station or flow, a call does not wait behind the train that filled another queue.
fn call_wait_ms(found: &Measured) -> Option<f64> {
    let (_, beside) = loaded(found);
    let waited =
        beside.ms.zip(found.idle.ms).map(|(beside, idle)| (beside.p50 - idle.p50).max(0.0));
    match found.kind {
        // Without a full buffer there is no wait to report. Per-station queues and AQM keep a
        // call's packets from waiting behind the train, so only the greetings' own wait counts.
        Some(Kind::NoneFound) => None,
        Some(Kind::PerStation | Kind::Aqm) => waited,
        _ => waited.or(found.buffer.map(|buffer| buffer.ms.value)),
    }
}

/// Warnings about the figures.
pub(crate) fn warnings(found: &Measured) -> Vec<String> {
    let mut warnings = Vec::new();
    if found.blocked > OFTEN {
        warnings.push(format!(
            "{} packets waited in this host's own socket: its own link may be the narrowest, and \
             then no buffer beyond it fills",
            found.blocked
        ));
    }
    warnings.extend(found.held_back.iter().map(held_back));
    // A sender that was held back leaves gaps of its own.
    if found.is_beside && found.buffer.is_some() && found.held_back.is_empty() {
        warnings.push(
            "the buffer was drained unevenly: others may have sent through it, and then it holds \
             more packets than were counted, by theirs; measure again while nothing else is sent"
                .to_owned(),
        );
    }
    if found.burst > 1.0 && found.buffer.is_some() {
        warnings.push(format!(
            "packets arrive in bursts of about {:.0}, as behind a radio that aggregates: whether \
             the buffer's limit counts the burst on the air is unknown, and the interval covers it",
            found.burst
        ));
    }
    if found.is_shortened {
        warnings.push(format!(
            "packets of {} bytes were used, as the path carries none of {} (its MTU is lower)",
            found.packet_bytes,
            ip_bytes(LARGE, found.server)
        ));
    }
    for (load, latency) in [("an upload", &found.up), ("a download", &found.down)] {
        if latency.sent > 0 && latency.ms.is_none() {
            warnings.push(format!(
                "none of {} pings beside {load} was answered: the full buffer dropped them",
                latency.sent
            ));
        }
    }
    warnings
}

fn held_back(held: &HeldBack) -> String {
    let HeldBack { loaded, way, sent_mbps, requested_mbps } = held;
    let beside = match loaded {
        Loaded::Up => "an upload",
        Loaded::Down => "a download",
        Loaded::Both => "both",
    };
    let who = match way {
        Way::There => "this host",
        Way::Back => "the server",
    };
    format!(
        "beside {beside} {who} sent {sent_mbps:.1} Mbps of the {requested_mbps:.1} that were to \
         fill the buffer: it was busy, or its own link is the narrowest, and round trips behind a \
         full buffer may take longer"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, Percentiles};

    fn found(kind: Kind, beside_ms: Option<f64>) -> Measured {
        let exact = |value| Interval { value, low: value, high: value };
        let buffer = Buffer { packets: exact(100.0), bytes: exact(142_800.0), ms: exact(115.0) };
        let latency = |ms: Option<f64>| Latency {
            ms: ms.map(|ms| Percentiles { p50: ms, p95: ms }),
            ..Latency::default()
        };
        Measured {
            kind: Some(kind),
            buffer: (kind != Kind::Aqm).then_some(buffer),
            idle: latency(Some(2.0)),
            up: latency(beside_ms),
            ..Measured::new(Way::There, "192.0.2.1:1".parse().unwrap())
        }
    }

    #[test]
    fn a_load_that_was_held_back_is_named_with_who_sent_it() {
        let held = |loaded, way| HeldBack { loaded, way, sent_mbps: 17.25, requested_mbps: 40.0 };
        let held_back = vec![held(Loaded::Up, Way::There), held(Loaded::Both, Way::Back)];
        let reported = warnings(&Measured { held_back, ..found(Kind::Packets, None) });
        let says = |line: &str, who: &str| line.starts_with(who) && line.contains(" of the 40.0 ");
        assert!(says(&reported[0], "beside an upload this host sent 17.2 Mbps"), "{reported:?}");
        assert!(says(&reported[1], "beside both the server sent 17.2 Mbps"), "{reported:?}");
        assert!(warnings(&found(Kind::Packets, None)).is_empty());
    }

    #[test]
    fn lost_pings_are_counted_and_named_where_none_came_back() {
        let latency = |lost, p50: Option<f64>| Latency {
            ms: p50.map(|p50| Percentiles { p50, p95: p50 }),
            sent: 50,
            lost,
        };
        let found = Measured {
            up: latency(50, None),
            down: latency(3, Some(80.0)),
            ..found(Kind::Packets, None)
        };
        let words = words("ap", &found);
        assert!(words.contains("beside an upload: unknown, as all of 50 pings"), "{words}");
        assert!(words.contains("within 80.0 ms; 3 of 50 pings lost)"), "{words}");
        let [warning] = &warnings(&found)[..] else { panic!("one warning: {words}") };
        assert!(warning.contains("none of 50 pings beside an upload"), "{warning}");
    }

    #[test]
    fn the_papers_count_stands_beside_the_buffer() {
        let count = Interval { value: 153.4, low: 150.0, high: 156.0 };
        let found = Measured { before_gap: Some(count), ..found(Kind::Packets, None) };
        let words = words("ap", &found);
        let expected = "counts packets. The first gap in a train came after 153 packets.";
        assert!(words.contains(expected), "{words}");
        let managed = Measured { kind: Some(Kind::Aqm), buffer: None, ..found };
        assert!(super::words("ap", &managed).contains("to find. The first gap"), "{managed:?}");
    }

    /// A call is a flow of its own, so its own wait counts, not that of the train.
    #[test]
    fn a_call_waits_as_long_as_greetings_beside_the_load() {
        let cases = [
            (Kind::Packets, Some(112.0), "waits 110 ms, less than the 150 ms"),
            (Kind::Packets, Some(1_202.0), "waits 1.2 s, more than the 150 ms"),
            (Kind::Packets, None, "waits 115 ms, less"),
            (Kind::PerStation, Some(2.1), "waits less than 1 ms, less"),
            (Kind::PerStation, None, "That is not known"),
            (Kind::Aqm, Some(8.0), "waits 6 ms, less"),
            (Kind::NoneFound, Some(2.0), "as no buffer fills"),
        ];
        for (kind, beside_ms, expected) in cases {
            let found = found(kind, beside_ms);
            let (words, answer) = (words("ap", &found), answer(&found).join(" "));
            assert!(answer.contains(expected), "{kind:?}: {answer}");
            let end = format!("How long does a call wait beside an upload to ap?\n{answer}\n\n");
            assert!(words.ends_with(&end), "{words}");
            let is_long = beside_ms.is_some_and(|ms| ms > 200.0);
            assert_eq!(answer.contains("FQ-CoDel"), is_long, "{answer}");
        }
        let managed = words("ap", &found(Kind::Aqm, Some(8.0)));
        assert!(managed.contains("no size to find"), "{managed}");
    }
}
