//! The golden table: what each law does with its window in each scripted scenario, round by
//! round. A change of behaviour shows as a diff of `golden/windows.txt`.

use fairwave_cc::{AckEvent, Controller, Initial, LossEvent, RtoEvent, build, names};
use fairwave_units::{Duration, Instant};
use std::fmt::Write as _;
use std::fs;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/windows.txt");
const MSS: u32 = 1_000;
const ROUNDS: u32 = 24;

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
}

type Scenario = (&'static str, u32, fn(u32) -> Event);

/// Name, ssthresh in segments at the start, and what happens in which round.
const SCENARIOS: &[Scenario] = &[
    ("clean", 64, |_| Event::Nothing),
    ("one loss", 64, |round| if round == 8 { Event::Loss } else { Event::Nothing }),
    ("loss every 6", 64, |round| if round % 6 == 5 { Event::Loss } else { Event::Nothing }),
    ("timeout", 64, |round| if round == 8 { Event::Timeout } else { Event::Nothing }),
    ("mark", 64, |round| if round == 8 { Event::Mark } else { Event::Nothing }),
    ("queue from 12", 64, |round| if round >= 12 { Event::Queued } else { Event::Nothing }),
    ("ack lost at 8", 64, |round| if round == 8 { Event::AckLost } else { Event::Nothing }),
    ("acks lost always", 64, |_| Event::AckLost),
    ("delayed acks", 64, |_| Event::Delayed),
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
        "# Window in segments at the end of each round, IW 4, one round per RTT of 100 ms.\n",
    );
    for (scenario, ssthresh, script) in SCENARIOS {
        let _ = writeln!(text, "\n{scenario}");
        for name in names() {
            let initial =
                Initial { mss: MSS, cwnd: 4 * MSS, ssthresh: ssthresh * MSS, byte_counting: true };
            let law = build(&name, initial).expect("listed");
            let mut path = Path { law, una: 0, now: Instant::ZERO };
            let _ = write!(text, "  {name:<28}");
            for round in 0..ROUNDS {
                path.round(script(round));
                let _ = write!(text, "{:>5}", path.law.cwnd() / MSS);
            }
            text.push('\n');
        }
    }
    text
}

struct Path {
    law: Box<dyn Controller>,
    una: u64,
    now: Instant,
}

impl Path {
    fn round(&mut self, event: Event) {
        let segments = (self.law.cwnd() / MSS).max(1);
        let end = self.una + u64::from(segments * MSS);
        let (now, flight) = (self.now, segments * MSS);
        let loss = LossEvent { now, flight, next: end };
        match event {
            Event::Loss => self.law.on_loss(&loss),
            Event::Mark => self.law.on_ecn(&loss),
            Event::Timeout => self.law.on_rto(&RtoEvent { now, flight, backoff: 1 }),
            Event::Nothing | Event::AckLost | Event::Delayed | Event::Queued => {}
        }
        let timeout = matches!(event, Event::Timeout);
        self.acknowledge(event, if timeout { 1 } else { segments });
        if matches!(event, Event::Loss) {
            self.law.on_recovery_end(now);
        }
    }

    /// One window of ACKs.
    fn acknowledge(&mut self, event: Event, segments: u32) {
        let rtt = Duration::from_millis(if matches!(event, Event::Queued) { 130 } else { 100 });
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
            self.law.on_ack(&AckEvent {
                now: self.now,
                acked: stride * MSS,
                sacked: 0,
                una: self.una,
                next: self.una + u64::from(segments * MSS),
                flight: segments * MSS,
                rtt: Some(rtt),
                in_recovery: matches!(event, Event::Loss),
                cwnd_limited: true,
                covers_retransmission: matches!(event, Event::Timeout),
                echo_gap: matches!(event, Event::AckLost).then_some((stride - 1) * MSS),
                ..AckEvent::default()
            });
        }
    }
}
