//! One arithmetic in two languages: the C that the kernel runs, compiled for this host, and the
//! algorithm of `crates/protocols/cc` hear the same random events and must agree in every field
//! after each.
//!
//! The C prints its state as Rust's `Debug` prints the algorithm's, so that a field that one of
//! them lacks is a difference too.

use fairwave_cc::{
    AckEvent, AckLossOptions, Controller, Fraction, Initial, LossEvent, RtoEvent, TcpAvConfig,
    build,
};
use fairwave_units::{BitRate, Duration, Instant, Seed, Stream};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The algorithms that are compared, by their names in `crates/protocols/cc`.
const ALGORITHMS: [&str; 16] = [
    "reno",
    "cubic",
    "compound",
    "tcp-av",
    "ack-loss+reno",
    "ack-loss+cubic",
    "ack-loss+compound",
    "ack-loss+tcp-av",
    "ack-loss-literal+reno",
    "ack-loss-literal+cubic",
    "ack-loss-literal+compound",
    "ack-loss-literal+tcp-av",
    "ack-loss-timestamps+reno",
    "ack-loss-timestamps+cubic",
    "ack-loss-timestamps+compound",
    "ack-loss-timestamps+tcp-av",
];

/// What happens to a connection, and the arguments of the driver in its order.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ack(AckEvent),
    Loss(LossEvent),
    Rto(RtoEvent),
    Ecn(LossEvent),
    Spurious,
    AckLoss(Fraction),
    Idle(Duration),
}

impl Event {
    fn apply(&self, algorithm: &mut dyn Controller) {
        match self {
            Self::Ack(ack) => algorithm.on_ack(ack),
            Self::Loss(loss) => algorithm.on_loss(loss),
            Self::Rto(rto) => algorithm.on_rto(rto),
            Self::Ecn(loss) => algorithm.on_ecn(loss),
            Self::Spurious => algorithm.on_spurious(Instant::ZERO),
            Self::AckLoss(part) => {
                algorithm.on_ack_loss(
                    &LossEvent { now: Instant::ZERO, flight: 0, una: 0, next: 0 },
                    *part,
                );
            }
            Self::Idle(idle) => algorithm.on_idle_restart(*idle),
        }
    }

    /// `struct event` of the driver.
    fn row(&self, whole: bool) -> [u64; 22] {
        let mut row = [0; 22];
        row[1] = u64::from(whole);
        match self {
            Self::Ack(ack) => {
                row[2..6].copy_from_slice(&[ack.now.as_nanos(), ack.una, ack.next, ack.delivered]);
                row[6] = ack.rtt.map_or(0, Duration::as_nanos);
                row[7..10].copy_from_slice(&[ack.acked, ack.sacked, ack.lost].map(u64::from));
                let flags = [
                    ack.rtt.is_some(),
                    ack.in_recovery,
                    ack.cwnd_limited,
                    ack.covers_retransmission,
                ];
                row[10..14].copy_from_slice(&flags.map(u64::from));
                row[19..21].copy_from_slice(&[ack.echo_gap.is_some().into(), gap(ack).into()]);
            }
            Self::Loss(loss) | Self::Ecn(loss) => {
                row[0] = if matches!(self, Self::Loss(_)) { 1 } else { 3 };
                (row[3], row[4], row[14]) = (loss.una, loss.next, u64::from(loss.flight));
            }
            Self::Rto(rto) => {
                (row[0], row[14], row[15]) = (2, rto.flight.into(), rto.backoff.into());
                row[21] = rto.keeps_ssthresh.into();
            }
            Self::Spurious => row[0] = 4,
            Self::AckLoss(part) => {
                (row[0], row[16], row[17]) = (5, part.num.into(), part.den.into());
            }
            Self::Idle(idle) => (row[0], row[18]) = (6, idle.as_nanos()),
        }
        row
    }
}

/// What the echo of an ACK shows, zero where it shows nothing.
fn gap(ack: &AckEvent) -> u32 {
    ack.echo_gap.unwrap_or(0)
}

/// A number whose magnitude is as likely to be small as large, below 2 to the `bits`.
fn any(random: &mut Stream, bits: u64) -> u64 {
    let width = random.below(bits + 1);
    random.next_u64() & ((1_u128 << width) - 1) as u64
}

fn any32(random: &mut Stream) -> u32 {
    any(random, 32) as u32
}

fn pick<T: Copy>(random: &mut Stream, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

fn fraction(random: &mut Stream) -> Fraction {
    Fraction::new(any32(random), any32(random))
}

fn aim(random: &mut Stream) -> TcpAvConfig {
    let usual = TcpAvConfig {
        target: random.chance(0.8).then(|| BitRate(any(random, 36))),
        cap_to_target: random.chance(0.3),
        floor_at_reno: random.chance(0.3),
        ..TcpAvConfig::default()
    };
    if random.chance(0.8) {
        return usual;
    }
    TcpAvConfig {
        target: Some(BitRate(any(random, 64))),
        margin: fraction(random),
        horizon: Duration::from_nanos(any(random, 64)),
        catch_up: Duration::from_nanos(any(random, 64)),
        most: fraction(random),
        severe: fraction(random),
        ..usual
    }
}

fn start(random: &mut Stream) -> Initial {
    let mss = pick(random, &[1460, 1448, 1448, 536, 9_000, 1, 0, 65_535]);
    let unset = random.chance(0.7);
    Initial {
        mss,
        cwnd: if random.chance(0.7) { 10 * mss } else { any32(random) },
        ssthresh: if unset { u32::MAX } else { any32(random) },
        byte_counting: random.chance(0.7),
        slow_start_segments: pick(random, &[1, 1, 2, 0, u32::MAX]),
        av: aim(random),
        ack_loss: AckLossOptions::DEFAULT,
    }
}

/// `struct start` of the driver.
fn start_row(initial: &Initial) -> [u64; 16] {
    let av = &initial.av;
    [
        initial.mss.into(),
        initial.cwnd.into(),
        initial.ssthresh.into(),
        initial.byte_counting.into(),
        initial.slow_start_segments.into(),
        av.target.map_or(0, |rate| rate.0),
        av.horizon.as_nanos(),
        av.catch_up.as_nanos(),
        av.margin.num.into(),
        av.margin.den.into(),
        av.most.num.into(),
        av.most.den.into(),
        av.severe.num.into(),
        av.severe.den.into(),
        av.cap_to_target.into(),
        av.floor_at_reno.into(),
    ]
}

/// A connection as its sender sees it: time and offsets never go back.
struct Connection {
    random: Stream,
    mss: u32,
    stride: u32,
    timestamps: bool,
    /// Times are multiples of this, in nanoseconds.
    clock: u64,
    ack_loss: f64,
    base_rtt: u64,
    now: u64,
    una: u64,
    next: u64,
    delivered: u64,
}

impl Connection {
    fn new(mut random: Stream, mss: u32) -> Self {
        Self {
            mss: mss.max(1),
            stride: 1 + random.below(3) as u32,
            timestamps: false,
            clock: 1,
            ack_loss: pick(&mut random, &[0.0, 0.02, 0.2, 0.6]),
            base_rtt: 1 + any(&mut random, 28),
            now: any(&mut random, 40),
            una: 0,
            next: 10 * u64::from(mss.max(1)),
            delivered: 0,
            random,
        }
    }

    /// The event that follows when the window is `cwnd`.
    fn event(&mut self, cwnd: u32) -> Event {
        let random = &mut self.random;
        let (now, next) = (Instant::from_nanos(self.now), self.next);
        let flight = if random.chance(0.9) {
            u32::try_from(self.next - self.una).unwrap_or(u32::MAX)
        } else {
            any32(random)
        };
        let loss = LossEvent { now, flight, una: self.una, next };
        match random.below(400) {
            0..4 => Event::Loss(loss),
            4 => {
                let (backoff, keeps_ssthresh) = (random.below(4) as u32, random.chance(0.3));
                Event::Rto(RtoEvent { now, flight, backoff, keeps_ssthresh })
            }
            5..7 => Event::Ecn(loss),
            7..9 => Event::Spurious,
            9 => Event::AckLoss(fraction(random)),
            10 => Event::Idle(Duration::from_nanos(any(random, 34))),
            11 if random.chance(0.1) => {
                self.stride = 1 + random.below(8) as u32;
                self.ack(cwnd)
            }
            _ => self.ack(cwnd),
        }
    }

    fn ack(&mut self, cwnd: u32) -> Event {
        let random = &mut self.random;
        let mut strides = 1;
        while strides < 80 && random.chance(self.ack_loss) {
            strides += 1;
        }
        let advance = match random.below(50) {
            0 => 0,
            1 => any32(random) >> 8,
            _ => (strides * self.stride).saturating_mul(self.mss),
        };
        let advance = u64::from(advance).min(self.next - self.una);
        self.una += advance;
        let room = (self.una + u64::from(cwnd)).max(self.next);
        self.next = if random.chance(0.05) { self.next } else { room };
        let echo_gap = match random.below(20) {
            _ if !self.timestamps => None,
            0 => Some(any32(random)),
            _ => Some((advance as u32).saturating_sub(self.stride.saturating_mul(self.mss))),
        };
        let sacked = if random.chance(0.03) { any32(random) >> 12 } else { 0 };
        self.delivered += advance + u64::from(sacked);
        let pause = if random.chance(0.01) { 36 } else { 21 };
        self.now = (self.now + any(random, pause)).next_multiple_of(self.clock);
        let rtt = (self.base_rtt + any(random, 27)).next_multiple_of(self.clock);
        Event::Ack(AckEvent {
            now: Instant::from_nanos(self.now),
            acked: advance as u32,
            sacked,
            una: self.una,
            next: self.next,
            delivered: self.delivered,
            lost: if random.chance(0.02) { any32(random) >> 10 } else { 0 },
            rtt: random.chance(0.9).then(|| Duration::from_nanos(rtt)),
            in_recovery: random.chance(0.03),
            cwnd_limited: random.chance(0.95),
            covers_retransmission: random.chance(0.02),
            echo_gap,
            ..AckEvent::default()
        })
    }
}

/// Compiles the driver with the C compiler of this system.
pub(crate) fn driver(into: &Path) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = into.join("driver");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut compile = Command::new(compiler);
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(here.join("bpf"));
    compile.arg(here.join("tests/it/driver.c")).arg("-o").arg(&program);
    assert!(compile.status().expect("a C compiler starts").success(), "the driver compiles");
    program
}

/// What is configured stays as it is, and is given to the driver by the start.
fn without_configurations(mut state: String) -> String {
    for (begin, end) in
        [("config: AckLossConfig {", " } }"), ("config: CompoundConfig {", " }, mss")]
    {
        cut(&mut state, begin, end);
    }
    cut(&mut state, "config: TcpAvConfig {", " }, mss");
    state
}

/// Replaces a configuration by a star.
fn cut(state: &mut String, begin: &str, end: &str) {
    let Some(at) = state.find(begin) else { return };
    let closing = end.find(',').unwrap_or(end.len());
    let length = state[at..].find(end).expect("it is closed") + closing;
    state.replace_range(at..at + length, "config: *");
}

/// Counts growth as the kernel does, where some algorithms have a short way for plain ACKs; its
/// times are microseconds.
fn as_kernel(initial: Initial) -> Initial {
    Initial { byte_counting: true, slow_start_segments: u32::MAX, ..initial }
}

/// How many ACKs were plain ones, of the driver's last line.
pub(crate) fn plain_acks(line: &str) -> u64 {
    let count = line.strip_suffix(" plain").and_then(|count| count.parse().ok());
    count.unwrap_or_else(|| panic!("the driver counts plain ACKs at its end, not {line:?}"))
}

/// Drives one algorithm by `count` events of one connection, and compares the whole state after
/// each
/// `whole`-th and the last. How many ACKs were plain ones.
fn compare(driver: &Path, name: &str, seed: u64, count: u32, whole: u32) -> u64 {
    let mut random = Seed(seed).stream(name);
    let initial = start(&mut random);
    let kernel = !seed.is_multiple_of(2);
    let initial = if kernel { as_kernel(initial) } else { initial };
    let mut algorithm = build(name, initial).expect("the algorithm is registered");
    let mut connection = Connection::new(random, initial.mss);
    connection.clock = if kernel { 1_000 } else { 1 };
    connection.timestamps = name.starts_with("ack-loss-timestamps") && !seed.is_multiple_of(4);
    let mut input = Vec::new();
    let mut expected = Vec::new();
    input.extend(start_row(&initial).iter().flat_map(|word| word.to_ne_bytes()));
    for at in 1..=count {
        let event = connection.event(algorithm.cwnd());
        event.apply(&mut *algorithm);
        let shown = at % whole == 0 || at == count;
        input.extend(event.row(shown).iter().flat_map(|word| word.to_ne_bytes()));
        let mut line =
            format!("{} {} {}", algorithm.cwnd(), algorithm.ssthresh(), algorithm.acks_lost());
        if shown {
            line += &format!(" {}", without_configurations(format!("{algorithm:?}")));
        }
        expected.push((line, event));
    }
    let mut child = Command::new(driver)
        .arg(name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the driver starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut next_line = || lines.next().expect("a line an event").expect("it is text");
    let mut before = String::from("the start");
    for (at, (wanted, event)) in expected.iter().enumerate() {
        let line = next_line();
        assert_eq!(
            line, *wanted,
            "{name}, seed {seed}, {initial:?}: event {at}, {event:?}, after {before}"
        );
        before = line;
    }
    let plain = plain_acks(&next_line());
    feeder.join().expect("no panic").expect("the driver reads all");
    assert!(child.wait().expect("it ends").success());
    plain
}

fn compare_all(seeds: std::ops::Range<u64>, count: u32, whole: u32) {
    let place = tempfile::tempdir().expect("a directory");
    let driver = driver(place.path());
    for name in ALGORITHMS {
        let plain: u64 = seeds.clone().map(|seed| compare(&driver, name, seed, count, whole)).sum();
        let (minimum, events) = (seeds.clone().count() as u64 * u64::from(count) / 40, count);
        let short = ["ack-loss-timestamps+reno", "ack-loss-timestamps+cubic"].contains(&name);
        assert_eq!(plain > minimum, short, "{name}: {plain} plain ACKs, {events} events a seed");
    }
}

#[test]
fn c_and_rust_agree_in_every_field() {
    compare_all(0..12, 2_000, 16);
}

#[test]
#[ignore = "minutes: cargo test -p fairwave-bpf --test it -- differential::slow --ignored"]
fn slow_c_and_rust_agree_over_a_million_events() {
    compare_all(100..250, 1_000, 1);
}
