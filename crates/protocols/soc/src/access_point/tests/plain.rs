//! Reports in the paper's format, which prove nothing.

use super::*;
use fairwave_wire::ethernet::EtherType;

/// A report of 10.0.0.7 in whole decibels, alone or in front of a datagram.
fn plain(link: Mac, soc_db: u32, next: Option<EtherType>) -> ApInput {
    let report = Plain { ipv4: Ipv4Addr::new(10, 0, 0, 7), soc_db };
    let mut payload = report.written(next).to_vec();
    // A datagram, or Ethernet's padding.
    payload.resize(if next.is_some() { 120 } else { 46 }, 0);
    ApInput::Report(ReceivedFrame::new(link, &payload))
}

fn believing() -> ApConfig {
    let config = pw();
    ApConfig { table: TableConfig { compat: true, ..config.table }, ..config }
}

/// By pw: 0.5 at 7 dB, 1 at 14. A report is missed 300 ms after the last: 14 dB become 9.8, which
/// weigh 0.78.
#[test]
fn they_weigh_if_that_is_asked_for_and_are_not_answered() {
    let mut bench = Bench::new(believing());
    bench.notify(0, plain(A, 7, None));
    bench.notify(200, plain(A, 14, Some(EtherType::IPV4)));
    bench.run_to(500);
    bench.has_requested(&[(0, A, Some(0.5)), (200, A, Some(1.0)), (500, A, Some(0.78))]);
    assert_eq!(bench.ap.table_counters().compat, 2);
    assert_eq!(bench.answered(), []);
}

#[test]
fn they_are_refused_otherwise() {
    let mut bench = Bench::new(pw());
    for next in [None, Some(EtherType::IPV4)] {
        bench.notify(0, plain(A, 14, next));
    }
    bench.has_requested(&[]);
    assert_eq!(bench.ap.counters().strangers_refused[Refusal::Malformed as usize], 2);
}

/// A sender in another's name cannot keep that station from proving itself, and then changes
/// nothing.
#[test]
fn a_seal_takes_the_place_of_reports_without_one() {
    let mut bench = Bench::new(believing());
    bench.notify(0, plain(A, 1, None));
    bench.notify(200, report(A, 1, 200, 14.0));
    bench.notify(400, plain(A, 1, None));
    bench.notify(400, report(A, 2, 400, 14.0));
    bench.has_requested(&[(0, A, Some(0.05)), (200, A, Some(1.0))]);
    assert_eq!(bench.ap.table_counters().refused_for(Refusal::Unsealed), 1);
    // A seal of another key changes nothing either.
    bench.notify(500, plain(B, 14, None));
    let forged = ApInput::Report(ReceivedFrame::new(B, report_frame(A, 3, 500, 1.0).payload()));
    bench.notify(600, forged);
    assert_eq!(bench.ap.counters().strangers_refused[Refusal::WrongSender as usize], 1);
    assert_eq!(bench.ap.stations(ms(600)).len(), 2);
}

/// Two invented stations fill the table; the one that has been silent for longer makes room for a
/// station with a key, and another invented one gets none.
#[test]
fn invented_stations_do_not_keep_out_one_with_a_key() {
    let config = believing();
    let table = TableConfig { max_stations: 2, ..config.table };
    let mut bench = Bench::new(ApConfig { table, ..config });
    let [first, second, third] = [10, 11, 12].map(Mac::local);
    bench.notify(0, plain(first, 7, None));
    bench.notify(10, plain(second, 7, None));
    bench.notify(20, plain(third, 7, None));
    bench.notify(30, report(A, 1, 30, 14.0));
    let half = Some(0.5);
    bench.has_requested(&[
        (0, first, half),
        (10, second, half),
        (30, first, None),
        (30, A, Some(1.0)),
    ]);
    assert_eq!(bench.ap.counters().strangers_refused[Refusal::Full as usize], 1);
    assert_eq!(bench.ap.stations(ms(30)).len(), 2);
}

/// A replay guard goes with its station: reports that were recorded would count once more.
#[test]
fn invented_stations_displace_no_key_and_give_way_to_those_that_the_radio_lists() {
    let config = believing();
    let table = TableConfig { max_stations: 2, ..config.table };
    let mut bench = Bench::new(ApConfig { table, ..config });
    let [first, second, listed] = [10, 11, 12].map(Mac::local);
    bench.notify(0, report(A, 1, 0, 14.0));
    bench.notify(10, ApInput::Left(A));
    bench.notify(20, plain(first, 7, None));
    bench.notify(30, plain(second, 7, None));
    assert_eq!(bench.ap.counters().strangers_refused[Refusal::Full as usize], 1);
    bench.notify(40, ApInput::Joined(listed));
    bench.notify(50, report(A, 1, 0, 14.0));
    let links = |bench: &Bench| {
        bench.ap.stations(ms(50)).iter().map(|status| status.link).collect::<Vec<_>>()
    };
    assert_eq!(links(&bench), [listed], "the recorded report counts for nothing");
    bench.notify(50, report(A, 2, 50, 14.0));
    assert_eq!(links(&bench), [A, listed]);
}
