//! A scheduler fed by hand: two stations with weights 3 and 1 share a queue, and the program takes
//! packets out as a sender would.
//!
//! `cargo run -p fairwave-queue --example by_hand`

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use fairwave_queue::{ALL, Discipline, FlowKey, Item, Limit, Segment, Weight};
use fairwave_units::{Instant, Seed};

/// A packet of 1500 bytes to a station.
#[derive(Clone, Copy, Debug)]
struct Packet {
    station: u32,
}

impl Item for Packet {
    fn bytes(&self) -> u32 {
        1500
    }

    fn receiver(&self) -> u32 {
        self.station
    }

    fn flow(&self) -> FlowKey {
        FlowKey { destination: self.station, ..FlowKey::default() }
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        None
    }

    fn clamp_window(&mut self, _max: u16) {}

    fn mark_ce(&mut self) -> bool {
        false
    }
}

/// Packets of each station among the first 20 out of 40.
fn served(name: &str) -> [usize; 2] {
    let known = ALL.iter().find(|discipline| discipline.name == name).expect("it is listed");
    let mut queue: Box<dyn Discipline<Packet>> =
        (known.spec)(Limit::Packets(100)).build(Seed(1).stream("queue"));
    let now = Instant::ZERO;
    queue.set_weight(now, 0, Weight(3 * Weight::ONE.0));
    queue.set_weight(now, 1, Weight::ONE);
    for station in [0, 1].into_iter().cycle().take(40) {
        queue.push(now, Packet { station });
    }
    let mut served = [0, 0];
    for packet in std::iter::from_fn(|| queue.pop(now)).take(20) {
        served[packet.station as usize] += 1;
    }
    served
}

fn main() {
    for name in ["drop-tail", "wfq"] {
        let [first, second] = served(name);
        println!("{name}: {first} packets to the station of weight 3, {second} to the other");
    }
}

#[test]
fn weights_decide_where_the_discipline_has_them() {
    assert_eq!(served("drop-tail"), [10, 10]);
    let [first, second] = served("wfq");
    assert!(first >= 14 && first + second == 20, "{first} and {second}");
}
