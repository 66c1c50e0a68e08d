//! Whatever the line does, every byte arrives once and in order, and both ends close.

use crate::common::{Codec, MS, OnTheWire, Pair, Plain, congestion_control, is_over, pattern};
use bytes::Bytes;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_tcp::{Config, DelayedAck, Input, ReductionBound, State, Virtual};
use fairwave_units::{BitRate, Duration, Instant, Seed, Stream};
use proptest::prelude::*;

/// One way of a transfer: what is left to write and what was read.
struct Way {
    from: End,
    total: usize,
    written: usize,
    read: Vec<u8>,
    write_chunk: usize,
    read_chunk: u32,
    closed: bool,
}

impl Way {
    fn new(from: End, total: usize, write_chunk: usize, read_chunk: u32) -> Self {
        Self { from, total, written: 0, read: Vec::new(), write_chunk, read_chunk, closed: false }
    }

    /// Lets the applications at both ends act.
    fn act<C: Codec<Bytes>>(&mut self, pair: &mut Pair<Bytes, C>) {
        while self.written < self.total {
            let space = pair.end(self.from).send_space() as usize;
            let len = space.min(self.write_chunk).min(self.total - self.written);
            if len == 0 {
                break;
            }
            let data = pattern(self.written, len);
            pair.input(self.from, Input::Write(data));
            self.written += len;
        }
        let synchronised = pair.end(self.from).stats().cwnd > 0;
        if self.written == self.total && synchronised && !self.closed {
            self.closed = true;
            pair.input(self.from, Input::Close);
        }
        if let Some(data) = pair.end(self.from.other()).read(self.read_chunk) {
            self.read.extend_from_slice(&data);
            pair.drain(self.from.other());
        }
    }

    fn check(&self, seed: Seed) {
        assert_eq!(self.read.len(), self.total, "seed {seed}: {:?} lost bytes", self.from);
        assert!(self.read == pattern(0, self.total), "seed {seed}: bytes are wrong");
    }
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    bytes: (usize, usize),
    write_chunk: usize,
    read_chunk: u32,
    configs: (Config, Config),
    congestion_control: &'static str,
    wires: (Wire, Wire),
    iss: (u32, u32),
}

fn wire() -> impl Strategy<Value = Wire> {
    (0u64..80, 0u64..60, 0.0..0.15, 0.0..0.1, 0.0..0.1, prop::option::of(1u64..20), 2usize..40)
        .prop_map(|(delay, jitter, loss, duplicate, corrupt, rate, queue)| Wire {
            delay: MS(delay),
            jitter: MS(jitter),
            loss,
            duplicate,
            corrupt,
            rate: rate.map(BitRate::mbps),
            queue: Some(queue),
        })
}

fn config() -> impl Strategy<Value = Config> {
    let buffers = (600u32..80_000, 600u32..200_000);
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), any::<[bool; 7]>());
    let grows = (prop::option::of(0u32..300_000), prop::option::of(0u32..300_000));
    let more = (any::<bool>(), any::<bool>(), 0u32..20, any::<[bool; 3]>(), grows);
    (buffers, options, more, 200u16..1461, 1u32..4, 1u32..11).prop_map(
        |(
            (send_buffer, receive_buffer),
            (sack, timestamps, scaling, [ecn, prr, conservative, rack, eifel, frto, keep_sacks]),
            (nagle, dsack, quick_acks, like_linux, (send_buffer_max, receive_buffer_max)),
            mss,
            every,
            initial,
        )| {
            let [ack_on_read, rcv_ssthresh, psh_each_burst] = like_linux;
            Config {
                nagle,
                dsack,
                quick_acks,
                ack_on_read,
                rcv_ssthresh,
                psh_each_burst,
                send_buffer_max,
                receive_buffer_max,
                ecn,
                prr,
                prr_bound: match conservative {
                    true => ReductionBound::Conservative,
                    false => ReductionBound::SlowStart,
                },
                rack,
                eifel,
                frto,
                keep_sacks,
                mss,
                send_buffer,
                receive_buffer,
                sack,
                timestamps,
                window_scaling: scaling,
                delayed_ack: DelayedAck { every, timeout: MS(100) },
                initial_window_segments: initial,
                min_rto: MS(200),
                max_rto: Duration::from_secs(4),
                max_retries: 60,
                ..Config::default()
            }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let load = ((0usize..60_000, 0usize..20_000), 1usize..9_000, 200u32..20_000);
    let congestion_control =
        prop::sample::select(fairwave_cc::ALL.iter().map(|l| l.name).collect::<Vec<_>>());
    let near_wrap = (u32::MAX - 30_000)..u32::MAX;
    (
        any::<u64>(),
        load,
        (config(), config()),
        congestion_control,
        (wire(), wire()),
        (near_wrap, any::<u32>()),
    )
        .prop_map(
            |(seed, (bytes, write_chunk, read_chunk), configs, congestion_control, wires, iss)| {
                Case {
                    seed,
                    bytes,
                    write_chunk,
                    read_chunk,
                    configs,
                    congestion_control,
                    wires,
                    iss,
                }
            },
        )
}

/// What corruption means: one bit of the segment as it travels.
fn flip_a_bit(bytes: &mut [u8], stream: &mut Stream) {
    let bit = stream.below(bytes.len() as u64 * 8) as usize;
    bytes[bit / 8] ^= 1 << (bit % 8);
}

fn transfer(case: &Case) {
    let seed = Seed(case.seed);
    let line = Line::new(seed, case.wires.0, case.wires.1)
        .with_corruption(|bytes: &mut Vec<u8>, stream| flip_a_bit(bytes, stream));
    let algorithms =
        (congestion_control(case.congestion_control), congestion_control(case.congestion_control));
    let mut pair = Pair::new(case.configs, algorithms, case.iss, line, OnTheWire);
    let mut ways = [
        Way::new(End::A, case.bytes.0, case.write_chunk, case.read_chunk),
        Way::new(End::B, case.bytes.1, case.write_chunk, case.read_chunk),
    ];
    pair.input(End::B, Input::Listen);
    pair.input(End::A, Input::Open);
    let limit = Instant::ZERO + Duration::from_secs(24 * 3600);
    loop {
        for way in &mut ways {
            way.act(&mut pair);
        }
        let delivered = ways.iter().all(|w| w.read.len() == w.total);
        if delivered && is_over(&pair.a) && is_over(&pair.b) {
            break;
        }
        assert!(pair.now < limit, "seed {seed}: not done after a day: {pair:?}");
        let idle =
            !pair.step() && ways.iter().all(|w| pair.end(w.from.other()).stats().bytes_ready == 0);
        assert!(!idle, "seed {seed}: nothing will ever happen: {pair:?}");
    }
    ways.iter().for_each(|way| way.check(seed));
}

const CASES: u32 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

/// RFC 9293 section 3.4: sequence numbers wrap, here twice, under way and in recovery.
#[test]
fn more_than_the_sequence_space_arrives() {
    const TOTAL: u64 = 9 << 30;
    for (sack, rack) in [(false, false), (true, false), (true, true)] {
        let wire = Wire { delay: MS(1), loss: 0.000_5, ..Wire::default() };
        let line = Line::symmetric(Seed(7), wire);
        let end =
            Config { mss: 65_000, sack, rack, prr: rack, min_rto: MS(200), ..Config::default() };
        let mut pair = Pair::<Virtual, Plain>::new(
            (end, end),
            (congestion_control("newreno"), congestion_control("newreno")),
            (u32::MAX - 100_000, u32::MAX),
            line,
            Plain,
        );
        pair.input(End::B, Input::Listen);
        pair.input(End::A, Input::Open);
        let mut written = 0;
        while pair.b.state() != State::CloseWait {
            let space = u64::from(pair.a.send_space()).min(TOTAL - written);
            if space > 0 {
                pair.input(End::A, Input::Write(Virtual(space as u32)));
                written += space;
            } else if written == TOTAL && pair.a.state() == State::Established {
                pair.input(End::A, Input::Close);
            }
            assert!(pair.step(), "sack {sack} rack {rack}: nothing will ever happen: {pair:?}");
            if pair.end(End::B).read(u32::MAX).is_some() {
                pair.drain(End::B);
            }
        }
        assert_eq!(pair.b.stats().bytes_read, TOTAL);
        assert!(pair.a.stats().retransmissions > 20, "{pair:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn every_byte_arrives_once_and_in_order(case in case()) {
        transfer(&case);
    }
}

/// Timeouts and fast recoveries of 20 transfers of 4 MB over this wire, each with its own seed.
fn repairs(wire: Wire, rack: bool) -> (u64, u64) {
    let config = Config { rack, dsack: true, min_rto: MS(200), ..Config::default() };
    (0..20).map(|seed| transfer_over(Seed(seed), wire, config)).fold((0, 0), |sum, pair| {
        let stats = pair.a.stats();
        (sum.0 + stats.timeouts, sum.1 + stats.fast_recoveries)
    })
}

/// Sends 4 MB from A to B; ACKs are neither lost nor reordered.
fn transfer_over(seed: Seed, wire: Wire, config: Config) -> Pair<Virtual, Plain> {
    const TOTAL: u32 = 4_000_000;
    let line = Line::new(seed, wire, Wire { delay: MS(20), ..Wire::default() });
    let algorithms = (congestion_control("newreno"), congestion_control("newreno"));
    let mut pair = Pair::<Virtual, Plain>::new((config, config), algorithms, (1, 2), line, Plain);
    pair.input(End::B, Input::Listen);
    pair.input(End::A, Input::Open);
    pair.input(End::A, Input::Write(Virtual(TOTAL)));
    while pair.b.stats().bytes_read < u64::from(TOTAL) {
        assert!(pair.step(), "seed {seed}: nothing will ever happen: {pair:?}");
        while pair.end(End::B).read(u32::MAX).is_some() {}
        pair.drain(End::B);
    }
    pair
}

/// RFC 8985 section 9: lost retransmissions and tails no longer wait for the timer.
#[test]
fn rack_saves_timeouts() {
    let wire = Wire { delay: MS(20), loss: 0.03, rate: Some(BitRate::mbps(10)), ..Wire::default() };
    let (without, with) = (repairs(wire, false).0, repairs(wire, true).0);
    assert!(without > 40 && with * 10 < without, "{without} timeouts without, {with} with");
}

/// RFC 8985 section 6.2 step 4: reordering by less than the window, here up to 8 ms of a round
/// trip of 40 ms, is no loss once it has been seen; to duplicate ACKs it is one.
#[test]
fn rack_tolerates_reordering() {
    let (rate, queue) = (Some(BitRate::mbps(10)), Some(200));
    let wire = Wire { delay: MS(20), jitter: MS(8), rate, queue, ..Wire::default() };
    let (without, with) = (repairs(wire, false).1, repairs(wire, true).1);
    assert!(without > 200 && with * 10 < without, "{without} recoveries without, {with} with");
}
