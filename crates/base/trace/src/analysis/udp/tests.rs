//! Numbers are found where they are, and nowhere else.

use super::*;

fn leading(numbers: impl IntoIterator<Item = i32>) -> Option<Numbers> {
    let mut finder = Finder::default();
    for (at, number) in numbers.into_iter().enumerate() {
        let mut payload = number.to_be_bytes().to_vec();
        // Seconds stand still, microseconds leap: neither may pass for a number.
        payload.extend(1_700_000_000u32.to_be_bytes());
        payload.extend((at as u32 * 11_200 % 1_000_000).to_be_bytes());
        finder.datagram(Instant::ZERO, &payload);
    }
    finder.numbers()
}

#[test]
fn loss_lateness_and_doubles_are_told_apart() {
    // 0..20 without 5, 12 and 13; then 13 late, 19 twice, and iperf's negative last one.
    let came = (0..20).filter(|number| ![5, 12, 13].contains(number));
    let numbers = leading(came.chain([13, 19, -20])).unwrap();
    assert_eq!(numbers.numbering, Numbering::Leading);
    assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (2, 1, 1));
    assert_eq!(numbers.range, (0, 20));
}

#[test]
fn nothing_is_made_of_payload_without_numbers() {
    assert_eq!(leading([7; 100]), None);
    assert_eq!(leading((0..100).map(|n| n * 1_000_003)), None);
}

#[test]
fn rtp_wraps_at_sixteen_bits() {
    let mut finder = Finder::default();
    for number in 65_520u32..65_560 {
        let mut payload = [0x80, 96, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
        payload[2..4].copy_from_slice(&(number as u16).to_be_bytes());
        if number != 65_540 {
            finder.datagram(Instant::ZERO, &payload);
        }
    }
    let numbers = finder.numbers().unwrap();
    assert_eq!((numbers.numbering, numbers.lost), (Numbering::Rtp, 1));
    assert_eq!((numbers.reordered, numbers.duplicates), (0, 0));
}

#[test]
fn iperf3_counts_behind_its_time() {
    let mut finder = Finder::default();
    for number in (1u32..40).filter(|number| number % 10 != 0) {
        let mut payload = 1_700_000_000u32.to_be_bytes().to_vec();
        payload.extend((number * 9_973 % 1_000_000).to_be_bytes());
        payload.extend(number.to_be_bytes());
        finder.datagram(Instant::ZERO, &payload);
    }
    let numbers = finder.numbers().unwrap();
    assert_eq!((numbers.numbering, numbers.lost), (Numbering::Iperf3, 3));
}

/// A capture of iperf 3 begins with four bytes that are no number, from either end, and its
/// numbers may have 64 bits.
#[test]
fn iperf3_is_known_behind_its_handshake_and_with_long_numbers() {
    for long in [false, true] {
        let mut finder = Finder::default();
        finder.datagram(Instant::ZERO, b"9876");
        for number in (1u32..60).filter(|number| number % 10 != 0) {
            let mut payload = 1_700_000_000u32.to_be_bytes().to_vec();
            payload.extend((number * 9_973 % 1_000_000).to_be_bytes());
            if long {
                payload.extend([0; 4]);
            }
            payload.extend(number.to_be_bytes());
            payload.extend([7; 40]);
            finder.datagram(Instant::ZERO, &payload);
        }
        let numbers = finder.numbers().unwrap();
        let numbering = if long { Numbering::Iperf3Long } else { Numbering::Iperf3 };
        assert_eq!((numbers.numbering, numbers.lost), (numbering, 5));
    }
}

#[test]
fn a_gap_or_a_wrap_on_trial_is_no_reason_to_give_up() {
    let numbers = leading((0..5).chain(200..230)).unwrap();
    assert_eq!((numbers.lost, numbers.range), (0, (200, 229)));
    let mut finder = Finder::default();
    for number in (65_532u32..65_560).filter(|number| *number != 65_550) {
        let [high, low] = (number as u16).to_be_bytes();
        finder.datagram(Instant::ZERO, &[0x80, 96, high, low, 0, 0, 0, 0, 1, 2, 3, 4]);
    }
    assert_eq!(finder.numbers().unwrap().lost, 1);
}

#[test]
fn a_late_one_on_trial_is_reordered_and_not_lost() {
    let numbers = leading([1, 2, 3, 5, 6, 4, 7, 8, 10, 9, 11, 12, 13, 15, 16]).unwrap();
    assert_eq!((numbers.lost, numbers.reordered, numbers.range), (1, 2, (1, 16)));
}

/// Sound and picture of a call on one pair of ports, and RTCP between them.
#[test]
fn each_source_of_rtp_has_its_own_numbers() {
    let mut finder = Finder::default();
    for round in 0..40u16 {
        let [high, low] = (7_000 + round).to_be_bytes();
        finder.datagram(Instant::ZERO, &[0x80, 111, high, low, 0, 0, 0, 0, 0, 0, 0, 1]);
        finder.datagram(Instant::ZERO, &[0x80, 200, 0, 6, 0, 0, 0, 1, 0, 0, 0, 1]);
        for part in 0..3 {
            let [high, low] = (40_000 + 3 * round + part).to_be_bytes();
            if (round, part) != (20, 1) {
                finder.datagram(Instant::ZERO, &[0x90, 96, high, low, 0, 0, 0, 0, 0, 0, 0, 2]);
            }
        }
    }
    let numbers = finder.numbers().unwrap();
    assert_eq!((numbers.numbering, numbers.lost, numbers.reordered), (Numbering::Rtp, 1, 0));
}

/// A finder after these datagrams of a probe: sessions, trains, and numbers of them.
fn after_trains(trains: &[(u64, u16, Vec<u32>)]) -> Finder {
    let mut finder = Finder::default();
    for (session, train, numbers) in trains {
        for number in numbers {
            let mut payload = b"FWpb\x01\x05\0\0".to_vec();
            payload.extend(session.to_be_bytes());
            payload.extend(train.to_be_bytes());
            payload.extend(number.to_be_bytes());
            payload.resize(60, 0);
            finder.datagram(Instant::ZERO, &payload);
        }
    }
    finder
}

/// The last datagram of the first train comes behind the first of the second.
#[test]
fn a_train_that_is_overtaken_has_lost_nothing() {
    for (first, second) in [(1, 2), (u16::MAX, 0)] {
        let trains = [
            (1, first, (0..99).collect()),
            (1, second, vec![0]),
            (1, first, vec![99]),
            (1, second, (1..100).collect()),
        ];
        let numbers = after_trains(&trains).numbers().unwrap();
        assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (0, 1, 0));
        assert_eq!(numbers.range, (0, 99));
    }
}

#[test]
fn another_session_of_a_probe_begins_with_an_older_train() {
    let numbers = after_trains(&[(1, 7, vec![0, 1]), (2, 0, vec![0, 2])]).numbers().unwrap();
    assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (1, 0, 0));
}

#[test]
fn a_probe_counts_anew_in_every_train() {
    let finder = after_trains(&[(1, 1, vec![0, 1, 3, 4]), (1, 2, vec![2, 3, 3, 5, 4])]);
    // Number 2 of the first train; 0 and 1 of the second, and its late 4.
    let numbers = finder.numbers().unwrap();
    assert_eq!((numbers.numbering, numbers.range), (Numbering::Probe, (0, 5)));
    assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (3, 1, 1));
}

/// Both paths of a connection on one pair of ports: a datagram of each every 10 ms.
#[test]
fn each_path_of_shake_has_its_own_numbers_and_its_jitter() {
    let mut finder = Finder::default();
    for round in (1..40u64).filter(|round| ![9, 20].contains(round)) {
        for path in [0u8, 1] {
            let number = 1_000 * u64::from(path) + round;
            let mut payload = [&shake::MAGIC[..], &[shake::VERSION, 4, 0, path]].concat();
            payload.extend(77u64.to_be_bytes());
            payload.extend(number.to_be_bytes());
            payload.extend((round as u32 * 10_000).to_be_bytes());
            payload.resize(80, 0);
            let late = u64::from(path == 1 && round == 30) * 16_000_000;
            finder.datagram(Instant::from_nanos(round * 10_000_000 + late), &payload);
        }
    }
    let numbers = finder.numbers().unwrap();
    assert_eq!((numbers.numbering, numbers.lost, numbers.duplicates), (Numbering::Shake, 4, 0));
    let jitter = numbers.jitter.unwrap();
    // 16 ms / 16 at the late one, and that again at the next, which seems to be early.
    assert_eq!((jitter.clock_hz, jitter.most.as_nanos()), (1_000_000, 1_937_500));
}

/// Numbers with 48 bits and their low 24, over the end of those; 3 is missing, 5 late, 6 twice.
#[test]
fn dccps_numbers_are_followed_in_headers_of_both_lengths() {
    let mut finder = Finder::default();
    let begin = (7 << 24) - 4;
    for (n, number_bits) in [(1, 48), (2, 24), (4, 48), (6, 24), (5, 48), (6, 24), (7, 48)] {
        let number = (begin + n) & ((1 << number_bits) - 1);
        let ports =
            Captured { source_port: 9, destination_port: 7, number, number_bits, payload_len: 0 };
        finder.dccp(Instant::ZERO, &ports);
    }
    let numbers = finder.numbers().unwrap();
    assert_eq!((numbers.numbering, numbers.lost), (Numbering::Dccp, 1));
    assert_eq!((numbers.reordered, numbers.duplicates), (1, 1));
}

/// Payloads that come at a pace of one in 10 ms, from a number each.
fn found(payloads: impl IntoIterator<Item = Vec<u8>>) -> Option<Numbers> {
    let mut finder = Finder::default();
    for (n, payload) in (0..).zip(payloads) {
        finder.datagram(Instant::from_nanos(n * 10_000_000), &payload);
    }
    finder.numbers()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// NetBIOS (type and identifier, of a counter that others use too), NTP (dispersion at the
/// place of iperf's number), IAX mini frames (a call and milliseconds), AFS (a call number and
/// a sequence number beside it, after which the next call begins).
#[test]
fn counters_of_other_protocols_are_no_numbering() {
    let netbios = |step| (0..60u32).map(move |n| words(&[0x110a_8200 + step * n, 5, 0, 0]));
    assert_eq!(found(netbios(7)), None);
    assert_eq!(found(netbios(1)), None);
    let ntp = (0..60u32).map(|n| words(&[0x2302_06e8, 0x0000_0a00, 0x1000 + n, 0x0a00_0001]));
    assert_eq!(found(ntp), None);
    assert_eq!(found((0..60u32).map(|n| words(&[0x0001_0000 + 20 * n, 0, 0, 0]))), None);
    let afs = |n: u32| words(&[0x3500_0001, 9, n / 20 * 5, 1 + n % 20, 7]);
    assert_eq!(found((0..60).map(afs)), None);
}

/// A datagram every 10 ms, the 31st 16 ms late. Times of iperf 2 follow the number, those of
/// iperf 3 precede it; one layout has numbers of 64 bits.
#[test]
fn iperfs_times_give_the_jitter() {
    let layouts: [fn(u32, u32) -> Vec<u8>; 3] = [
        |number, us| words(&[number, 1_700_000_000, us, 0, 0]),
        |number, us| words(&[1_700_000_000, us, number, 0]),
        |number, us| words(&[1_700_000_000, us, 0, number, 0]),
    ];
    for layout in layouts {
        let mut finder = Finder::default();
        for n in (0..60u32).filter(|n| ![20, 21].contains(n)) {
            let late = u64::from(n == 31) * 16_000_000;
            let at = Instant::from_nanos(u64::from(n) * 10_000_000 + late);
            finder.datagram(at, &layout(n + 1, n * 10_000));
        }
        let numbers = finder.numbers().unwrap();
        let jitter = numbers.jitter.unwrap();
        assert_eq!(numbers.lost, 2);
        assert_eq!((jitter.clock_hz, jitter.most.as_nanos()), (1_000_000, 1_937_500));
    }
}

/// The last datagram is sent long after its time.
#[test]
fn the_last_datagram_of_iperf2_adds_no_jitter() {
    let mut finder = Finder::default();
    for n in 0..30u32 {
        let at = Instant::from_nanos(u64::from(n) * 10_000_000);
        finder.datagram(at, &words(&[n, 1_700_000_000, n * 10_000]));
    }
    let last = words(&[30u32.wrapping_neg(), 1_700_000_000, 300_000]);
    finder.datagram(Instant::from_nanos(330_000_000), &last);
    let numbers = finder.numbers().unwrap();
    assert_eq!((numbers.range, numbers.jitter.unwrap().most.as_nanos()), ((0, 30), 0));
}

/// Numbers as of iperf 3, whose times stand still, run ten times too fast or backwards.
#[test]
fn times_that_do_not_fit_the_captures_are_no_evidence() {
    let clocks: [fn(u32) -> u32; 3] = [|_| 7, |n| n * 100_000, |n| 9_000_000 - n * 10_000];
    for us in clocks {
        let payload = |n: u32| words(&[1_000 + us(n) / 1_000_000, us(n) % 1_000_000, n + 1, 0]);
        assert_eq!(found((0..60).map(payload)), None);
    }
    let times = |n: u32| n / 30 * 2_000_000 + n * 10_000;
    let leap = |n: u32| words(&[1_000 + times(n) / 1_000_000, times(n) % 1_000_000, n + 1, 0]);
    assert_eq!(found((0..60).map(leap)), None, "fits on trial, but not to the end");
}

/// Ten datagrams behave like RTP, the other forty do not.
#[test]
fn a_numbering_explains_most_of_the_datagrams() {
    let rtp = |n: u32| words(&[0x8060_0000 + n, 160 * n, 9, 0]);
    let other = |n: u32| words(&[0x4060_0000 ^ n.wrapping_mul(0x9e37_79b9) >> 2, n, n, n]);
    let mixed = |rtps: u32| (0..50).map(move |n| if n < rtps { rtp(n) } else { other(n) });
    assert_eq!(found(mixed(10)), None);
    assert_eq!(found(mixed(30)).map(|numbers| numbers.numbering), Some(Numbering::Rtp));
}
