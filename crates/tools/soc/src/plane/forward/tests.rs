//! Frames through a forwarder, on a wire that takes whatever it is given.

use super::*;
use crate::plane::pieces::HEAD;
use fairwave_units::Duration;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

const A: Mac = Mac::local(1);
const B: Mac = Mac::local(2);
const C: Mac = Mac::local(3);

/// Frames that are to come, and those that went.
#[derive(Default)]
struct Line {
    coming: RefCell<VecDeque<Vec<u8>>>,
    gone: RefCell<Vec<Vec<u8>>>,
    is_down: Cell<bool>,
}

impl Wire for Line {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(frame) = self.coming.borrow_mut().pop_front() else { return Ok(None) };
        let frame = [&[0; HEAD][..], &frame].concat();
        let length = frame.len().min(buffer.len());
        buffer[..length].copy_from_slice(&frame[..length]);
        Ok(Some(length))
    }

    fn send(&self, frame: &[u8]) -> io::Result<bool> {
        if !self.is_down.get() {
            self.gone.borrow_mut().push(frame[HEAD..].to_vec());
        }
        Ok(!self.is_down.get())
    }
}

fn frame(to: Mac, number: u32, length: usize) -> Vec<u8> {
    let mut frame = [&to.0[..], &[2, 0, 0, 0, 0, 9, 8, 0], &number.to_be_bytes()].concat();
    frame.resize(length, 0);
    frame
}

fn settings() -> Settings {
    let longest = HEAD + 1522;
    Settings { rate_bps: 8_000_000, queue: 100, longest, traffic: Vec::new(), urgent: 0x88b5 }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Takes all that comes.
fn take_all(forwarder: &mut Forwarder, now: Instant, line: &Line) {
    while !forwarder.take(now, line).unwrap() {}
}

/// Bytes to each station in so many milliseconds in which all have always something to receive.
fn shared(forwarder: &mut Forwarder, stations: &[(Mac, usize)], millis: u64) -> Vec<usize> {
    let line = Line::default();
    for now in 1..=millis {
        for (station, length) in stations {
            (0..10).for_each(|_| line.coming.borrow_mut().push_back(frame(*station, 0, *length)));
        }
        take_all(forwarder, at(now), &line);
        while forwarder.send(at(now), &line).unwrap().is_some_and(|next| next <= at(now)) {}
    }
    let gone = line.gone.borrow();
    let to =
        |station: &Mac| gone.iter().filter(|frame| frame[..6] == station.0).map(Vec::len).sum();
    stations.iter().map(|(station, _)| to(station)).collect()
}

/// 8 Mbps are 1 MB/s, of which weights of 1, 0.8 and 0.2 have 50, 40 and 10 %, whatever the lengths
/// of their frames.
#[test]
fn bytes_follow_weights_and_the_rate() {
    let mut forwarder = Forwarder::new(&settings());
    for (station, weight) in [(A, 1.0), (B, 0.8), (C, 0.2)] {
        forwarder.serve(at(0), station, None, &[weight]);
    }
    let bytes = shared(&mut forwarder, &[(A, 1500), (B, 300), (C, 1000)], 2_000);
    for (bytes, expected) in bytes.iter().zip([1_000_000, 800_000, 200_000]) {
        assert!(bytes.abs_diff(expected) < 10_000, "{bytes} of {expected}");
    }
}

#[test]
fn a_station_without_weight_waits_and_others_leave_nothing_unused() {
    let mut forwarder = Forwarder::new(&settings());
    forwarder.serve(at(0), A, None, &[0.0]);
    forwarder.serve(at(0), B, None, &[0.1]);
    let bytes = shared(&mut forwarder, &[(A, 1000), (B, 1000)], 1_000);
    assert_eq!(bytes[0], 0);
    assert!(bytes[1].abs_diff(1_000_000) < 10_000, "{bytes:?}");
    // What waited for it is sent when it is known no more.
    forwarder.stop(at(2_000), A);
    let line = Line::default();
    for now in 2_000..3_000 {
        forwarder.send(at(now), &line).unwrap();
    }
    let to_a = line.gone.borrow().iter().filter(|frame| frame[..6] == A.0).count();
    assert_eq!(to_a, 100);
}

#[test]
fn a_full_queue_drops_what_comes_and_others_lose_nothing() {
    let mut forwarder = Forwarder::new(&Settings { queue: 3, ..settings() });
    forwarder.serve(at(0), A, None, &[1.0]);
    let line = Line::default();
    for number in 0..5 {
        line.coming.borrow_mut().push_back(frame(A, number, 100));
    }
    line.coming.borrow_mut().push_back(frame(Mac::BROADCAST, 9, 100));
    line.coming.borrow_mut().push_back(frame(A, 6, 1523));
    take_all(&mut forwarder, at(10), &line);
    assert_eq!(forwarder.send(at(10), &line).unwrap(), None);
    let mut gone: Vec<u8> = line.gone.borrow().iter().map(|frame| frame[17]).collect();
    gone.sort_unstable();
    assert_eq!(gone, [0, 1, 2, 9]);
    assert_eq!(forwarder.counts, Frames { sent: 4, dropped: 2, lost: 0, too_long: 1 });
    line.is_down.set(true);
    line.coming.borrow_mut().push_back(frame(A, 7, 100));
    take_all(&mut forwarder, at(11), &line);
    assert_eq!(forwarder.send(at(11), &line).unwrap(), None);
    assert_eq!(forwarder.counts.lost, 1);
}

/// 60 classes with room for 100 frames each could hold 6000; there are places for 4096.
#[test]
fn memory_is_bounded_and_the_longest_queue_pays() {
    let mut forwarder = Forwarder::new(&settings());
    let line = Line::default();
    for station in 10..70 {
        forwarder.serve(at(0), Mac::local(station), None, &[1.0]);
    }
    forwarder.serve(at(0), A, None, &[1.0]);
    line.coming.borrow_mut().push_back(frame(A, 1, 100));
    for station in (10..70).cycle().take(6_000) {
        line.coming.borrow_mut().push_back(frame(Mac::local(station), 0, 100));
    }
    take_all(&mut forwarder, at(0), &line);
    let places = forwarder.memory.len() / forwarder.place;
    assert_eq!((places, forwarder.queue.len()), (4096, 4095));
    assert_eq!(forwarder.counts.dropped, 6_001 - 4_095);
    assert_eq!(forwarder.queue.peek_to(forwarder.classes.of(&frame(A, 1, 100))), Some(100));
    // Where the MTU is as long as it can be, memory is what is bounded.
    let long = Forwarder::new(&Settings { longest: 65_557, ..settings() });
    assert!(long.memory.len() <= MEMORY && long.free.len() > 1_000, "{}", long.free.len());
}

#[test]
fn a_frame_takes_no_memory_of_its_own() {
    let mut forwarder = Forwarder::new(&settings());
    forwarder.serve(at(0), A, None, &[1.0]);
    forwarder.serve(at(0), B, None, &[0.5]);
    /// Frames to A and B in turn, without end.
    struct Endless(Cell<u32>);
    impl Wire for Endless {
        fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
            let number = self.0.get() + 1;
            self.0.set(number);
            let to = if number.is_multiple_of(2) { A } else { B };
            buffer[..HEAD + 14].fill(0);
            buffer[HEAD..HEAD + 6].copy_from_slice(&to.0);
            Ok((!number.is_multiple_of(50)).then_some(1000))
        }

        fn send(&self, _: &[u8]) -> io::Result<bool> {
            Ok(true)
        }
    }
    let endless = Endless(Cell::new(0));
    let mut turn = |now| {
        forwarder.take(at(now), &endless).unwrap();
        forwarder.send(at(now), &endless).unwrap();
    };
    // The tables of queues grow to their lengths first.
    (0..1_000).for_each(&mut turn);
    let used = allocation_counter::measure(|| (1_000..3_000).for_each(&mut turn));
    assert_eq!(used.count_total, 0);
    assert!(forwarder.counts.sent > 1_000 && forwarder.counts.dropped > 1_000);
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    Comes(u32, usize),
    Sends,
    Weighs(u32, f64),
    Stops(u32),
    Passes(u64),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (0_u32..6, 14_usize..1600).prop_map(|(to, length)| Happening::Comes(to, length)),
        3 => Just(Happening::Sends),
        2 => (0_u32..4, -0.1..1.1).prop_map(|(to, weight)| Happening::Weighs(to, weight)),
        1 => (0_u32..4).prop_map(Happening::Stops),
        2 => (0_u64..20).prop_map(Happening::Passes),
    ]
}

proptest! {
    /// Each frame that comes is sent as it was, dropped, or waits; frames to one station keep their
    /// order as long as it is in one queue.
    #[test]
    fn every_frame_is_accounted_for(
        happenings in proptest::collection::vec(happening(), 0..300),
    ) {
        let mut forwarder = Forwarder::new(&Settings { queue: 5, ..settings() });
        let (line, mut came, mut now) = (Line::default(), Vec::new(), 0);
        for happening in happenings {
            match happening {
                Happening::Comes(to, length) => {
                    let frame = frame(Mac::local(to), came.len() as u32, length.max(18));
                    came.push(frame.clone());
                    line.coming.borrow_mut().push_back(frame);
                    take_all(&mut forwarder, at(now), &line);
                }
                Happening::Sends => drop(forwarder.send(at(now), &line).unwrap()),
                Happening::Weighs(to, weight) => {
                    forwarder.serve(at(now), Mac::local(to), None, &[weight]);
                }
                Happening::Stops(to) => forwarder.stop(at(now), Mac::local(to)),
                Happening::Passes(millis) => now += millis,
            }
            let Frames { sent, dropped, lost, too_long } = forwarder.counts;
            let waiting = u64::from(forwarder.queue.len());
            prop_assert_eq!(sent + dropped + lost + too_long + waiting, came.len() as u64);
            let places = forwarder.memory.len() / forwarder.place;
            prop_assert_eq!(forwarder.free.len() + waiting as usize, places);
        }
        for gone in line.gone.borrow().iter() {
            let number = u32::from_be_bytes(gone[14..18].try_into().unwrap());
            prop_assert_eq!(&came[number as usize], gone);
        }
    }
}
