//! A congestion control of one's own in a simulated cell, beside Reno.
//!
//! `Careful` opens its window by half a segment a round trip and closes it by a quarter at a loss.
//! One of two uploads has it. The page docs/own-algorithm.md goes through this file.
//!
//! `cargo run --release -p fairwave-scenario --example own_algorithm`

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use fairwave_cc::{AckEvent, Controller, Initial, LossEvent, RtoEvent};
use fairwave_scenario::{OwnAlgorithms, Scenario};
use fairwave_sim::{Outcome, run};
use fairwave_trace::Discard;

/// A window in bytes, and the threshold up to which it doubles.
#[derive(Debug)]
struct Careful {
    mss: u32,
    cwnd: u32,
    ssthresh: u32,
}

impl Controller for Careful {
    fn name(&self) -> String {
        "careful".to_owned()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        self.cwnd += match self.cwnd < self.ssthresh {
            true => ack.acked.min(self.mss),
            false => (self.mss * self.mss / self.cwnd / 2).max(1),
        };
    }

    fn on_loss(&mut self, _loss: &LossEvent) {
        self.ssthresh = (self.cwnd / 4 * 3).max(2 * self.mss);
        self.cwnd = self.ssthresh;
    }

    fn on_rto(&mut self, _rto: &RtoEvent) {
        self.ssthresh = (self.cwnd / 2).max(2 * self.mss);
        self.cwnd = self.mss;
    }

    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }
}

fn careful(initial: Initial) -> Box<dyn Controller> {
    Box::new(Careful { mss: initial.mss, cwnd: initial.cwnd, ssthresh: initial.ssthresh })
}

const SCENARIO: &str = r#"
duration = "20 s"
cell.standard = "802.11g"
node = [
    { name = "ap", kind = "access-point", queue = "50 packets" },
    { name = "a", kind = "station" },
    { name = "b", kind = "station" },
    { name = "server", kind = "host" },
]
link = [{ ends = ["ap", "server"], rate = "10 Mbps", delay = "20 ms" }]
flow = [
    { name = "reno", from = "a", to = "server" },
    { name = "careful", from = "b", to = "server", congestion_control = "careful" },
]
"#;

/// The result of the scenario in `text`, which may name the algorithm.
fn outcome(text: &str) -> Outcome {
    let mut own = OwnAlgorithms::default();
    own.add_congestion_control("careful", careful).expect("a name of its own");
    let scenario = Scenario::parse_with("own.toml", text, &own).expect("the scenario is valid");
    run(&scenario.to_world(1), &mut Discard, &mut |_| ()).expect("the world can be simulated")
}

fn main() {
    for flow in outcome(SCENARIO).flows {
        println!("{}: {:.2} Mbps", flow.name, flow.goodput.0 as f64 / 1e6);
    }
}

#[test]
fn the_flow_has_the_algorithm_and_each_run_is_the_same() {
    let plain = SCENARIO.replace("\"careful\" }", "\"reno\" }");
    let goodput = |outcome: Outcome| outcome.flows.iter().map(|flow| flow.goodput.0).collect();
    let (own, again, reno): (Vec<u64>, Vec<u64>, Vec<u64>) =
        (goodput(outcome(SCENARIO)), goodput(outcome(SCENARIO)), goodput(outcome(&plain)));
    assert!(own == again && own != reno, "{own:?} {reno:?}");
    assert!(own.iter().all(|bps| *bps > 0));
}
