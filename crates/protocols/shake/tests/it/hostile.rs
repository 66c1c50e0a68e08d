//! A peer that has the key and breaks every rule: it is ignored and counted, memory stays bounded.

use crate::common;

use crate::common::ID;
use fairwave_machine::Machine;
use fairwave_shake::{
    Config, Connection, Input, LossDetection, Profile, RetransmissionPath, Segment,
};
use fairwave_tcp::Virtual;
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::shake::{
    Ack, Block, Blocks, Body, Challenge, Data, Echo, Header, Join, Leave, Reason, Side,
};
use proptest::prelude::*;
use std::num::{NonZeroU32, NonZeroU64};

const WINDOW: u32 = 100_000;

/// One honest end, and what its peer says.
struct Victim {
    end: Connection<Virtual>,
    from: Side,
    now: Instant,
    /// The peer's next number, for all paths.
    number: u64,
    said: Vec<Header>,
}

impl Victim {
    fn new(side: Side) -> Self {
        let config = Config { send_buffer: 50_000, ..Profile::Modern.config() };
        Self::with(side, Config { receive_buffer: 50_000, max_paths: 8, ..config })
    }

    fn with(side: Side, config: Config) -> Self {
        let end = Connection::new(config, common::rules(), side, ID, Seed(3));
        let from = side.other();
        Self { end, from, now: Instant::ZERO, number: 1, said: Vec::new() }
    }

    /// An opener whose paths 0 and 1 were answered for, with 40 segments to send.
    fn opener() -> Self {
        let mut victim = Self::new(Side::Opener);
        victim.open(WINDOW);
        victim.report(Input::Write(Virtual(50_000)));
        victim
    }

    /// An opener with all of `len` bytes in flight.
    fn opener_with(len: u32) -> Self {
        let modern = Config { standby: false, ..Profile::Modern.config() };
        let config = Config { send_buffer: len, initial_window: len, ..modern };
        let mut victim = Self::with(Side::Opener, config);
        victim.open(len);
        victim.end.handle(victim.now, Input::Write(Virtual(len)));
        while victim.end.poll(victim.now).is_some() {}
        assert_eq!(victim.end.paths().map(|path| path.flight).sum::<u32>(), len);
        victim
    }

    fn open(&mut self, window: u32) {
        for path in 0..2 {
            self.report(Input::Join { path, nominal: None });
            let Body::Join(join) = self.said.pop().unwrap().body else { panic!("no join") };
            let challenge = Challenge { nonce: 1, answers: join.nonce, window };
            self.receive(path, Body::Challenge(challenge), 0);
        }
        self.said.clear();
    }

    /// An acceptor whose path 0 was answered for.
    fn acceptor() -> Self {
        let mut victim = Self::new(Side::Acceptor);
        victim.receive(0, Body::Join(Join { open: true, nonce: 1, window: WINDOW }), 0);
        let Body::Challenge(challenge) = victim.said.pop().unwrap().body else {
            panic!("no challenge")
        };
        victim.receive(0, Body::Response { answers: challenge.nonce }, 0);
        victim
    }

    fn report(&mut self, input: Input<Virtual>) {
        self.end.handle(self.now, input);
        self.drain();
    }

    fn receive(&mut self, path: u8, body: Body, payload: u32) {
        let number = NonZeroU64::new(self.number).unwrap();
        self.number += 1;
        self.receive_as(
            Header { connection: ID, from: self.from, path, number, sent_us: 0, body },
            payload,
        );
    }

    fn receive_as(&mut self, header: Header, payload: u32) {
        self.report(Input::Segment(Segment { header, payload: Virtual(payload) }));
    }

    fn drain(&mut self) {
        let mut messages = 0;
        while let Some(segment) = self.end.poll(self.now) {
            self.said.push(segment.header);
            messages += 1;
            assert!(messages < 1_000, "a drain does not end");
        }
        while self.end.event().is_some() {}
        assert!(self.end.deadline().is_none_or(|deadline| deadline >= self.now));
    }

    /// Time passes, and what is due happens.
    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(due) = self.end.deadline().filter(|due| *due <= until) {
            self.now = due;
            self.end.wake(due);
            self.drain();
        }
        self.now = until;
    }

    fn ack(&mut self, cumulative: u64, window: u32, echo: u64, blocks: &[(u32, u32)]) {
        self.ack_on(0, cumulative, window, echo, blocks);
    }

    fn ack_on(&mut self, path: u8, cumulative: u64, window: u32, echo: u64, blocks: &[(u32, u32)]) {
        let part = |n| NonZeroU32::new(n).unwrap();
        let block = |(offset, len): &(u32, u32)| Block { offset: part(*offset), len: part(*len) };
        let blocks: Blocks = blocks.iter().map(block).collect();
        let echo = NonZeroU64::new(echo).map(|number| Echo { number, sent_us: 0 });
        self.receive(path, Body::Ack(Ack { cumulative, window, echo, blocks }), 0);
    }

    fn data(&mut self, seq: u64, len: u32, fin: bool) {
        self.receive(0, Body::Data(Data { seq, fin }), len);
    }
}

#[test]
fn forged_paths_cost_nothing() {
    let mut victim = Victim::opener();
    for path in 2..=255 {
        victim.receive(path, Body::Data(Data { seq: 0, fin: false }), 1_000);
        victim.receive(path, Body::Join(Join { open: true, nonce: 7, window: 1 }), 0);
    }
    assert_eq!(victim.end.stats().refused.unknown_path, 2 * 254);
    assert_eq!(victim.end.paths().count(), 2);

    let mut victim = Victim::acceptor();
    for path in 1..=255 {
        victim.receive(path, Body::Join(Join { open: true, nonce: 7, window: 1 }), 0);
    }
    assert_eq!(victim.end.paths().count(), 8);
    assert_eq!(victim.end.paths().filter(|path| path.is_up).count(), 1);
    assert_eq!(victim.end.stats().refused.unknown_path, 255 - 7);
}

#[test]
fn data_on_a_path_not_answered_for_is_not_taken() {
    let mut victim = Victim::acceptor();
    victim.receive(1, Body::Join(Join { open: false, nonce: 7, window: 1 }), 0);
    victim.receive(1, Body::Data(Data { seq: 0, fin: false }), 1_000);
    victim.receive(1, Body::Response { answers: 12_345 }, 0);
    assert_eq!(victim.end.received(), 0);
    assert_eq!((victim.end.stats().refused.unanswered, victim.end.stats().refused.stray), (1, 1));
    let challenges = victim.said.iter().filter(|said| matches!(said.body, Body::Challenge(_)));
    assert_eq!(challenges.count(), 2, "the data asks for another");
}

#[test]
fn what_was_never_sent_is_not_acknowledged() {
    let mut victim = Victim::opener();
    victim.ack(50_001, WINDOW, 3, &[]);
    assert_eq!(victim.end.stats().refused.ack_of_unsent, 1);
    victim.ack(0, WINDOW, 3, &[(49_999, 2)]);
    assert_eq!(victim.end.stats().refused.block_of_unsent, 1);
    victim.ack(0, WINDOW, 1 << 40, &[]);
    assert_eq!(victim.end.stats().refused.echo_of_unsent, 1);
    assert_eq!(victim.end.acknowledged(), 0);
    victim.ack(1_400, WINDOW, 4, &[]);
    assert_eq!(victim.end.acknowledged(), 1_400, "and goes on");
}

#[test]
fn a_window_does_not_shrink() {
    let mut victim = Victim::opener();
    victim.ack(1_400, 0, 3, &[]);
    assert_eq!(victim.end.stats().refused.window_shrunk, 1);
    let before = victim.said.len();
    victim.ack(2_800, 0, 4, &[]);
    assert!(victim.said.len() > before, "what was promised may be sent");
}

/// An opener whose one segment two paths have carried, the second after a timeout of the first, on
/// which another copy flies then if `both` is set; and the last messages on both.
fn repeated(both: bool, loss_detection: LossDetection) -> (Victim, [Header; 2]) {
    let retransmission = RetransmissionPath::LargestWindow;
    let config = Config { retransmission, opportunistic: false, ..Profile::Modern.config() };
    let config = Config { suspects_get_copies: both, loss_detection, standby: false, ..config };
    let mut victim = Victim::with(Side::Opener, config);
    victim.open(WINDOW);
    (0..2).for_each(|path| victim.ack_on(path, 0, WINDOW, 0, &[]));
    victim.report(Input::Write(Virtual(1_000)));
    victim.pass(Duration::from_millis(1_100));
    let said = victim.said.clone();
    let last = |path| *said.iter().rfind(|said| said.path == path).expect("it has carried one");
    (victim, [last(0), last(1)])
}

/// Bytes that arrived over the path of a message, by what its window grows, and those that fly.
fn credit(victim: &Victim, message: &Header) -> (u64, u32) {
    let path = victim.end.paths().find(|path| path.id == message.path).unwrap();
    (path.delivered, path.flight)
}

/// The first copy was slow, not lost: the path of the second has delivered nothing by that.
#[test]
fn a_copy_is_no_credit_to_the_path_of_another() {
    for both in [false, true] {
        let (mut victim, [first, second]) = repeated(both, LossDetection::Echoes(3));
        victim.ack_on(first.path, 1_000, WINDOW, first.number.get(), &[]);
        assert_eq!(victim.end.acknowledged(), 1_000);
        assert_eq!(credit(&victim, &second), (0, 1_000), "both: {both}");
        victim.ack_on(second.path, 1_000, WINDOW, second.number.get(), &[]);
        assert_eq!(credit(&victim, &second), (1_000, 0), "both: {both}");
    }
}

/// The echo was lost, and the number is all there is: if one copy flies it has arrived, and of two
/// nobody knows.
#[test]
fn the_one_copy_that_flies_is_credited_without_an_echo() {
    for (both, expected) in [(false, (1_000, 0)), (true, (0, 1_000))] {
        let (mut victim, [first, second]) = repeated(both, LossDetection::Echoes(3));
        victim.ack_on(first.path, 1_000, WINDOW, 0, &[]);
        assert_eq!(credit(&victim, &second), expected, "both: {both}");
    }
}

/// Where acknowledgements that do not advance tell losses, nobody looks for an earlier copy whose
/// echo was lost: a later echo of its path ends its flight.
#[test]
fn a_copy_that_is_not_echoed_does_not_fly_for_ever() {
    let (mut victim, [first, second]) = repeated(true, LossDetection::Duplicates(10));
    victim.ack_on(second.path, 1_000, WINDOW, second.number.get(), &[]);
    victim.report(Input::Leave { path: second.path });
    victim.report(Input::Write(Virtual(400)));
    assert_eq!(credit(&victim, &first), (0, 1_400));
    let next = victim.said.iter().rfind(|said| matches!(said.body, Body::Data(_))).unwrap().number;
    victim.ack_on(first.path, 1_400, WINDOW, next.get(), &[]);
    assert_eq!(credit(&victim, &first), (400, 0));
}

#[test]
fn messages_of_others_and_of_before_are_refused() {
    let mut victim = Victim::acceptor();
    victim.data(0, 1_000, false);
    let number = NonZeroU64::new(victim.number - 1).unwrap();
    let body = Body::Data(Data { seq: 1_000, fin: false });
    let header = Header { connection: ID, from: victim.from, path: 0, number, sent_us: 0, body };
    victim.receive_as(header, 1_000);
    assert_eq!(victim.end.stats().refused.replayed, 1);
    let fresh = NonZeroU64::new(1 << 30).unwrap();
    victim.receive_as(Header { connection: 1, number: fresh, ..header }, 1_000);
    victim.receive_as(Header { from: Side::Acceptor, number: fresh, ..header }, 1_000);
    assert_eq!(victim.end.stats().refused.foreign, 2);
    assert_eq!(victim.end.received(), 1_000);
}

#[test]
fn the_end_of_a_stream_does_not_move() {
    let mut victim = Victim::acceptor();
    victim.data(1_000, 500, true);
    victim.data(1_500, 100, false);
    victim.data(0, 10, true);
    assert_eq!(victim.end.stats().refused.contradiction, 2);
    victim.data(60_000, 10, false);
    victim.data(0, 1_000, false);
    assert_eq!(victim.end.received(), 1_501);
}

/// Crumbs at every other byte, and blocks of crumbs and of most of 8 MB by turns: what is kept does
/// not grow with what is said, nor what is done with what is said again.
#[test]
fn floods_are_bounded() {
    const LEN: u32 = 8_000_000;
    const PART: u32 = LEN / 16;
    let mut acceptor = Victim::acceptor();
    let mut opener = Victim::opener_with(LEN);
    let counted = allocation_counter::measure(|| {
        for n in 0..20_000u32 {
            acceptor.data(u64::from(2 * n + 1), 1, false);
            acceptor.said.clear();
            let block = |k: u32| match n % 3 {
                0 => (1 + (n * 16 + 2 * k) % 15_000, 1),
                side => (1 + PART * (2 * k + side - 1), PART - 10_000),
            };
            let blocks: Vec<_> = (0..8).map(block).collect();
            opener.ack(0, LEN, u64::from(n % 5), &blocks);
            opener.said.clear();
        }
    });
    assert!(counted.bytes_current < 100_000, "{} bytes are kept", counted.bytes_current);
    assert_eq!((acceptor.end.received(), opener.end.acknowledged()), (0, 0));
    assert!(acceptor.end.stats().refused.no_room > 15_000, "{:?}", acceptor.end.stats());
    acceptor.data(40_003, 1, false);
    assert_eq!(acceptor.said.len(), 0, "what is dropped is not echoed: it is to come again");
    let stats = opener.end.stats();
    assert!(stats.segments < 30_000, "{stats:?}");
    assert!(stats.looked_at <= u64::from(LEN / 1_400 + 1) + 8 * 20_000, "{stats:?}");
}

/// Any message that the format allows.
fn bodies() -> impl Strategy<Value = (Body, u32)> {
    let near = || {
        prop_oneof![
            0..60_000u64,
            Just(0),
            Just(1_400),
            Just(2_800),
            any::<u64>().prop_map(|n| n >> 2)
        ]
    };
    let small = || prop_oneof![1..20_000u32, Just(1_400), any::<NonZeroU32>().prop_map(u32::from)];
    let part = || small().prop_map(|n| NonZeroU32::new(n).unwrap());
    let block = (part(), part()).prop_map(|(offset, len)| Block { offset, len });
    let blocks = prop::collection::vec(block, 0..9);
    let echo = prop::option::of((1..40u64, any::<u32>()));
    let ack = (near(), small(), echo, blocks).prop_map(|(cumulative, window, echo, blocks)| {
        let echo = echo
            .map(|(number, sent_us)| Echo { number: NonZeroU64::new(number).unwrap(), sent_us });
        Body::Ack(Ack { cumulative, window, echo, blocks: blocks.into_iter().collect() })
    });
    let data = (near(), any::<bool>(), 0..3_000u32);
    let leave = || (0..4u8, near()).prop_map(|(path, last)| Leave { path, last });
    prop_oneof![
        6 => ack.prop_map(|body| (body, 0)),
        4 => data.prop_map(|(seq, fin, len)| (Body::Data(Data { seq, fin }), len)),
        1 => (any::<bool>(), 0..3u64, small())
            .prop_map(|(open, nonce, window)| (Body::Join(Join { open, nonce, window }), 0)),
        1 => (0..3u64, 0..3u64, small()).prop_map(|(nonce, answers, window)| {
            (Body::Challenge(Challenge { nonce, answers, window }), 0)
        }),
        1 => (0..3u64).prop_map(|answers| (Body::Response { answers }, 0)),
        1 => leave().prop_map(|leave| (Body::Leave(leave), 0)),
        1 => leave().prop_map(|leave| (Body::Left(leave), 0)),
        1 => Just((Body::Reset { reason: Reason::Abort }, 0)),
    ]
}

proptest! {
    /// Nothing that can be said makes an end panic, send without end, or wake in the past.
    #[test]
    fn nothing_does_harm(
        opener: bool,
        said in prop::collection::vec((0..3u8, bodies(), 0..400u64, 0..30u8), 1..120),
    ) {
        let mut victim = if opener { Victim::opener() } else { Victim::acceptor() };
        for (path, (body, payload), ms, own) in said {
            // A reset ends all; most runs are to go on.
            if !matches!(body, Body::Reset { .. }) || own == 0 {
                victim.receive(path, body, payload);
            }
            match own {
                1 => victim.report(Input::Write(Virtual(20_000))),
                2 => victim.report(Input::Finish),
                3 => victim.report(Input::Leave { path }),
                4 => victim.report(Input::Join { path, nominal: None }),
                5 => {
                    victim.end.read(u32::MAX);
                    victim.drain();
                }
                _ => {}
            }
            victim.pass(Duration::from_millis(ms));
            prop_assert!(victim.end.paths().count() <= 8);
            let flight: u64 = victim.end.paths().map(|path| u64::from(path.flight)).sum();
            prop_assert!(flight <= 8 * 50_001, "{} bytes in flight", flight);
        }
    }
}
