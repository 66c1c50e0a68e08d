//! The golden table: what each algorithm does with its window in each scripted scenario, round by
//! round. A change of behaviour shows as a diff of `golden/windows.txt`.

use fairwave_cc::{
    AckEvent, AckLossOptions, Controller, Initial, LossEvent, RateSample, RtoEvent, TcpAvConfig,
    build, names,
};
use fairwave_units::{BitRate, Duration, Instant};
use std::fmt::Write as _;
use std::fs;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/windows.txt");
const MSS: u32 = 1_000;
const ROUNDS: u32 = 24;
/// The receiver's window in segments.
const RECEIVER: u32 = 256;

/// Rates that `tcp-av` aims at: 16, 32 and 64 segments in 100 ms.
const TARGETS_KBPS: [u64; 3] = [1_280, 2_560, 5_120];

/// What a round of the scripted path does besides acknowledging one window.
#[derive(Clone, Copy)]
enum Event {
    Nothing,
    Loss,
    Timeout,
    Mark,
    /// One ACK of the round is lost.
    AckLost,
    /// The receiver acknowledges every second segment.
    Delayed,
    /// The RTT is 130 ms instead of 100 ms.
    Queued,
    /// The path carries 32 segments in 100 ms; more than those wait.
    Narrow,
    /// As `Narrow`, and one segment is lost.
    NarrowLoss,
}

/// What happens in a round, by its number and the window in segments.
type Script = fn(u32, u32) -> Event;

/// Name, ssthresh in segments at the start (`u32::MAX` for none), and the script.
type Scenario = (&'static str, u32, Script);

const SCENARIOS: &[Scenario] = &[
    ("clean", 64, |_, _| Event::Nothing),
    ("one loss", 64, |round, _| if round == 8 { Event::Loss } else { Event::Nothing }),
    ("loss every 6", 64, |round, _| if round % 6 == 5 { Event::Loss } else { Event::Nothing }),
    ("timeout", 64, |round, _| if round == 8 { Event::Timeout } else { Event::Nothing }),
    ("mark", 64, |round, _| if round == 8 { Event::Mark } else { Event::Nothing }),
    ("queue from 12", 64, |round, _| if round >= 12 { Event::Queued } else { Event::Nothing }),
    ("ack lost at 8", 64, |round, _| if round == 8 { Event::AckLost } else { Event::Nothing }),
    ("acks lost always", 64, |_, _| Event::AckLost),
    ("delayed acks", 64, |_, _| Event::Delayed),
    ("32 segments in 100 ms, 160 more queue", u32::MAX, |_, segments| {
        if segments > 192 { Event::NarrowLoss } else { Event::Narrow }
    }),
    ("32 segments in 100 ms, 32 more queue", u32::MAX, |_, segments| {
        if segments > 64 { Event::NarrowLoss } else { Event::Narrow }
    }),
];

#[test]
fn windows_are_as_recorded() {
    let recorded = fs::read_to_string(PATH).expect("the golden table is part of the source");
    let now = table();
    let changed: Vec<_> = recorded.lines().zip(now.lines()).filter(|(a, b)| a != b).collect();
    let diff = changed.iter().fold(String::new(), |mut text, (was, is)| {
        let _ = writeln!(text, "- {was}\n+ {is}");
        text
    });
    assert!(recorded == now, "windows changed; if meant, run `cargo xtask golden`\n{diff}");
}

#[test]
#[ignore = "rewrites the golden table; cargo xtask golden calls it"]
fn bless() {
    fs::write(PATH, table()).expect("the golden table can be written");
}

fn table() -> String {
    let mut text = String::from(
        "# Window in segments at the end of each round, IW 4, one round per RTT of 100 ms.\n\
         # A wrapped algorithm's row is left out where it is the plain algorithm's.\n",
    );
    for (scenario, ssthresh, script) in SCENARIOS {
        let _ = writeln!(text, "\n{scenario}");
        for name in names() {
            let windows = row(&name, *ssthresh, *script, None);
            let plain = name.rsplit('+').next().filter(|plain| *plain != name);
            if plain.is_none_or(|plain| row(plain, *ssthresh, *script, None) != windows) {
                let _ = writeln!(text, "  {name:<36}{windows}");
            }
        }
        for kbps in TARGETS_KBPS {
            let windows = row("tcp-av", *ssthresh, *script, Some(BitRate(kbps * 1_000)));
            let _ = writeln!(text, "  {:<36}{windows}", format!("tcp-av towards {kbps} kbps"));
        }
    }
    text
}

/// The algorithm's windows through a scenario.
fn row(name: &str, ssthresh: u32, script: Script, target: Option<BitRate>) -> String {
    let ssthresh = ssthresh.saturating_mul(MSS);
    let av = TcpAvConfig { target, ..TcpAvConfig::DEFAULT };
    let initial = Initial {
        mss: MSS,
        cwnd: 4 * MSS,
        ssthresh,
        byte_counting: true,
        slow_start_segments: 1,
        av,
        ack_loss: AckLossOptions::DEFAULT,
    };
    let algorithm = build(name, initial).expect("listed");
    let mut path = Path { algorithm, una: 0, now: Instant::ZERO, rtt: Duration::from_millis(100) };
    let mut windows = String::new();
    for round in 0..ROUNDS {
        path.round(script(round, path.window()));
        let _ = write!(windows, "{:>5}", path.algorithm.cwnd() / MSS);
    }
    windows
}

struct Path {
    algorithm: Box<dyn Controller>,
    una: u64,
    now: Instant,
    /// The last round's.
    rtt: Duration,
}

impl Path {
    /// Segments in flight during a round: by the window, the receiver and the pacing.
    fn window(&self) -> u32 {
        let paced = self.algorithm.pacing_rate().map_or(u64::MAX, |rate| {
            let bit_nanos = u128::from(rate.0) * u128::from(self.rtt.as_nanos());
            (bit_nanos / 8_000_000_000 / u128::from(MSS)) as u64
        });
        let window = (self.algorithm.cwnd() / MSS).clamp(1, RECEIVER);
        paced.clamp(1, u64::from(window)) as u32
    }

    fn round(&mut self, event: Event) {
        let segments = self.window();
        let end = self.una + u64::from(segments * MSS);
        let (now, flight) = (self.now, segments * MSS);
        let loss = LossEvent { now, flight, una: 0, next: end };
        match event {
            Event::Loss | Event::NarrowLoss => self.algorithm.on_loss(&loss),
            Event::Mark => self.algorithm.on_ecn(&loss),
            Event::Timeout => {
                let timeout = RtoEvent { now, flight, backoff: 1, keeps_ssthresh: false };
                self.algorithm.on_rto(&timeout);
            }
            _ => {}
        }
        let timeout = matches!(event, Event::Timeout);
        self.acknowledge(event, if timeout { 1 } else { segments });
        if matches!(event, Event::Loss | Event::NarrowLoss) {
            self.algorithm.on_recovery_end(now);
        }
    }

    /// One window of ACKs.
    fn acknowledge(&mut self, event: Event, segments: u32) {
        let millis = match event {
            Event::Queued => 130,
            Event::Narrow | Event::NarrowLoss => (u64::from(segments) * 100 / 32).max(100),
            _ => 100,
        };
        let rtt = Duration::from_millis(millis);
        self.rtt = rtt;
        let (start, count) = (self.now, u64::from(segments));
        let mut left = segments;
        while left > 0 {
            let stride = match event {
                Event::Delayed => 2,
                Event::AckLost if left == segments / 2 => 2,
                _ => 1,
            };
            let stride = stride.min(left);
            left -= stride;
            self.una += u64::from(stride * MSS);
            self.now =
                start + Duration::from_nanos(rtt.as_nanos() * (count - u64::from(left)) / count);
            self.algorithm.on_ack(&AckEvent {
                now: self.now,
                acked: stride * MSS,
                sacked: 0,
                una: self.una,
                next: self.una + u64::from(segments * MSS),
                flight: segments * MSS,
                rtt: Some(rtt),
                flight_after: (segments - stride) * MSS,
                lost: 0,
                delivered: self.una,
                rate: Some(RateSample {
                    delivered: segments * MSS,
                    interval: rtt,
                    prior_delivered: self.una.saturating_sub(u64::from(segments * MSS)),
                    is_app_limited: false,
                }),
                in_recovery: matches!(event, Event::Loss | Event::NarrowLoss),
                cwnd_limited: self.algorithm.cwnd() / MSS <= RECEIVER,
                covers_retransmission: matches!(event, Event::Timeout),
                echo_gap: matches!(event, Event::AckLost).then_some((stride - 1) * MSS),
            });
        }
    }
}
