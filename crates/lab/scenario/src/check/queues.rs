//! Checks that full queues fit into memory.

use super::report::Check;
use crate::diagnostic::Refusal;
use crate::expand::{self, Expanded};
use crate::limits::MAX_QUEUE_BYTES;
use crate::node::Kind;
use fairwave_queue::Spec;

/// Memory that a waiting packet takes, about: its headers, and its places in lists.
const PACKET_BYTES: u64 = 160;
/// Memory that one of the queues takes which flows are spread over, about.
const BUCKET_BYTES: u64 = 128;

/// A table whose queues there are several of.
struct Queues {
    at: (&'static str, usize),
    count: u64,
    spec: Spec,
}

impl Queues {
    /// Memory that they take when they are full of packets of 1500 bytes.
    fn bytes(&self) -> u64 {
        let each = self.spec.max_packets() * PACKET_BYTES + self.spec.buckets() * BUCKET_BYTES;
        self.count.saturating_mul(each)
    }
}

impl Check<'_> {
    /// Queues take memory as they fill. Queues that could never all be full are refused before a
    /// run, not killed in the middle of one.
    pub(super) fn queues(&mut self, nodes: &[Expanded]) {
        let queues = self.all_queues(nodes);
        let sum = queues.iter().map(Queues::bytes).fold(0, u64::saturating_add);
        let Some(largest) = queues.iter().max_by_key(|queues| queues.bytes()) else { return };
        if sum <= MAX_QUEUE_BYTES {
            return;
        }
        let [all, max] = [sum, MAX_QUEUE_BYTES].map(gibibytes);
        let packets = largest.spec.max_packets();
        let message = format!("full queues would take {all} of memory; at most {max} are possible");
        let count = largest.count;
        let help = format!("lower the limit: {count} queues of {packets} packets are here");
        self.report(largest.at, "queue", Refusal::new(message).help(help));
    }

    fn all_queues(&self, nodes: &[Expanded]) -> Vec<Queues> {
        let scenario = self.scenario;
        let radios = scenario.node.iter().enumerate().filter_map(|(i, node)| {
            let radio = match &node.kind {
                Kind::AccessPoint(ap) => &ap.radio,
                Kind::Station(station) | Kind::Converter(station) => &station.radio,
                Kind::Host(_) => return None,
            };
            let count = u64::from(node.kind.count());
            Some(Queues { at: ("node", i), count, spec: radio.queue.0.clone() })
        });
        let links = scenario.link.iter().enumerate().map(|(i, link)| {
            let count = 2 * expand::wires(nodes, link).len() as u64;
            Queues { at: ("link", i), count, spec: link.queue.0.clone() }
        });
        radios.chain(links).collect()
    }
}

fn gibibytes(bytes: u64) -> String {
    format!("{} GiB", bytes.div_ceil(1 << 30))
}
