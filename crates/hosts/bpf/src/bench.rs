//! What a law costs for each ACK, and whether it costs throughput: one connection after the other
//! over a veth pair between two network namespaces, the laws in turn.
//!
//! The kernel measures how long BPF programs run. Its own Reno and CUBIC are measured by the same
//! clock, as programs that do nothing but call them. `fw_b_floor` is Reno with a program that does
//! nothing: the cost of that one is that of being called and timed. It is taken beside Reno because
//! a call costs more where a connection stands still and the caches are cold.

use crate::kernel::{demand_root, enable_statistics, now, unshare_network};
use crate::object::{self, refused};
use crate::registered::registered;
use crate::status::{TOTALS, totals_of};
use crate::{Error, Law};
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

/// Laws that only call the kernel's, by their names, what they stand for, and the program that
/// counts where not all of them do.
const REFERENCES: [(&str, &str, Option<&str>); 3] = [
    ("fw_b_floor", "a call that does nothing", Some("fw_b_nothing")),
    ("fw_b_reno", "the kernel's Reno, called by a program", None),
    ("fw_b_cubic", "the kernel's CUBIC, called by a program", None),
];
/// The kernel's own, for the throughput.
const BUILT_IN: [(&str, &str); 2] =
    [("reno", "the kernel's Reno"), ("cubic", "the kernel's CUBIC")];
/// Time for which the kernel may take to end the last connection, whose receiver has read all.
const PATIENCE: Duration = Duration::from_secs(2);
const SENDER: &str = "10.254.77.1/24";
const RECEIVER: &str = "10.254.77.2/24";

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Time for which each connection lasts.
    pub lasts: Duration,
    /// How often each law has its turn.
    pub rounds: u32,
    /// Whether the kernel may hand over many segments as one packet. A radio's driver does not get
    /// such packets, and a receiver answers each of them with one ACK.
    pub offload: bool,
}

/// Measurements of a law.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub summary: String,
    /// ACKs that its programs were called for; zero for what is no program.
    pub acks: u64,
    /// Calls of its programs: some have two for each ACK.
    pub calls: u64,
    /// Time in its programs.
    pub time: Duration,
    /// Of each round.
    pub throughput: Vec<BitRate>,
    /// ACKs that it found lost; `None` where it does not watch ACKs, or where a connection did not
    /// end.
    pub acks_lost: Option<u64>,
}

impl Cost {
    /// Nanoseconds in programs for each ACK.
    pub fn nanoseconds_per_ack(&self) -> Option<f64> {
        (self.acks > 0).then(|| self.time.as_nanos() as f64 / self.acks as f64)
    }

    /// The same without what it takes to call programs and to time them, where a call takes `floor`
    /// nanoseconds that way.
    pub fn work_per_ack(&self, floor: f64) -> Option<f64> {
        let calls_per_ack = self.calls as f64 / (self.acks as f64).max(1.0);
        self.nanoseconds_per_ack().map(|all| all - calls_per_ack * floor)
    }
}

/// Measures the laws, beside the kernel's. None of them may be loaded.
///
/// # Errors
/// Without privileges, or where the kernel refuses something.
pub fn run(laws: &[&'static Law], plan: Plan) -> Result<Vec<Cost>, Error> {
    demand_root("measuring congestion controls")?;
    let _statistics = enable_statistics()?;
    let mut contenders = contenders(laws)?;
    let pair = Pair::new(plan.offload).map_err(failed("a pair of network namespaces"))?;
    for _ in 0..plan.rounds {
        for contender in &mut contenders {
            contender.measure(&pair, plan.lasts)?;
        }
    }
    contenders.into_iter().map(Contender::ended).collect()
}

/// A law that has its turns, with the numbers of its programs.
struct Contender {
    cost: Cost,
    programs: Vec<u32>,
    /// Whether it counts ACKs that it finds lost.
    watches_acks: bool,
    loaded: Option<(Object, Link)>,
}

fn contenders(laws: &[&'static Law]) -> Result<Vec<Contender>, Error> {
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
    let ours = laws.iter().map(|law| {
        if is_registered(law.name) {
            return Err(Error::Loaded { name: law.name });
        }
        let (object, _) = object::load_law(law.name, law.object)?;
        let attached = Contender::attached(cost(law.name, law.summary), object, "fw_ops", None)?;
        Ok(Contender { watches_acks: law.watches_acks(), ..attached })
    });
    built_in.chain(references).chain(ours).collect()
}

impl Contender {
    /// Registers the map `ops` of an object, as long as this lives. Of its programs all count, or
    /// `only` one.
    fn attached(
        cost: Cost,
        mut object: Object,
        ops: &str,
        only: Option<&str>,
    ) -> Result<Self, Error> {
        let mut map = object
            .maps_mut()
            .find(|map| map.map_type() == MapType::StructOps && map.name() == ops)
            .expect("the object declares the law");
        let link = map.attach_struct_ops().map_err(refused(cost.name.clone()))?;
        let counts = |program: &ProgramMut| only.is_none_or(|only| program.name() == only);
        let programs = object.progs_mut().filter(counts);
        let ids = programs.map(|program| Program::id_from_fd(program.as_fd()));
        let programs = ids.collect::<Result<_, _>>().map_err(refused(cost.name.clone()))?;
        Ok(Self { cost, programs, watches_acks: false, loaded: Some((object, link)) })
    }

    /// Its cost, with what its connections found once the last has ended.
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
        // Every ACK calls the program that is called most.
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

/// For `map_err` on files and sockets.
fn failed(what: &str) -> impl FnOnce(io::Error) -> Error + use<> {
    let what = what.to_owned();
    move |source| Error::Io { what, source }
}

/// Two network namespaces with a veth pair between them, which go with this.
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

    /// The rate of one connection with a law.
    fn carry(&self, law: &str, lasts: Duration) -> io::Result<BitRate> {
        let listener = inside(&self.receiver, || TcpListener::bind(address()))?;
        let to = listener.local_addr()?;
        thread::scope(|scope| {
            let receiver = scope.spawn(move || listener.accept().and_then(|(end, _)| drain(end)));
            let begun = now();
            inside(&self.sender, || send(to, law, lasts))?;
            let bytes = receiver.join().expect("no panic")?;
            Ok(BitRate::over(bytes, Duration::from_nanos(now().saturating_sub(begun))))
        })
    }
}

fn address() -> SocketAddr {
    let (address, _) = RECEIVER.split_once('/').expect("it has a prefix");
    SocketAddr::new(address.parse().expect("it is an address"), 0)
}

fn send(to: SocketAddr, law: &str, lasts: Duration) -> io::Result<()> {
    let mut end = TcpStream::connect(to)?;
    set_tcp_congestion(&end, law)?;
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

/// A new network namespace, which lives as long as its descriptor.
fn namespace() -> io::Result<OwnedFd> {
    let make = || {
        unshare_network()?;
        Ok(File::open("/proc/thread-self/ns/net")?.into())
    };
    thread::scope(|scope| scope.spawn(make).join().expect("no panic"))
}

/// Does something on a thread in a network namespace.
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

/// iproute2, in the network namespace of this thread.
fn ip(arguments: &[&str]) -> io::Result<()> {
    let output = Command::new("ip").args(arguments).output().map_err(|error| {
        io::Error::new(error.kind(), format!("ip: {error}; the package iproute2 has it"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip {}: {}", arguments.join(" "), said.trim())))
}
