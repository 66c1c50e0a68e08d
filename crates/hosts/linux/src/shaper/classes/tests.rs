//! A kernel that refuses requests, or carries them out and loses its answer.

use super::*;
use netlink_packet_route::tc::{TcAttribute, TcFilterU32Option, TcOption};
use proptest::prelude::*;
use rustix::io::Errno;
use std::net::{IpAddr, Ipv4Addr};

/// A kernel's state, and the requests that it is to answer with an error.
#[derive(Debug, Default)]
struct Kernel {
    /// Shares by handle, as the kernel got them.
    classes: BTreeMap<u32, Vec<TcAttribute>>,
    /// Kinds of qdiscs by parent.
    qdiscs: BTreeMap<u32, String>,
    /// Classes by handle of the filter.
    filters: BTreeMap<u32, u32>,
    asked: usize,
    /// Numbers of requests that fail, and whether they are carried out nonetheless.
    fails: BTreeMap<usize, bool>,
    lacks: Option<&'static str>,
}

impl Kernel {
    fn answer(&mut self, carry_out: impl FnOnce(&mut Self) -> Result<(), Errno>) -> io::Result<()> {
        self.asked += 1;
        match self.fails.get(&self.asked) {
            Some(false) => Err(Errno::NOBUFS.into()),
            Some(true) => carry_out(self).and(Err(Errno::NOBUFS)).map_err(Into::into),
            None => carry_out(self).map_err(Into::into),
        }
    }
}

fn handle(message: &TcMessage) -> u32 {
    message.header.handle.into()
}

fn parent(message: &TcMessage) -> u32 {
    message.header.parent.into()
}

impl TrafficControl for Kernel {
    fn set_qdisc(&mut self, qdisc: TcMessage) -> io::Result<()> {
        self.answer(|kernel| {
            let kind = qdisc.attributes.iter().find_map(|attribute| match attribute {
                TcAttribute::Kind(kind) => Some(kind.clone()),
                _ => None,
            });
            let kind = kind.unwrap();
            let above = parent(&qdisc);
            // A queue's parent is the class 1 of a cutter, which has a handle of its own.
            let is_cutter = handle(&qdisc) != 0;
            let has_parent = match is_cutter {
                true => kernel.classes.contains_key(&above),
                false => kernel.qdiscs.contains_key(&(above & 0xffff_0000)),
            };
            if !has_parent || kernel.lacks == Some(&kind) {
                return Err(Errno::NOENT);
            }
            kernel.qdiscs.insert(if is_cutter { handle(&qdisc) } else { above }, kind);
            Ok(())
        })
    }

    fn set_class(&mut self, class: TcMessage) -> io::Result<()> {
        self.answer(|kernel| {
            kernel.classes.insert(handle(&class), class.attributes);
            Ok(())
        })
    }

    fn delete_class(&mut self, class: TcMessage) -> io::Result<()> {
        self.answer(|kernel| {
            if kernel.filters.values().any(|to| *to == handle(&class)) {
                return Err(Errno::BUSY);
            }
            let minor = handle(&class) & 0xffff;
            kernel.qdiscs.retain(|above, _| *above >> 16 != 0x1000 + minor);
            kernel.classes.remove(&handle(&class)).map(drop).ok_or(Errno::NOENT)
        })
    }

    fn add_filter(&mut self, filter: TcMessage) -> io::Result<()> {
        self.answer(|kernel| {
            let TcAttribute::Options(options) = &filter.attributes[1] else { panic!("{filter:?}") };
            let class = options.iter().find_map(|option| match option {
                TcOption::U32(TcFilterU32Option::ClassId(class)) => Some(u32::from(*class)),
                _ => None,
            });
            // Tables and hashing have no class or no handle.
            let Some(class) = class.filter(|_| handle(&filter) != 0) else { return Ok(()) };
            match kernel.filters.contains_key(&handle(&filter)) {
                true => Err(Errno::EXIST),
                false => {
                    kernel.filters.insert(handle(&filter), class);
                    Ok(())
                }
            }
        })
    }

    fn delete_filter(&mut self, filter: TcMessage) -> io::Result<()> {
        self.answer(|kernel| kernel.filters.remove(&handle(&filter)).map(drop).ok_or(Errno::NOENT))
    }
}

fn layout(traffic: Vec<Traffic>) -> Layout {
    Layout {
        index: 7,
        discipline: Discipline::Htb,
        rate: 2_500_000,
        overhead: 0,
        longest: 1_600,
        leaf: Leaf::Fifo,
        queue_packets: 100,
        traffic,
    }
}

/// A change of the stations.
#[derive(Debug, Clone)]
enum Change {
    Serve { station: u8, address: Option<u8>, weight: f64 },
    Stop { station: u8 },
}

impl Change {
    fn make(&self, classes: &mut Classes, kernel: &mut Kernel) -> io::Result<()> {
        let link = |station: u8| [2, 0, 0, 0, 0, station];
        match *self {
            Self::Serve { station, address, weight } => {
                let address = address.map(|last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
                let destination =
                    address.map_or(Destination::Link(link(station)), Destination::Address);
                let weights = vec![weight; classes.layout.traffic.len() + 1];
                classes.serve(kernel, link(station), destination, weights)
            }
            Self::Stop { station } => classes.stop(kernel, link(station)),
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let weight = prop_oneof![Just(0.0), Just(0.2), Just(0.5), Just(1.0)];
    let serve =
        (0..5u8, prop::option::of(0..2u8), weight).prop_map(|(station, address, weight)| {
            // No two stations have one address.
            let address = address.map(|one| station * 2 + one);
            Change::Serve { station, address, weight }
        });
    prop_oneof![3 => serve, 1 => (0..5u8).prop_map(|station| Change::Stop { station })]
}

/// Checks that a kernel has what is wanted, and nothing else.
fn assert_kernel_agrees(classes: &Classes, kernel: &Kernel) {
    let (mut shares, mut filters) = (BTreeMap::new(), BTreeMap::new());
    let layout = &classes.layout;
    let own = |minor: u16| u32::from(tc::class(minor));
    let mut queues = BTreeMap::new();
    let mut expect = |minor: u16, weight: f64, is_closed: bool| {
        let share = layout.share(weight, classes.whole);
        shares.insert(own(minor), layout.class(minor, ALL, share).attributes);
        let cutter = u32::from(0x1000 + minor) << 16;
        queues.insert(cutter, "tbf".to_owned());
        queues.insert(cutter | 1, if is_closed { "bfifo" } else { "pfifo" }.to_owned());
    };
    expect(UNKNOWN, 1.0, false);
    for slot in classes.slots.values() {
        let wanted = slot.wanted.as_ref().expect("no slot is left of a station that has gone");
        let first = layout.first_minor(slot.number);
        for (minor, weight) in (first..).zip(&wanted.weights) {
            let is_direct = matches!(wanted.destination, Destination::Link(_));
            expect(minor, *weight, is_direct && *weight == 0.0);
        }
        for filter in layout.row(slot.number, wanted.destination).add(layout.index) {
            filters.insert(handle(&filter), own(first));
        }
    }
    let mut found = kernel.classes.clone();
    found.remove(&own(ALL));
    assert_eq!(found, shares);
    let found: Vec<u32> = kernel.filters.keys().copied().collect();
    assert_eq!(found, filters.keys().copied().collect::<Vec<_>>());
    assert_eq!(kernel.qdiscs, queues);
}

fn started(traffic: Vec<Traffic>) -> (Classes, Kernel) {
    let (mut classes, mut kernel) = (Classes::new(layout(traffic)), Kernel::default());
    classes.set_up(&mut kernel, 0x88b5, false).unwrap();
    (classes, kernel)
}

proptest! {
    /// Whichever requests fail, carried out or not, the state after the next attempt is the wanted
    /// one.
    #[test]
    fn the_kernel_gets_the_wanted_state_after_any_refusals(
        changes in prop::collection::vec(change(), 1..20),
        fails in prop::collection::btree_map(1..80usize, any::<bool>(), 0..20),
        tells_apart in any::<bool>(),
    ) {
        let traffic = if tells_apart { vec![Traffic::Voice, Traffic::Tcp] } else { Vec::new() };
        let (mut classes, mut kernel) = started(traffic);
        kernel.fails = fails.into_iter().map(|(at, done)| (kernel.asked + at, done)).collect();
        for change in &changes {
            let _ = change.make(&mut classes, &mut kernel);
        }
        kernel.fails.clear();
        classes.settle(&mut kernel).unwrap();
        prop_assert!(classes.is_settled());
        assert_kernel_agrees(&classes, &kernel);
        let asked = kernel.asked;
        classes.settle(&mut kernel).unwrap();
        prop_assert_eq!(kernel.asked, asked, "nothing is left to ask for");
    }
}

const FIRST_STATION: Change = Change::Serve { station: 1, address: None, weight: 1.0 };

#[test]
fn a_weight_that_was_refused_is_sent_again() {
    let (mut classes, mut kernel) = started(Vec::new());
    FIRST_STATION.make(&mut classes, &mut kernel).unwrap();
    let slower = Change::Serve { station: 1, address: None, weight: 0.9 };
    kernel.fails = [(kernel.asked + 1, false)].into();
    let why = slower.make(&mut classes, &mut kernel).unwrap_err().to_string();
    assert!(why.starts_with("the share of class 5343:10: "), "{why}");
    assert!(!classes.is_settled());
    slower.make(&mut classes, &mut kernel).unwrap();
    assert_kernel_agrees(&classes, &kernel);
}

/// Not even at the kernel's minimum rate: the queue is one that drops everything, until the weight
/// is above 0 again.
#[test]
fn nothing_waits_for_a_station_without_weight() {
    let (mut classes, mut kernel) = started(Vec::new());
    let kind = |kernel: &Kernel| kernel.qdiscs[&(0x1010 << 16 | 1)].clone();
    for (weight, queue) in [(1.0, "pfifo"), (0.0, "bfifo"), (0.2, "pfifo"), (0.0, "bfifo")] {
        let change = Change::Serve { station: 1, address: None, weight };
        change.make(&mut classes, &mut kernel).unwrap();
        assert_eq!(kind(&kernel), queue, "{weight}");
        assert_kernel_agrees(&classes, &kernel);
    }
    let again = Change::Serve { station: 1, address: None, weight: 0.5 };
    // The share, and then its queue.
    kernel.fails = [(kernel.asked + 2, false)].into();
    let why = again.make(&mut classes, &mut kernel).unwrap_err().to_string();
    assert!(why.starts_with("pfifo in class 5343:10: "), "{why}");
    classes.settle(&mut kernel).unwrap();
    assert_eq!(kind(&kernel), "pfifo");
}

/// Its class has the answers to its reports, too.
#[test]
fn a_station_behind_a_router_keeps_the_least_rate_without_weight() {
    let (mut classes, mut kernel) = started(Vec::new());
    let change = Change::Serve { station: 1, address: Some(7), weight: 0.0 };
    change.make(&mut classes, &mut kernel).unwrap();
    assert_eq!(kernel.qdiscs[&(0x1010 << 16 | 1)], "pfifo");
    assert_kernel_agrees(&classes, &kernel);
}

#[test]
fn a_half_made_class_is_in_nobodys_way() {
    for at in 1..5 {
        let (mut classes, mut kernel) = started(Vec::new());
        kernel.fails = [(kernel.asked + at, false)].into();
        FIRST_STATION.make(&mut classes, &mut kernel).unwrap_err();
        let second = Change::Serve { station: 2, address: None, weight: 1.0 };
        second.make(&mut classes, &mut kernel).unwrap();
        assert!(!kernel.filters.is_empty(), "the second one has its filter");
        classes.settle(&mut kernel).unwrap();
        assert_kernel_agrees(&classes, &kernel);
    }
}

#[test]
fn without_fq_codel_there_is_a_fifo_unless_it_was_asked_for() {
    for may_replace in [false, true] {
        let mut kernel = Kernel { lacks: Some("fq_codel"), ..Kernel::default() };
        let mut classes = Classes::new(Layout { leaf: Leaf::FqCodel, ..layout(Vec::new()) });
        let set_up = classes.set_up(&mut kernel, 0x88b5, may_replace);
        assert_eq!(set_up.is_ok(), may_replace, "{set_up:?}");
        let leaf = if may_replace { Leaf::Fifo } else { Leaf::FqCodel };
        assert_eq!(classes.layout.leaf, leaf);
    }
}

/// HTB has a class send one packet in its turn, however long it is.
#[test]
fn no_turn_is_shorter_than_the_longest_frame() {
    for longest in [1_600, 9_022, 65_558] {
        let layout = Layout { longest, ..layout(Vec::new()) };
        for weight in [0.0, 0.01, 0.2, 1.0] {
            assert!(layout.share(weight, 2.0).quantum >= longest, "{longest} {weight}");
        }
        let ratio =
            f64::from(layout.share(0.2, 2.0).quantum) / f64::from(layout.share(1.0, 2.0).quantum);
        assert!((ratio - 0.2).abs() < 1e-3, "{ratio}");
    }
}
