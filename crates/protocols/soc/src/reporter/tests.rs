//! What leaves the station when, by hand and for any traffic.

use super::*;
use fairwave_machine::contract;
use fairwave_wire::soc;
use proptest::prelude::*;

const STATION: Mac = Mac::local(7);

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn key() -> Key {
    Key::new(b"the key of station seven........").unwrap()
}

fn config() -> ReporterConfig {
    ReporterConfig { epoch: 2, ..ReporterConfig::new(STATION, Ipv4Addr::new(10, 0, 0, 7)) }
}

fn reporter(config: ReporterConfig) -> Reporter {
    Reporter::new(config, Format::Sealed(key()), Instant::ZERO).unwrap()
}

fn opened(sent: &Sent) -> Report {
    let (claim, rest) = soc::parse(sent.bytes()).unwrap();
    assert!(rest.is_empty());
    claim.open(&key()).unwrap()
}

/// Inputs at these milliseconds; outputs with theirs, in microseconds, and what they hold.
fn run(config: ReporterConfig, inputs: &[(u64, ReporterInput)], end: u64) -> Vec<(u64, Report)> {
    let inputs = inputs.iter().map(|&(at, input)| (ms(at), input));
    let sent = contract::check(&mut reporter(config), inputs, ms(end));
    sent.iter().map(|(at, sent)| (at.as_nanos() / 1_000_000, opened(sent))).collect()
}

/// The level of the access point before counts 30 dB too much; only the new one is reported.
#[test]
fn after_a_roam_earlier_samples_do_not_count() {
    let snr = |db| ReporterInput::Snr(Db(db));
    for filter in crate::FILTERS.iter().map(|kind| kind.spec) {
        let inputs = [(10, snr(40.0)), (250, snr(40.0)), (300, ReporterInput::Roamed)];
        let inputs = [&inputs[..], &[(310, snr(10.0)), (390, snr(10.0))]].concat();
        let sent = run(ReporterConfig { filter, hold: Duration::ZERO, ..config() }, &inputs, 450);
        let levels: Vec<i16> = sent.iter().map(|(_, report)| report.soc.0).collect();
        assert_eq!(levels, [4_000, 1_000], "{filter:?}");
    }
}

#[test]
fn a_report_is_the_mean_of_its_interval_and_leaves_alone_after_the_wait() {
    let snr = |db| ReporterInput::Snr(Db(db));
    let inputs = [(0, snr(10.0)), (100, snr(12.0)), (250, snr(-1.5)), (390, snr(0.5))];
    let sent = run(config(), &inputs, 1000);
    let of = |at, sequence, made_ms, centi| {
        let expected = Report {
            next: None,
            station: STATION,
            ipv4: Ipv4Addr::new(10, 0, 0, 7),
            ipv6: Ipv6Addr::UNSPECIFIED,
            sequence: (2u64 << 32) + sequence,
            made_ms,
            interval_ms: NonZeroU16::new(200).unwrap(),
            soc: CentiDb(centi),
        };
        (at, expected)
    };
    // Nothing was heard after 400 ms, so nothing is reported.
    assert_eq!(sent, [of(250, 1, 200, 1100), of(450, 2, 400, -50)]);
}

#[test]
fn data_takes_a_waiting_report_along_once() {
    let data = ReporterInput::DataLeaves(EtherType::IPV4);
    let inputs = [(10, ReporterInput::Snr(Db(9.0))), (150, data), (230, data), (240, data)];
    let sent = run(config(), &inputs, 400);
    let seen: Vec<_> = sent.iter().map(|(at, report)| (*at, report.next, report.made_ms)).collect();
    assert_eq!(seen, [(230, Some(EtherType::IPV4), 200)]);
}

#[test]
fn without_a_wait_every_report_leaves_alone_at_once() {
    let config = ReporterConfig { hold: Duration::ZERO, ..config() };
    let inputs: Vec<_> = (0..100)
        .flat_map(|at| {
            [ReporterInput::Snr(Db(9.0)), ReporterInput::DataLeaves(EtherType::IPV6)]
                .map(|input| (10 * at, input))
        })
        .collect();
    let sent = run(config, &inputs, 1000);
    let seen: Vec<_> = sent.iter().map(|(at, report)| (*at, report.next)).collect();
    assert_eq!(seen, [(200, None), (400, None), (600, None), (800, None), (1000, None)]);
}

#[test]
fn a_late_wake_skips_what_is_past() {
    let mut reporter = reporter(config());
    reporter.handle(ms(1), ReporterInput::Snr(Db(5.0)));
    reporter.wake(ms(1111));
    assert_eq!(reporter.event(), Some(Made { soc: Some(CentiDb(500)), samples: 1 }));
    assert_eq!(reporter.deadline(), Some(ms(1161)));
    reporter.wake(ms(1161));
    assert!(matches!(reporter.poll(ms(1161)), Some(Sent::Alone(_))));
    assert_eq!(reporter.deadline(), Some(ms(1200)));
}

/// A report of a late wake-up waits no longer than its interval: the next is due then.
#[test]
fn a_late_report_does_not_wait_into_the_next_interval() {
    let mut reporter = reporter(config());
    reporter.handle(ms(1), ReporterInput::Snr(Db(5.0)));
    reporter.wake(ms(1160));
    assert_eq!(reporter.deadline(), Some(ms(1200)));
    reporter.wake(ms(1200));
    assert!(matches!(reporter.poll(ms(1200)), Some(Sent::Alone(_))));
    assert_eq!(reporter.deadline(), Some(ms(1400)));
}

/// A report about the access point before says nothing to the new one.
#[test]
fn a_roam_discards_the_waiting_report() {
    let snr = |db| ReporterInput::Snr(Db(db));
    let inputs = [(10, snr(40.0)), (210, ReporterInput::Roamed), (310, snr(10.0))];
    let sent = run(config(), &inputs, 500);
    let levels: Vec<i16> = sent.iter().map(|(_, report)| report.soc.0).collect();
    assert_eq!(levels, [1_000]);
}

#[test]
fn intervals_out_of_bounds_are_refused() {
    let refused = |interval: u64, hold: u64| {
        let (interval, hold) = (Duration::from_millis(interval), Duration::from_millis(hold));
        let config = ReporterConfig { interval, hold, ..config() };
        Reporter::new(config, Format::Sealed(key()), Instant::ZERO).unwrap_err().to_string()
    };
    assert_eq!(refused(19, 0), "interval 19 ms is not within 20 ms and 1 s");
    assert_eq!(refused(1001, 0), "interval 1001 ms is not within 20 ms and 1 s");
    assert_eq!(refused(200, 200), "hold 200 ms is not below the interval 200 ms");
}

#[test]
fn debug_output_does_not_tell_the_key() {
    assert!(!format!("{:?}", reporter(config())).contains("key"));
}

proptest! {
    /// Never more than a report an interval, never fewer while there are samples, each later
    /// than the one before and from one interval.
    #[test]
    fn a_report_an_interval(
        interval in 20u64..=1000, hold in 0u64..20,
        data in prop::collection::btree_set(0u64..5000, 0..100),
    ) {
        let duration = Duration::from_millis;
        let config = ReporterConfig {
            interval: duration(interval), hold: duration(hold), ..config()
        };
        let samples = (0..500).map(|at| (10 * at, ReporterInput::Snr(Db(at as f64 / 10.0))));
        let leaves = data.iter().map(|&at| (at, ReporterInput::DataLeaves(EtherType::IPV4)));
        let mut inputs: Vec<_> = samples.chain(leaves).collect();
        inputs.sort_by_key(|(at, _)| *at);
        let sent = run(config, &inputs, 5000);
        let due = 5000u64.saturating_sub(hold) / interval;
        prop_assert!(sent.len() as u64 >= due, "{} of {due}", sent.len());
        for (index, (at, report)) in sent.iter().enumerate() {
            prop_assert_eq!(report.sequence & 0xffff_ffff, index as u64 + 1);
            prop_assert_eq!(u64::from(report.made_ms), (index as u64 + 1) * interval);
            prop_assert!((0..=hold).contains(&(at - u64::from(report.made_ms))));
            prop_assert!(report.next.is_none() || data.contains(at));
        }
    }
}

#[test]
fn last_reports_have_numbers_of_their_own_and_no_level() {
    let mut reporter = reporter(config());
    let numbers = [1, 2].map(|_| {
        let (claim, report) = (reporter.last_report(ms(300)).unwrap(), CentiDb::NONE);
        let opened = opened(&Sent::Alone(claim));
        assert_eq!((opened.soc, opened.made_ms, opened.next), (report, 300, None));
        opened.sequence
    });
    assert_eq!(numbers, [2 << 32 | 1, 2 << 32 | 2]);
}

/// The frame of the paper's Fig. 8: 10.0.0.7, and the mean of the interval in whole decibels;
/// in front of data, the type of that data behind it.
#[test]
fn the_format_of_the_paper_is_an_address_and_whole_decibels() {
    let mut reporter = Reporter::new(config(), Format::Plain, Instant::ZERO).unwrap();
    let mut sent = |end: u64, level: f64, data: Option<u64>| {
        reporter.handle(ms(end - 100), ReporterInput::Snr(Db(level)));
        reporter.wake(ms(end));
        if let Some(at) = data {
            reporter.handle(ms(at), ReporterInput::DataLeaves(EtherType::IPV6));
        }
        reporter.wake(ms(end + 50));
        let sent = reporter.poll(ms(end + 50)).unwrap();
        (matches!(sent, Sent::InFront(_)), sent.bytes().to_vec())
    };
    let alone = vec![10, 0, 0, 7, 0, 0, 0, 12];
    assert_eq!(sent(200, 11.6, None), (false, alone));
    assert_eq!(sent(400, -3.0, Some(430)), (true, vec![10, 0, 0, 7, 0, 0, 0, 0, 0x86, 0xdd]));
    assert_eq!(reporter.last_report(ms(500)), None);
}

#[test]
fn a_report_has_the_address_that_the_station_has_when_it_leaves() {
    let address = ReporterInput::Address(Ipv4Addr::new(10, 0, 0, 8));
    let snr = ReporterInput::Snr(Db(9.0));
    let sent = run(config(), &[(10, snr), (210, address), (220, snr)], 460);
    let seen: Vec<_> = sent.iter().map(|(at, report)| (*at, report.ipv4.octets()[3])).collect();
    assert_eq!(seen, [(250, 8), (450, 8)]);
}
