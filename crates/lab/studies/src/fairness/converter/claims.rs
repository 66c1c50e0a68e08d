//! The claim on the converter, and the measurements behind its part on UDP.

use super::passages::Way;
use super::shown::{Load, Point, Shown};
use fairwave_lab::results::QueueSummary;
use fairwave_study::measure::{ratio, show};
use fairwave_study::{Claim, Condition, Criterion, Evidence, Verdict};
use fairwave_units::Duration;

/// The interval of the paper's packet counts is not stated; Wireshark's graphs offer 100 ms.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);
/// Smallest multiple of the capacity that counts as an overload.
const OVERLOADS: f64 = 1.1;

pub(super) fn all(shown: &Shown<'_>) -> Vec<Claim> {
    vec![buf_5(shown), behind(shown)]
}

/// Measure of both directions: the worse of the two.
fn worst(point: &Point<'_>, of: impl Fn(&Way) -> Option<f64>) -> Option<f64> {
    let ways = point.passages.iter().flat_map(|passages| [&passages.data, &passages.acks]);
    let values: Option<Vec<f64>> = ways.map(of).collect();
    values?.into_iter().reduce(f64::max)
}

/// Excess delay behind the converter over that from a station, in milliseconds.
fn added_ms(shown: &Shown<'_>) -> Option<f64> {
    let [wired, radio] = &shown.tcp;
    let delay = |point: &Point<'_>| point.over(|passages| passages.data.delay_ms());
    Some(delay(wired)?.mean - delay(radio)?.mean)
}

fn overloads<'s>(shown: &'s Shown<'_>) -> Vec<&'s Load> {
    let capacity = shown.capacity_mbps().unwrap_or(f64::INFINITY);
    shown.loads.iter().filter(|load| load.offered_mbps >= OVERLOADS * capacity).collect()
}

/// The verdict on a part of the claim.
fn part(conditions: &[Condition]) -> &'static str {
    match Verdict::of(conditions) {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold(_) => "does not hold",
        Verdict::Undecided(_) => "is undecided",
    }
}

fn buf_5(shown: &Shown<'_>) -> Claim {
    let tcp = &shown.tcp[0];
    let mut measured = Evidence::default();
    let lost = measured.number("tcp_lost", worst(tcp, Way::lost));
    let apart = worst(tcp, |way| way.interval_difference(INTERVAL));
    let apart = measured.number("tcp_interval_difference", apart);
    let added = measured.number("tcp_delay_added_ms", added_ms(shown).map(f64::abs));
    let shares = || overloads(shown).into_iter().map(|load| load.share.mean);
    measured.number("udp_least_share", shares().reduce(f64::min));
    measured.number("udp_most_share", shares().reduce(f64::max));
    let share = shown.udp[0].over(|p| p.lost().map(|lost| 1.0 - lost));
    let share = measured.estimate("udp_share", share).mean;
    // A map varies the load of UDP, and runs nothing else.
    let is_udp_alone = tcp.passages.is_empty() && !shown.udp[0].passages.is_empty();
    let on_tcp = match is_udp_alone {
        true => Vec::new(),
        false => vec![lost.below(0.001), apart.below(0.05), added.below(1.0)],
    };
    let on_udp = [share.at_least(0.4), share.below(0.6)];
    let note = format!(
        "By these bounds the part on TCP {} and the part on UDP {}. {} {}",
        part(&on_tcp),
        part(&on_udp),
        in_words_tcp(shown),
        in_words_udp(shown),
    );
    Claim::judge(
        Criterion {
            id: "BUF-5",
            statement: "The converter leaves the timing of TCP alone; of UDP about half arrives",
            meaning: "Behind a converter, of data and ACKs the worse: tcp_lost is the share seen \
                      at one end only, tcp_interval_difference by how much the packets in 100 ms \
                      differ between the ends. tcp_delay_added_ms is the mean delay of data less \
                      that from a station that has the radio itself. udp_share is the share \
                      of the datagrams that arrive of the load that is captured, 54 Mbps where no \
                      map says otherwise; udp_least_share and udp_most_share are those over all \
                      loads at least 1.1 times what the radio carries, up to what Ethernet does. \
                      All bounds are ours",
        },
        measured.tested([on_tcp.as_slice(), &on_udp].concat()),
        note,
    )
}

fn in_words_tcp(shown: &Shown<'_>) -> String {
    let [wired, radio] = &shown.tcp;
    let delay = |point: &Point<'_>| show(point.over(|p| p.data.delay_ms()), 2);
    format!(
        "TCP: data take {} ms from the terminal to the host behind a converter and {} ms from a \
         station; the wire in between is 0.12 ms for a segment, the rest of the queue is the \
         same, at another place.",
        delay(wired),
        delay(radio),
    )
}

fn in_words_udp(shown: &Shown<'_>) -> String {
    let capacity = shown.capacity_mbps().unwrap_or(0.0);
    format!(
        "UDP: the share that arrives is what the radio carries, {capacity:.1} Mbps, over what is \
         offered: half of {:.1} Mbps, and any share from nine tenths down to {} is to be had by \
         the choice of the load, which the paper does not state.",
        2.0 * capacity,
        show(shown.loads.last().map(|load| load.share), 2),
    )
}

/// The largest deviation of a load's share from the one that the capacity leaves of it.
fn worst_error(shown: &Shown<'_>) -> Option<f64> {
    let capacity = shown.capacity_mbps()?;
    let error = |load: &&Load| (load.share.mean * load.offered_mbps / capacity - 1.0).abs();
    overloads(shown).iter().map(error).reduce(f64::max)
}

/// The load of which half arrives, between the two next to it in the sweep.
fn half_mbps(shown: &Shown<'_>) -> Option<f64> {
    let carried = |load: &Load| load.share.mean;
    let pair = shown.loads.windows(2).find(|pair| carried(&pair[1]) < 0.5)?;
    let (above, below) = (carried(&pair[0]), carried(&pair[1]));
    let part = (above - 0.5) / (above - below);
    let step = pair[1].offered_mbps - pair[0].offered_mbps;
    (above >= 0.5).then(|| pair[0].offered_mbps + part * step)
}

/// Share of the packets missing at the server that the converter's full queue dropped.
fn dropped_at_converter(shown: &Shown<'_>) -> Option<f64> {
    let runs = shown.udp[0].runs.iter().map(|run| &run.summary);
    let (mut here, mut all) = (0, 0);
    for queue in runs.flat_map(|summary| &summary.queues) {
        let drops = |q: &QueueSummary| {
            q.drops_queue_full + q.drops_retry_limit + q.drops_link_loss + q.drops_no_route
        };
        all += drops(queue);
        here += if queue.name == "conv" { queue.drops_queue_full } else { 0 };
    }
    (all > 0).then(|| ratio(here, all))
}

fn behind(shown: &Shown<'_>) -> Claim {
    let mut measured = Evidence::default();
    measured.number("capacity_mbps", shown.capacity_mbps());
    let error = measured.number("worst_error", worst_error(shown));
    measured.number("half_mbps", half_mbps(shown));
    let dropped = measured.number("dropped_at_converter", dropped_at_converter(shown));
    let blocking_wired_share =
        measured.estimate("blocking_wired_share", shown.blocking[0].map(|(share, _)| share));
    let lost = shown.blocking[1].map(|(share, _)| (1.0 - share.mean).max(0.0));
    let blocking_radio_lost = measured.number("blocking_radio_lost", lost);
    Claim::judge(
        Criterion {
            id: "BUF-X5",
            statement: "Ours: a converter hides the radio from the sender: of datagrams there \
                        arrives what the radio carries over what Ethernet took, and the rest is \
                        dropped at the converter",
            meaning: "capacity_mbps is what a station sends that waits for its interface. \
                      worst_error is the greatest deviation of share times load from it, over all \
                      overloads; half_mbps the load of which half arrives; dropped_at_converter \
                      the share of all drops at 54 Mbps that the converter's queue made. Sent as \
                      fast as the interface takes them, blocking_wired_share arrive from behind a \
                      converter, and of a station's blocking_radio_lost are lost",
        },
        measured.tested([
            error.below(0.03),
            dropped.at_least(0.999),
            blocking_radio_lost.below(0.01),
            blocking_wired_share.mean.below(0.5),
        ]),
        in_words_udp(shown),
    )
    .ours()
}

pub(super) fn explanations(shown: &Shown<'_>) -> Vec<String> {
    let (Some(capacity), Some(half)) = (shown.capacity_mbps(), half_mbps(shown)) else {
        return Vec::new();
    };
    let at_54 = show(shown.udp[0].over(|p| p.lost().map(|lost| 1.0 - lost)), 3);
    vec![format!(
        "Why UDP loses about half behind a converter and TCP nothing: Ethernet takes 100 Mbps, \
         the radio carries {capacity:.1} Mbps of datagrams, and no word of a full queue goes back \
         over the wire. TCP has 64 KB under way and no more, which the converter's queue holds. \
         Half is lost at {half:.1} Mbps; at 54 Mbps, which a user of an \"802.11g, 54 Mbps\" may \
         well ask Iperf for, {at_54} arrive. The converter changes no timing: it moves the queue \
         from the terminal into a box of its own."
    )]
}
