//! Cost of a congestion control algorithm per ACK, and its throughput, measured on one connection
//! after the other over a veth pair between two network namespaces, with the algorithms in turn.
//!
//! The kernel measures the run time of BPF programs. Its own Reno and CUBIC are measured by the
//! same clock, as programs that only call them. `fw_b_floor` is Reno with a program that does
//! nothing, which shows the cost of calling and timing a program. It runs on a loaded Reno
//! connection because a call costs more where a connection is idle and the caches are cold.

use crate::kernel::{demand_root, enable_statistics, now, unshare_network};
use crate::object::{self, refused};
use crate::registered::registered;
use crate::status::{TOTALS, totals_of};
use crate::{Algorithm, Error};
use fairwave_units::{BitRate, Duration};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapType, Object, Program, ProgramMut};
use rustix::net::sockopt::set_tcp_congestion;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Command;
use std::thread;

/// Algorithms that only call the kernel's: name, description, and the program to count where not
/// all of them count.
const REFERENCES: [(&str, &str, Option<&str>); 3] = [
    ("fw_b_floor", "a call that does nothing", Some("fw_b_nothing")),
    ("fw_b_reno", "the kernel's Reno, called by a program", None),
    ("fw_b_cubic", "the kernel's CUBIC, called by a program", None),
];
/// The kernel's own algorithms, for the throughput.
const BUILT_IN: [(&str, &str); 2] =
    [("reno", "the kernel's Reno"), ("cubic", "the kernel's CUBIC")];
/// Maximum time for the kernel to end the last connection after its receiver has read all data.
const PATIENCE: Duration = Duration::from_secs(2);
const SENDER: &str = "10.254.77.1/24";
const RECEIVER: &str = "10.254.77.2/24";

/// Options of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Duration of each connection.
    pub lasts: Duration,
    /// Number of turns of each algorithm.
    pub rounds: u32,
    /// Whether the kernel may process several segments as one packet. A radio's driver does not get
    /// such packets, and a receiver sends one ACK for each of them.
    pub offload: bool,
}

/// Measurements of an algorithm.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Its name.
    pub name: String,
    /// Its description.
    pub summary: String,
    /// Number of ACKs for which its programs were called; zero for the kernel's own algorithms.
    pub acks: u64,
    /// Number of calls of its programs: some have two programs per ACK.
    pub calls: u64,
    /// Time in its programs.
    pub time: Duration,
    /// Throughput of each round.
    pub throughput: Vec<BitRate>,
    /// Number of ACKs that it found lost; `None` if it does not watch ACKs, or if a connection did
    /// not end.
    pub acks_lost: Option<u64>,
}

impl Cost {
    /// Time in its programs per ACK, in nanoseconds.
    pub fn nanoseconds_per_ack(&self) -> Option<f64> {
        (self.acks > 0).then(|| self.time.as_nanos() as f64 / self.acks as f64)
    }

    /// Time per ACK without the cost of calling and timing programs, which is `floor` nanoseconds
    /// per call.
    pub fn work_per_ack(&self, floor: f64) -> Option<f64> {
        let calls_per_ack = self.calls as f64 / (self.acks as f64).max(1.0);
        self.nanoseconds_per_ack().map(|all| all - calls_per_ack * floor)
    }
}

/// Measures the algorithms and the kernel's own. None of them may be loaded.
///
/// # Errors
/// Without privileges, or if the kernel refuses a step.
pub fn run(algorithms: &[&'static Algorithm], plan: Plan) -> Result<Vec<Cost>, Error> {
    demand_root("measuring congestion controls")?;
    let _statistics = enable_statistics()?;
    let mut contenders = contenders(algorithms)?;
    let pair = Pair::new(plan.offload).map_err(failed("a pair of network namespaces"))?;
    for _ in 0..plan.rounds {
        for contender in &mut contenders {
            contender.measure(&pair, plan.lasts)?;
        }
    }
    contenders.into_iter().map(Contender::ended).collect()
}

/// An algorithm under measurement, with the ids of its programs.
struct Contender {
    cost: Cost,
    programs: Vec<u32>,
    /// Whether it counts ACKs that it finds lost.
    watches_acks: bool,
    loaded: Option<(Object, Link)>,
}

fn contenders(algorithms: &[&'static Algorithm]) -> Result<Vec<Contender>, Error> {
    let cost = |name: &str, summary: &str| Cost {
        name: name.to_owned(),
        summary: summary.to_owned(),
        acks: 0,
        calls: 0,
        time: Duration::ZERO,
        throughput: Vec::new(),
        acks_lost: None,
    };
    let built_in = BUILT_IN.iter().map(|(name, summary)| {
        let (cost, programs) = (cost(name, summary), Vec::new());
        Ok(Contender { cost, programs, watches_acks: false, loaded: None })
    });
    let registered = registered()?;
    let is_registered = |name: &str| registered.iter().any(|other| other == name);
    let references = REFERENCES.iter().map(|(name, summary, only)| {
        if is_registered(name) {
            return Err(Error::Measuring { name });
        }
        let object = object::load("fw_bench", include_bytes!("../objects/fw_bench.o"))?;
        Contender::attached(cost(name, summary), object, name, *only)
    });
    let ours = algorithms.iter().map(|algorithm| {
        if is_registered(algorithm.name) {
            return Err(Error::Loaded { name: algorithm.name });
        }
        let (object, _) = object::load_algorithm(algorithm.name, algorithm.object)?;
        let attached =
            Contender::attached(cost(algorithm.name, algorithm.summary), object, "fw_ops", None)?;
        Ok(Contender { watches_acks: algorithm.watches_acks(), ..attached })
    });
    built_in.chain(references).chain(ours).collect()
}

impl Contender {
    /// Registers the map `ops` of an object while the result lives. All of its programs count, or
    /// only `only`.
    fn attached(
        cost: Cost,
        mut object: Object,
        ops: &str,
        only: Option<&str>,
    ) -> Result<Self, Error> {
        let mut map = object
            .maps_mut()
            .find(|map| map.map_type() == MapType::StructOps && map.name() == ops)
            .expect("the object declares the algorithm");
        let link = map.attach_struct_ops().map_err(refused(cost.name.clone()))?;
        let counts = |program: &ProgramMut| only.is_none_or(|only| program.name() == only);
        let programs = object.progs_mut().filter(counts);
        let ids = programs.map(|program| Program::id_from_fd(program.as_fd()));
        let programs = ids.collect::<Result<_, _>>().map_err(refused(cost.name.clone()))?;
        Ok(Self { cost, programs, watches_acks: false, loaded: Some((object, link)) })
    }

    /// Ends the measurement. Returns the cost, with the counters of its connections after the last
    /// has ended.
    fn ended(mut self) -> Result<Cost, Error> {
        let Some((object, _)) = self.loaded.as_mut().filter(|_| self.watches_acks) else {
            return Ok(self.cost);
        };
        let until = now() + PATIENCE.as_nanos();
        let totals = loop {
            let totals = totals_of(&object::map(object, TOTALS))?;
            if totals.opened == totals.closed || now() > until {
                break totals;
            }
            thread::yield_now();
        };
        self.cost.acks_lost = (totals.opened == totals.closed).then_some(totals.acks_lost);
        Ok(self.cost)
    }

    fn measure(&mut self, pair: &Pair, lasts: Duration) -> Result<(), Error> {
        let before = self.spent();
        let rate = pair.carry(&self.cost.name, lasts).map_err(failed(&self.cost.name))?;
        let after = self.spent();
        // Each ACK calls the most frequently called program once.
        let calls = after.iter().zip(&before).map(|(after, before)| after.1 - before.1);
        self.cost.acks += calls.clone().max().unwrap_or(0);
        self.cost.calls += calls.sum::<u64>();
        let time: u64 = after.iter().zip(&before).map(|(after, before)| after.0 - before.0).sum();
        self.cost.time = Duration::from_nanos(self.cost.time.as_nanos() + time);
        self.cost.throughput.push(rate);
        Ok(())
    }

    /// Nanoseconds and calls of each program.
    fn spent(&self) -> Vec<(u64, u64)> {
        let of_it = ProgInfoIter::default().filter(|info| self.programs.contains(&info.id));
        of_it.map(|info| (info.run_time_ns, info.run_cnt)).collect()
    }
}

/// Builds an error for `map_err` on files and sockets.
fn failed(what: &str) -> impl FnOnce(io::Error) -> Error + use<> {
    let what = what.to_owned();
    move |source| Error::Io { what, source }
}

/// Two network namespaces with a veth pair between them, which are removed when this is dropped.
struct Pair {
    sender: OwnedFd,
    receiver: OwnedFd,
}

impl Pair {
    fn new(offload: bool) -> io::Result<Self> {
        let pair = Self { sender: namespace()?, receiver: namespace()? };
        let peer = format!("/proc/{}/fd/{}", std::process::id(), pair.receiver.as_raw_fd());
        let segments = if offload { "65535" } else { "1" };
        inside(&pair.sender, || {
            ip(&["link", "add", "fwb0", "type", "veth", "peer", "name", "fwb1", "netns", &peer])?;
            up("fwb0", SENDER, segments)
        })?;
        inside(&pair.receiver, || up("fwb1", RECEIVER, segments))?;
        Ok(pair)
    }

    /// Measures the throughput of one connection with an algorithm.
    fn carry(&self, algorithm: &str, lasts: Duration) -> io::Result<BitRate> {
        let listener = inside(&self.receiver, || TcpListener::bind(address()))?;
        let to = listener.local_addr()?;
        thread::scope(|scope| {
            let receiver = scope.spawn(move || listener.accept().and_then(|(end, _)| drain(end)));
            let begun = now();
            inside(&self.sender, || send(to, algorithm, lasts))?;
            let bytes = receiver.join().expect("no panic")?;
            Ok(BitRate::over(bytes, Duration::from_nanos(now().saturating_sub(begun))))
        })
    }
}

fn address() -> SocketAddr {
    let (address, _) = RECEIVER.split_once('/').expect("it has a prefix");
    SocketAddr::new(address.parse().expect("it is an address"), 0)
}

fn send(to: SocketAddr, algorithm: &str, lasts: Duration) -> io::Result<()> {
    let mut end = TcpStream::connect(to)?;
    set_tcp_congestion(&end, algorithm)?;
    let block = [0; 1 << 17];
    let until = now() + lasts.as_nanos();
    while now() < until {
        end.write_all(&block)?;
    }
    Ok(())
}

fn drain(mut end: TcpStream) -> io::Result<u64> {
    let mut block = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        match end.read(&mut block)? {
            0 => return Ok(bytes),
            read => bytes += read as u64,
        }
    }
}

/// Creates a network namespace that exists as long as its descriptor.
fn namespace() -> io::Result<OwnedFd> {
    let make = || {
        unshare_network()?;
        Ok(File::open("/proc/thread-self/ns/net")?.into())
    };
    thread::scope(|scope| scope.spawn(make).join().expect("no panic"))
}

/// Runs a function on a thread in a network namespace.
fn inside<T: Send>(
    namespace: &OwnedFd,
    what: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let enter_and_do = || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        what()
    };
    thread::scope(|scope| scope.spawn(enter_and_do).join().expect("no panic"))
}

fn up(device: &str, address: &str, segments: &str) -> io::Result<()> {
    ip(&["link", "set", device, "up", "gso_max_segs", segments])?;
    ip(&["addr", "add", address, "dev", device])
}

/// Runs iproute2 in the network namespace of this thread.
fn ip(arguments: &[&str]) -> io::Result<()> {
    let output = Command::new("ip").args(arguments).output().map_err(|error| {
        io::Error::new(error.kind(), format!("ip: {error}; the package iproute2 has it"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip {}: {}", arguments.join(" "), printed.trim())))
}
