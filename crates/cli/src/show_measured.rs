//! What a probe of a real network found, in sentences for a person at home, and as a page.

use fairwave_lab::page::{CSS, responsive};
use fairwave_lab::plot::{Content, Curve, Figure, Interval as Point, Mark};
use fairwave_sockets::probe::{Buffer, Kind, Latency, Leg, Measured, Way};
use fairwave_units::BitRate;
use maud::{DOCTYPE, PreEscaped, html};

/// Waits that people notice in a conversation (ITU-T G.114), in milliseconds.
const NOTICED_MS: f64 = 150.0;
/// Datagrams that waited in this host's own socket before that says something.
const OFTEN: u64 = 100;

/// What the plot shows.
const CAPTION: &str = "Each dot is a packet of the last trials: how much longer it took than the \
    fastest one. A buffer that fills is a slope with a flat top; its height is the wait behind a \
    full buffer.";

/// The answer.
pub(crate) fn words(host: &str, found: &Measured) -> String {
    let mut lines = vec![buffer(host, found)];
    lines.extend(found.buffer.map(|buffer| consequence(&buffer, found.way)));
    lines.extend(carried(found));
    let latency = |what: &str, latency: &Latency| {
        let ms = latency.ms?;
        Some(format!("Round trip {what}: {:.1} ms (95 of 100 within {:.1} ms).", ms.p50, ms.p95))
    };
    lines.extend(latency("while nothing else is sent", &found.idle));
    lines.extend(latency("beside an upload", &found.up));
    lines.extend(latency("beside a download", &found.down));
    lines.extend(latency("beside both", &found.both));
    lines.extend(lost(&found.there, "there"));
    lines.extend(lost(&found.back, "back"));
    lines.join("\n") + "\n"
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
    Some(format!("{:.1} % of packets apart are lost on the way {way}.", 100.0 * loss))
}

fn buffer(host: &str, found: &Measured) -> String {
    let rate = found.rate.map_or(0.0, BitRate::as_mbps_f64);
    let way = match found.way {
        Way::There => "to",
        Way::Back => "from",
    };
    let Some(Buffer { packets, bytes, .. }) = found.buffer else {
        return match found.kind {
            Some(Kind::Aqm) => format!(
                "The buffer on the way {way} {host} drops packets before it is full: it manages \
                 its queue (AQM), so it has no size to find."
            ),
            Some(_) => format!(
                "No buffer on the way {way} {host} filled at {rate:.0} Mbps. Try more with --rate."
            ),
            None => format!("It is not known whether there is a buffer on the way {way} {host}."),
        };
    };
    let counted = match found.kind {
        Some(Kind::Packets) => ". Its limit counts packets",
        Some(Kind::Bytes) => ". Its limit counts bytes",
        Some(Kind::PerStation) => ". What belongs to others has a queue of its own",
        Some(Kind::Aqm) => ". It drops some packets before it is full (AQM)",
        Some(Kind::NoneFound) | None => ". Whether its limit counts packets or bytes is not clear",
    };
    format!(
        "The buffer on the way {way} {host} holds {:.0} packets ({:.0} to {:.0}), {:.0} \
         kB{counted}.",
        packets.value,
        packets.low,
        packets.high,
        bytes.value / 1e3
    )
}

fn consequence(buffer: &Buffer, way: Way) -> String {
    let ms = buffer.ms.value;
    let wait = if ms < 1e3 { format!("{ms:.0} ms") } else { format!("{:.1} s", ms / 1e3) };
    let verdict = if ms < NOTICED_MS { "nobody notices" } else { "people notice" };
    let load = if way == Way::There { "an upload" } else { "a download" };
    format!("A video call beside {load} waits {wait} there, which {verdict}.")
}

/// What to know about the figures.
pub(crate) fn warnings(found: &Measured) -> Vec<String> {
    let mut warnings = Vec::new();
    if found.blocked > OFTEN {
        warnings.push(format!(
            "{} packets waited in this host's own socket: its own link may be the narrowest, and \
             then no buffer beyond it fills",
            found.blocked
        ));
    }
    warnings
}

/// A self-contained page.
pub(crate) fn page(host: &str, found: &Measured, error: Option<&str>) -> Result<String, String> {
    let drawn = figure(found).to_svg().map_err(|error| error.to_string())?;
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Probe of " (host) }
                style { (PreEscaped(CSS)) }
            }
            body {
                h1 { "Probe of " (host) }
                @if let Some(error) = error { p.quick { (error) } }
                @for line in words(host, found).lines() { p { (line) } }
                @for line in warnings(found) { p.quick { (line) } }
                figure {
                    div.plot { (PreEscaped(responsive(&drawn))) }
                    figcaption {
                        (CAPTION)
                    }
                }
                h2 { "What this rests on" }
                @for line in &found.evidence { p { (line) } }
            }
        }
    };
    Ok(markup.into_string())
}

fn figure(found: &Measured) -> Figure {
    let newest = found.delays.iter().rev().take(2);
    let curve = |delays: &fairwave_sockets::probe::Delays| Curve {
        label: format!("packets of {} bytes", delays.payload_bytes),
        points: delays
            .sent_s
            .iter()
            .zip(&delays.waits_ms)
            .filter_map(|(sent_s, wait)| Some((*sent_s, Point::exact((*wait)?.max(0.0)))))
            .collect(),
        mark: Mark::Dots,
    };
    Figure {
        title: "Waits in the buffer".to_owned(),
        x_label: "time since the first packet of the trial (s)".to_owned(),
        y_label: "wait (ms)".to_owned(),
        y_range: None,
        content: Content::Curves(newest.map(curve).collect()),
    }
}
