//! Known buffers of each kind.

use super::*;
use crate::Trial;
use crate::testing::{Path, ten, through};
use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::Record;
use proptest::prelude::*;
use std::fmt::Debug;

fn reported<T: Copy + Debug + PartialEq>(finding: &Finding<T>, verdict: Option<T>) {
    assert_eq!(finding.verdict, verdict, "{}", finding.evidence);
}

fn of(path: Path) -> Diagnosis {
    diagnose(&ten(&path, 1_472, 4_000))
}

#[test]
fn a_plain_queue_is_one() {
    for packets in [31, 149, 255] {
        let found = of(Path { packets, ..Path::default() });
        reported(&found.policy, Some(Policy::DropTail));
        reported(&found.radio, Some(Radio::Clean));
        reported(&found.contention, Some(Contention::Alone));
        reported(&found.limit, None);
    }
}

/// Ten packets are gone in less than 5 ms: what a small buffer, or one before a fast radio, drops
/// while it is full is no loss of the radio.
#[test]
fn a_buffer_that_empties_fast_does_not_make_the_radio_lossy() {
    for (packets, air, slots) in
        [(30, 110_000, 2), (10, 250_000, 15), (3, 250_000, 15), (2, 250_000, 15), (1, 250_000, 15)]
    {
        let found = of(Path { packets, air, slots, ..Path::default() });
        assert_ne!(found.radio.verdict, Some(Radio::Lossy), "{packets}: {}", found.radio.evidence);
        assert_ne!(found.policy.verdict, Some(Policy::Aqm), "{packets}: {}", found.policy.evidence);
        let lossy = of(Path { packets, air, slots, loss: 0.05, ..Path::default() });
        reported(&lossy.radio, Some(Radio::Lossy));
    }
}

#[test]
fn sizes_tell_packets_from_bytes() {
    for (packets, bytes, verdict) in
        [(60, u64::MAX, Limit::Packets), (10_000, 64 * 1024, Limit::Bytes)]
    {
        let path = Path { packets, bytes, ..Path::default() };
        let sizes = [ten(&path, 1_472, 1_500), ten(&path, 372, 2_500)].concat();
        reported(&diagnose(&sizes).limit, Some(verdict));
    }
}

#[test]
fn drops_before_the_buffer_is_full_are_an_aqm() {
    let path = Path { packets: 10_000, aqm: Some(5_000_000), ..Path::default() };
    let found = of(path);
    reported(&found.policy, Some(Policy::Aqm));
    reported(&found.radio, Some(Radio::Clean));
}

/// The queue fills only behind the pause, and no train goes on for long then. Seen over a plain
/// FIFO in a guest that had too little of the processor.
#[test]
fn a_sender_that_pauses_does_not_make_a_plain_queue_an_aqm() {
    let path = Path { packets: 60, pause: Some((80, 30_000_000)), ..Path::default() };
    let found = diagnose(&ten(&path, 1_472, 172));
    reported(&found.policy, Some(Policy::DropTail));
    assert!(found.policy.evidence.starts_with("0 of 10 trains filled it"), "{found:?}");
    let managed = Path { packets: 10_000, aqm: Some(5_000_000), ..path };
    let found = diagnose(&ten(&managed, 1_472, 4_000));
    reported(&found.policy, Some(Policy::Aqm));
}

#[test]
fn a_lossy_radio_is_no_aqm() {
    for (packets, policy) in [(149, Some(Policy::DropTail)), (10_000, None)] {
        let found = of(Path { packets, loss: 0.03, ..Path::default() });
        reported(&found.radio, Some(Radio::Lossy));
        reported(&found.policy, policy);
    }
}

#[test]
fn others_in_the_buffer_take_time() {
    let found = of(Path { packets: 149, others: Some(3_000_000), ..Path::default() });
    reported(&found.contention, Some(Contention::Beside));
}

#[test]
fn little_evidence_is_no_verdict() {
    let trial =
        Trial { payload_bytes: 1_472, spaced: 5, interval: Duration::from_millis(5), train: 20 };
    let account = through(&Path::default(), trial, 1_000_000_000, 123_000, 1);
    let found = diagnose(&[account]);
    reported(&found.radio, None);
    reported(&found.policy, None);
    reported(&found.contention, None);
    reported(&diagnose(&[]).limit, None);
    reported(&sharing(&[], &[]), None);
    // Who only watches loses packets to others' trains, and does not blame the radio.
    let loading = ten(&Path { packets: 149, ..Path::default() }, 1_472, 3_000);
    reported(&diagnose(&watching(&loading, 0, true)).radio, None);
}

/// A session that watches while trains load: one packet every 10 ms, whose wait is `held` while
/// the trains' packets wait, unless it is lost.
fn watching(loading: &[Account], held: u64, lost: bool) -> Vec<Account> {
    let waits: Vec<(u64, u64)> =
        loading.iter().filter_map(full_since).map(|(since, until, _)| (since, until)).collect();
    let trial =
        Trial { payload_bytes: 100, spaced: 2_200, interval: Duration::from_millis(10), train: 0 };
    let mut account = Account { trial, sent: Vec::new(), arrived: Vec::new() };
    for number in 0..trial.spaced {
        let at = 1_000_000_000 + u64::from(number) * 10_000_000;
        account.sent.push(Instant::from_nanos(at));
        let full = waits.iter().any(|(since, until)| (*since..*until).contains(&at));
        if !(full && lost) {
            let arrived = Instant::from_nanos(at + 1_000_000 + if full { held } else { 0 });
            account.arrived.push(Record { number, arrived });
        }
    }
    vec![account]
}

#[test]
fn a_watcher_tells_whose_queue_it_is() {
    let loading = ten(&Path { packets: 149, ..Path::default() }, 1_472, 3_000);
    reported(&sharing(&loading, &watching(&loading, 50_000_000, false)), Some(Sharing::Shared));
    reported(&sharing(&loading, &watching(&loading, 0, true)), Some(Sharing::Shared));
    reported(&sharing(&loading, &watching(&loading, 800_000, false)), Some(Sharing::Separate));
    reported(&sharing(&loading, &watching(&loading, 18_000_000, false)), None);
    // A trial of which all was lost tells of its losses, and does not shift those behind it.
    let lost = watching(&loading, 0, true).remove(0);
    let (since, until, _) = full_since(&loading[0]).unwrap();
    let during = |at: &Instant| (since..until).contains(&at.as_nanos());
    let sent: Vec<Instant> = lost.sent.iter().copied().filter(during).collect();
    let gone = Account { sent, arrived: Vec::new(), ..lost.clone() };
    let quiet =
        Account { sent: lost.sent[..5].to_vec(), arrived: lost.arrived[..5].to_vec(), ..lost };
    let finding = sharing(&loading[..1], &[gone, quiet]);
    assert!(finding.evidence.contains("0 of 5 at other times"), "{}", finding.evidence);
    reported(&finding, Some(Sharing::Shared));
}

/// A time between packets: of a train mostly, but it may be any.
fn step(usual: u64) -> impl Strategy<Value = u64> {
    prop_oneof![9 => 0..usual, 1 => any::<u64>()]
}

type Told = (Vec<u64>, Vec<(u32, u64)>, (u32, u32, u64));

fn any_account((steps, records, (spaced, payload_bytes, start)): Told) -> Account {
    let after = |now: &mut u64, step: u64| {
        *now = now.saturating_add(step);
        Some(Instant::from_nanos(*now))
    };
    let sent: Vec<Instant> = steps.into_iter().scan(start, after).collect();
    let mut seen = std::collections::BTreeSet::new();
    let (numbers, steps): (Vec<u32>, Vec<u64>) = records
        .into_iter()
        .filter(|(number, _)| (*number as usize) < sent.len() && seen.insert(*number))
        .unzip();
    let times = steps.into_iter().scan(start, after);
    let record = |(number, arrived)| Record { number, arrived };
    let arrived = numbers.into_iter().zip(times).map(record).collect();
    let interval = Duration::from_millis(5);
    Account { trial: Trial { payload_bytes, spaced, interval, train: u32::MAX }, sent, arrived }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// The accounts are what a receiver says, whose clock may be set to anything: in order, each
    /// number once, and nothing else is sure.
    #[test]
    fn any_account_is_read(
        lists in prop::collection::vec(
            (
                prop::collection::vec(step(3_000_000), 0..60),
                prop::collection::vec((0..60_u32, step(400_000)), 0..60),
                (0..90_u32, any::<u32>(), any::<u64>()),
            ),
            0..4,
        ),
    ) {
        let accounts: Vec<Account> = lists.into_iter().map(any_account).collect();
        diagnose(&accounts);
        sharing(&accounts, &accounts);
        for size in estimate::by_size(&accounts) {
            if let Some(waiting) = size.waiting {
                prop_assert!(waiting.mean.is_finite(), "{size:?}");
            }
        }
    }
}
