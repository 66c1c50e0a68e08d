//! A scheduler and a rate control of one's own at an access point.
//!
//! `Turns` gives each station a packet by turns, however long its packets take. `Cautious` goes one
//! rate down after a failure, and one up after 20 successes. docs/own-algorithm.md goes through
//! this file.
//!
//! `cargo run --release -p fairwave-scenario --example own_access_point`

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use fairwave_dot11::rate_control::{Choice, RateControl};
use fairwave_queue::{Backlog, Scheduler, Weight};
use fairwave_scenario::{OwnAlgorithms, Scenario};
use fairwave_sim::{Outcome, run};
use fairwave_trace::Discard;
use fairwave_units::Instant;
use std::collections::VecDeque;

/// Hosts with packets and weight, each once, in the order of their turns.
#[derive(Debug, Default)]
struct Turns(VecDeque<u32>);

impl Turns {
    fn list(&mut self, Backlog { host, packets, weight, .. }: Backlog) {
        self.0.retain(|listed| *listed != host);
        if packets > 0 && !weight.is_zero() {
            self.0.push_back(host);
        }
    }
}

impl Scheduler for Turns {
    fn joined(&mut self, _: Instant, backlog: Backlog, _: u32) {
        if backlog.packets == 1 {
            self.list(backlog);
        }
    }

    fn next(&mut self, _: Instant) -> Option<u32> {
        self.0.front().copied()
    }

    fn taken(&mut self, _: Instant, backlog: Backlog, _: u32) {
        self.list(backlog);
    }

    fn shed(&mut self, backlog: Backlog, _: u32) {
        if backlog.packets == 0 {
            self.list(backlog);
        }
    }

    fn weighed(&mut self, _: Instant, backlog: Backlog, _: Weight) {
        self.list(backlog);
    }
}

/// The index of a rate, and the successes at it.
#[derive(Debug)]
struct Cautious {
    rate: usize,
    fastest: usize,
    successes: u32,
}

impl RateControl for Cautious {
    fn choose(&mut self, _: Instant, _: u32) -> Choice {
        Choice::usual(self.rate)
    }

    fn current(&self) -> usize {
        self.rate
    }

    fn on_attempt(&mut self, _: Instant, _: usize, sent: u32, acknowledged: u32) {
        self.successes = if 2 * acknowledged >= sent { self.successes + 1 } else { 0 };
        match self.successes {
            0 => self.rate = self.rate.saturating_sub(1),
            20 => (self.rate, self.successes) = ((self.rate + 1).min(self.fastest), 1),
            _ => {}
        }
    }
}

const SCENARIO: &str = r#"
duration = "10 s"
cell.standard = "802.11g"
link = [{ ends = ["ap", "server"], delay = "20 ms" }]
flow = [
    { name = "near", from = "server", to = "near" },
    { name = "far", from = "server", to = "far" },
]

[[node]]
name = "ap"
kind = "access-point"
rate_control = "cautious"
queue = { discipline = "turns" }

[[node]]
name = "near"
kind = "station"
distance = "5 m"

[[node]]
name = "far"
kind = "station"
distance = "60 m"

[[node]]
name = "server"
kind = "host"
"#;

/// The scenario in `text`, which may name both algorithms.
fn scenario(text: &str) -> Scenario {
    let mut own = OwnAlgorithms::default();
    own.add_scheduler("turns", || Box::new(Turns::default())).expect("a name of its own");
    own.add_rate_control("cautious", |setup| {
        Box::new(Cautious { rate: 0, fastest: setup.rates.len() - 1, successes: 0 })
    })
    .expect("a name of its own");
    Scenario::parse_with("own.toml", text, &own).expect("the scenario is valid")
}

fn outcome(text: &str) -> Outcome {
    let world = scenario(text).to_world(1);
    run(&world, &mut Discard, &mut |_| ()).expect("the world can be simulated")
}

fn main() {
    for flow in outcome(SCENARIO).flows {
        println!("{}: {:.2} Mbps", flow.name, flow.goodput.0 as f64 / 1e6);
    }
}

#[test]
fn both_algorithms_act_and_turns_are_those_of_the_listed_scheduler() {
    let goodput = |text: &str| -> Vec<u64> {
        outcome(text).flows.iter().map(|flow| flow.goodput.0).collect()
    };
    let with = |from: &str, to: &str| goodput(&SCENARIO.replace(from, to));
    let own = goodput(SCENARIO);
    assert!(own.iter().all(|bps| *bps > 0), "{own:?}");
    assert_eq!(own, goodput(SCENARIO));
    assert_eq!(own, with("turns", "csdps"));
    assert_ne!(own, with(r#"{ discipline = "turns" }"#, r#""100 packets""#));
    assert_ne!(own, with("cautious", "constant"));
}

#[test]
fn a_scenario_knows_that_its_text_is_not_all() {
    let with = |from: &str, to: &str| SCENARIO.replace(from, to);
    let (one, other) = (with("turns", "drr"), with("cautious", "arf"));
    assert!(scenario(&one).has_own_algorithms() && scenario(&other).has_own_algorithms());
    assert!(!scenario(&one.replace("cautious", "arf")).has_own_algorithms());
}
