//! Combinations of paths, and their scenarios.

use std::fmt::Write;

/// A path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) mbps: u32,
    /// Round-trip time without a queue.
    pub(super) rtt_ms: u32,
    /// Probability that a packet towards the sink is lost.
    pub(super) loss: f64,
}

/// Access links from the host to the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// A wire of 1 Gbps.
    Wire,
    /// A Wi-Fi cell for each line, on a channel of its own, where another station uploads, too.
    Cell,
}

/// Paths together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Combination {
    pub(super) name: String,
    pub(super) access: Access,
    /// Length of the lines' queues over rate times round-trip time.
    pub(super) queue: f64,
    /// Longest round-trip time over the shortest.
    pub(super) ratio: u32,
    pub(super) lines: Vec<Line>,
}

/// Shortest round-trip time, that of the widest path.
const RTT_MS: u32 = 20;
/// Rates in Mbps, the widest path first.
const SETS: [&[u32]; 3] = [&[300, 80], &[100, 50], &[20, 20, 10]];
/// Ratios of round-trip times.
const RATIOS: [u32; 3] = [1, 2, 4];
/// Receive buffer over the sum of rates times the longest round-trip time (RFC 8684 section 3.3.1).
const BUFFER: f64 = 2.0;
/// Length of a run, and of the part that is not measured, in seconds.
const RUN_S: u32 = 8;
const WARM_UP_S: u32 = 3;

/// Frequencies of the cells in MHz, of channels that do not overlap.
const CHANNELS_MHZ: [u32; 3] = [5180, 5200, 5220];

/// All combinations: each set with each ratio, clean and with a loss of 1 % on the last path; with
/// a ratio of 2 also with a loss of 2 % on the widest path, and with queues half as long. Two lines
/// of 100 Mbps behind a cell each, with each ratio.
pub(super) fn all() -> Vec<Combination> {
    let mut all = Vec::new();
    for rates in SETS {
        for ratio in RATIOS {
            let clean = combination(rates, ratio);
            let mut lossy = clean.with_name("1 % on the last path");
            lossy.lines.last_mut().expect("two paths or three").loss = 0.01;
            all.extend([clean, lossy]);
        }
        let mut lossy = combination(rates, 2).with_name("2 % on the widest path");
        lossy.lines[0].loss = 0.02;
        let short = combination(rates, 2).with_name("queues half as long");
        all.extend([lossy, Combination { queue: 0.5, ..short }]);
    }
    for ratio in RATIOS {
        let cells = combination(&[100, 100], ratio).with_name("behind contended cells");
        all.push(Combination { access: Access::Cell, ..cells });
    }
    all
}

fn combination(rates: &[u32], ratio: u32) -> Combination {
    let line = |(place, mbps): (usize, &u32)| {
        let rtt_ms = if place == 0 { RTT_MS } else { RTT_MS * ratio };
        Line { mbps: *mbps, rtt_ms, loss: 0.0 }
    };
    let names: Vec<String> = rates.iter().map(u32::to_string).collect();
    Combination {
        name: format!("{} Mbps, ratio {ratio}", names.join("+")),
        access: Access::Wire,
        queue: 1.0,
        ratio,
        lines: rates.iter().enumerate().map(line).collect(),
    }
}

impl Line {
    /// Packets of 1500 bytes in this share of rate times round-trip time.
    fn queue_packets(&self, share: f64) -> u32 {
        let bits = share * f64::from(self.mbps) * 1e3 * f64::from(self.rtt_ms);
        ((bits / 12_000.0).ceil() as u32).max(20)
    }
}

impl Combination {
    fn with_name(&self, more: &str) -> Self {
        Self { name: format!("{}, {more}", self.name), ..self.clone() }
    }

    /// Settings that name a run over a line alone.
    pub(super) fn key(&self, line: &Line) -> String {
        format!("{:?} {} {line:?}", self.access, self.queue)
    }

    /// Rates together in Mbps.
    pub(super) fn capacity(&self) -> f64 {
        self.lines.iter().map(|line| f64::from(line.mbps)).sum()
    }

    /// The scenario of a flow over some of the lines.
    pub(super) fn scenario(&self, lines: &[Line], is_mptcp: bool) -> String {
        let longest = self.lines.iter().map(|line| line.rtt_ms).max().unwrap_or(RTT_MS);
        let buffer = (self.capacity() * 1e3 * f64::from(longest) * BUFFER / 8.0) as u64;
        let mut text = format!(
            "title = \"{}\"\nduration = \"{RUN_S} s\"\nwarm_up = \"{WARM_UP_S} s\"\n\
             record = {{ sample_every = \"500 ms\", drops = false }}\n\
             emulate = {{ nodes = [\"host\", \"server\"], kernel_flows = [\"transfer\"], \
             mptcp = {is_mptcp} }}\n\
             [[node]]\nname = \"host\"\nkind = \"host\"\n\
             [[node]]\nname = \"server\"\nkind = \"host\"\n",
            self.name
        );
        for (line, n) in lines.iter().zip(1..) {
            text.push_str(&self.way(line, n));
        }
        let path = |(line, n): (&Line, usize)| {
            format!("{{ via = \"phone{n}\", bandwidth = \"{} Mbps\" }}", line.mbps)
        };
        let paths: Vec<String> = lines.iter().zip(1..).map(path).collect();
        let _ = write!(
            text,
            "[[flow]]\nname = \"transfer\"\nfrom = \"host\"\nto = \"server\"\n\
             transport = \"shake\"\nsend_buffer = \"{buffer} B\"\nreceive_buffer = \"{buffer} B\"\n\
             paths = [{}]\n",
            paths.join(", ")
        );
        text
    }
}

impl Combination {
    /// Nodes, links and other flows of a line.
    fn way(&self, line: &Line, n: usize) -> String {
        let (phone, from) = match self.access {
            Access::Wire => ("kind = \"host\"\n".to_owned(), format!("phone{n}")),
            Access::Cell => (in_cell(n), format!("ap{n}")),
        };
        format!(
            "[[node]]\nname = \"phone{n}\"\n{phone}\
             [[link]]\nends = [\"host\", \"phone{n}\"]\nrate = \"1 Gbps\"\n\
             [[link]]\nends = [\"{from}\", \"server\"]\nrate = \"{} Mbps\"\n\
             delay = \"{} us\"\nqueue = \"{} packets\"\nloss = {:?}\nloss_back = 0\n",
            line.mbps,
            line.rtt_ms * 500,
            line.queue_packets(self.queue),
            line.loss
        )
    }
}

/// The rest of a phone in a cell, its access point, and a station that uploads there.
fn in_cell(n: usize) -> String {
    let mhz = CHANNELS_MHZ[(n - 1) % CHANNELS_MHZ.len()];
    format!(
        "kind = \"station\"\nap = \"ap{n}\"\ndistance = \"5 m\"\n\
         [[node]]\nname = \"ap{n}\"\nkind = \"access-point\"\ncell = \"cell{n}\"\n\
         [[node]]\nname = \"other{n}\"\nkind = \"station\"\nap = \"ap{n}\"\n\
         distance = \"5 m\"\n\
         [[cell]]\nname = \"cell{n}\"\nstandard = \"802.11n\"\nfrequency = \"{mhz} MHz\"\n\
         [[flow]]\nname = \"upload{n}\"\nfrom = \"other{n}\"\nto = \"server\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_least_twenty_and_each_has_a_name_of_its_own() {
        let all = all();
        let names: std::collections::BTreeSet<&str> = all.iter().map(|one| &*one.name).collect();
        assert!(all.len() >= 20 && names.len() == all.len(), "{names:?}");
        assert!(RATIOS.iter().all(|ratio| all.iter().any(|one| one.ratio == *ratio)));
    }

    #[test]
    fn every_scenario_is_valid() {
        for one in all() {
            for is_mptcp in [true, false] {
                let text = one.scenario(&one.lines, is_mptcp);
                let plan = fairwave_scenario::plan::Plan::parse(&one.name, &text, &[]);
                assert!(plan.is_ok(), "{}\n{text}", plan.expect_err("is wrong"));
            }
        }
    }

    #[test]
    fn queues_hold_rate_times_round_trip() {
        let line = Line { mbps: 300, rtt_ms: 20, loss: 0.0 };
        assert_eq!(line.queue_packets(1.0), 500);
        assert_eq!(Line { mbps: 10, ..line }.queue_packets(1.0), 20, "not too short for a burst");
    }
}
