//! Cost of forwarding a packet in each queue, as in Table 4 of Aida, Tobe and Tokuda 2003. Voice
//! packets of 350 bytes are sent to eight hosts; one packet arrives and one leaves, in a hundred
//! repetitions of ten thousand. Then the cost of a report for an access point that verifies it and
//! updates the weight. Prints JSON; `cargo xtask bench-forwarding` records it for the study
//! `socps`.

use fairwave_machine::Machine;
use fairwave_queue::{Discipline, FlowKey, HfscConfig, Item, Limit, Segment, SocpsConfig, Spec};
use fairwave_soc::{
    Curve, Format, Policies, ReceivedFrame, Reporter, ReporterConfig, ReporterInput, Station,
    Table, TableConfig, TableInput,
};
use fairwave_units::{Db, Duration, Instant, Seed};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::Written;
use std::fmt::Write as _;
use std::hint::black_box;
use std::net::Ipv4Addr;

const HOSTS: u32 = 8;
const BYTES: u32 = 350;
const REPETITIONS: usize = 100;
const PACKETS: u32 = 10_000;
const REPORTS: u32 = 1_000;
/// Packets that wait for each host while one arrives and one leaves.
const BACKLOG: u32 = 4;
/// Time of a voice packet on the air at 2 Mbps.
const TICK: Duration = Duration::from_micros(2354);

#[derive(Clone, Copy, Debug)]
struct Voice {
    receiver: u32,
}

impl Item for Voice {
    fn bytes(&self) -> u32 {
        BYTES
    }

    fn receiver(&self) -> u32 {
        self.receiver
    }

    fn flow(&self) -> FlowKey {
        FlowKey::default()
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        None
    }

    fn clamp_window(&mut self, _: u16) {}

    fn mark_ce(&mut self) -> bool {
        false
    }
}

/// First in, first out, then every scheduler of hosts in the order of the list.
fn specs() -> Vec<(&'static str, Spec)> {
    let limit = Limit::Packets(1000);
    let mut specs = vec![("fifo", Spec::DropTail { limit })];
    let listed = fairwave_queue::ALL.iter().map(|kind| (kind.name, (kind.spec)(limit)));
    let plain = ["drop-tail", "ack-filter", "ack-split", "window-clamp"];
    specs.extend(listed.filter(|(name, _)| !plain.contains(name)));
    let over = Spec::Socps(SocpsConfig::Hfsc(HfscConfig::of(limit)));
    specs.push(("socps over h-fsc", over));
    specs
}

struct Loaded {
    queue: Box<dyn Discipline<Voice>>,
    now: Instant,
    next: u32,
}

impl Loaded {
    fn new(spec: &Spec) -> Self {
        let mut loaded = Self {
            queue: spec.build::<Voice>(Seed(1).stream("queue")),
            now: Instant::ZERO,
            next: 0,
        };
        (0..HOSTS * BACKLOG).for_each(|_| loaded.arrive());
        loaded
    }

    fn arrive(&mut self) {
        self.queue.push(self.now, Voice { receiver: self.next });
        self.next = (self.next + 1) % HOSTS;
    }

    /// Enqueues one packet and dequeues one.
    fn forward(&mut self) -> Option<Voice> {
        self.now += TICK;
        self.arrive();
        self.queue.pop(self.now)
    }
}

/// Nanoseconds for each of `count` calls of `work`.
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the wall clock is what this program is about"
)]
fn nanos(count: u32, mut work: impl FnMut()) -> f64 {
    let start = std::time::Instant::now();
    (0..count).for_each(|_| work());
    start.elapsed().as_nanos() as f64 / f64::from(count)
}

/// Statistics of the repetitions: minimum, median, mean and maximum.
fn reported(name: &str, mut all: Vec<f64>) -> String {
    all.sort_by(f64::total_cmp);
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let (min, median, max) = (all[0], all[all.len() / 2], all[all.len() - 1]);
    format!(
        "{{\"name\": \"{name}\", \"least_ns\": {min:.2}, \"median_ns\": {median:.2}, \
         \"mean_ns\": {mean:.2}, \"most_ns\": {max:.2}}}"
    )
}

fn forwarding(name: &str, spec: &Spec) -> String {
    let mut loaded = Loaded::new(spec);
    let mut repetition = || nanos(PACKETS, || _ = black_box(loaded.forward()));
    // The first repetition fills the caches and does not count.
    repetition();
    reported(name, (0..REPETITIONS).map(|_| repetition()).collect())
}

/// Sealed reports of one station every 200 ms, with their sending times.
fn reports(key: Key, count: usize) -> Vec<(Instant, Written)> {
    let config = ReporterConfig::new(Mac::local(1), Ipv4Addr::new(10, 0, 0, 1));
    let mut reporter =
        Reporter::new(config, Format::Sealed(key), Instant::ZERO).expect("the usual configuration");
    let (mut reports, mut level) = (Vec::with_capacity(count), 0.0);
    while reports.len() < count {
        let Some(due) = reporter.deadline() else { break };
        level = (level + 0.7) % 20.0;
        reporter.handle(due, ReporterInput::Snr(Db(level)));
        reporter.wake(due);
        while let Some(sent) = reporter.poll(due) {
            reports.push((due, *sent.bytes()));
        }
    }
    reports
}

/// Verifies and accepts a report, and updates the host's weight in the queue.
fn reporting(name: &str, spec: &Spec) -> String {
    let key = Key::new(b"what a report costs").expect("it is long enough");
    let own = || key.derive("soc station", &[b"1"]);
    let curve = fairwave_soc::POLICIES.iter().find(|kind| kind.name == "pw");
    let curve = curve.map_or(Curve::Equal, |kind| (kind.curve)());
    let mut table = Table::new(TableConfig::new(Policies::per_host(curve)));
    let station = Station { link: Mac::local(1), key: Some(own()), ipv4: None, ipv6: None };
    table.handle(Instant::ZERO, TableInput::Register(station));
    let mut loaded = Loaded::new(spec);
    let mut reports = reports(own(), REPETITIONS * REPORTS as usize).into_iter();
    let mut take = || {
        let Some((now, bytes)) = reports.next() else { return };
        table.wake(now);
        table.handle(now, TableInput::Report(ReceivedFrame::new(Mac::local(1), &bytes)));
        while let Some(change) = table.poll(now) {
            let weight = fairwave_queue::Weight(change.weight.0);
            loaded.queue.set_weight(loaded.now, 1, weight);
        }
        while let Some(event) = table.event() {
            black_box(event);
        }
    };
    reported(name, (0..REPETITIONS).map(|_| nanos(REPORTS, &mut take)).collect())
}

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let is_requested =
        |name: &str| only.is_empty() || only.iter().any(|requested| requested == name);
    let requested = specs().into_iter().filter(|(name, _)| is_requested(name));
    let schemes: Vec<String> = requested.map(|(name, spec)| forwarding(name, &spec)).collect();
    if !only.is_empty() {
        println!("{}", schemes.join("\n"));
        return;
    }
    let mut text = String::from("{\n");
    let sizes = [
        ("hosts", HOSTS),
        ("packet_bytes", BYTES),
        ("repetitions", REPETITIONS as u32),
        ("packets_per_repetition", PACKETS),
        ("reports_per_repetition", REPORTS),
    ];
    for (name, size) in sizes {
        let _ = writeln!(text, "  \"{name}\": {size},");
    }
    let _ = writeln!(text, "  \"schemes\": [\n    {}\n  ],", schemes.join(",\n    "));
    let over = |wanted: &str| specs().into_iter().find(|(name, _)| *name == wanted);
    let over = |wanted| over(wanted).expect("socps is listed over both").1;
    let wfq = reporting("report over wfq", &over("socps"));
    let hfsc = reporting("report", &over("socps over h-fsc"));
    println!("{text}  \"report_over_wfq\": {wfq},\n  \"report\": {hfsc}\n}}");
}
