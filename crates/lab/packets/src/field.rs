//! Namespaces in which scripts are played, several at once.

use crate::endpoint::Endpoint;
use crate::kernel::Kernel;
use crate::line::Line;
use crate::parse::Remark;
use crate::player;
use crate::script::Script;
use crate::settings::Settings;
use crate::socket::{apply, sysctls};
use crate::verdict::Verdict;
use crate::world::Played;
use fairwave_netns::{
    Invocation, KeeperCommand, Namespaces, NodePlan, Offload, Plan, Prefix, ProgramPlan,
};
use std::fs::File;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The address of `fw0` in every namespace, that of the kernel's sockets.
const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Bytes of the largest packet: some scripts put several segments into one.
const MTU: u32 = 20_000;
/// Segments of Linux's own initial window.
const LINUX_WINDOW: u32 = 10;
/// Settings of a namespace that both worlds need: it forwards, and says nothing about that.
const FORWARDS: [(&str, &str); 4] = [
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.fw0.send_redirects", "0"),
    ("net.ipv4.conf.all.rp_filter", "0"),
];

/// A real world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Our endpoint behind a TUN device.
    Endpoint,
    /// The TCP of the kernel that runs.
    Kernel,
}

/// Namespaces, each for one script at a time.
#[derive(Debug)]
pub struct Field {
    namespaces: Namespaces,
    places: usize,
    /// No peer comes twice, so that connections of earlier scripts mean nothing.
    peers: AtomicU16,
}

impl Field {
    /// Builds so many namespaces.
    ///
    /// # Errors
    /// Whatever the kernel refuses.
    pub fn build(places: usize, keeper: KeeperCommand) -> Result<Self, String> {
        let node = |number| {
            let mut node = NodePlan::new(format!("place{number}"));
            node.addresses = vec![Prefix::new(KERNEL, 8)];
            node.mtu = MTU;
            node.offload = Offload::Off;
            let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
            node.sysctls = FORWARDS.into_iter().map(own).collect();
            node
        };
        let nodes = (0..places).map(node).collect();
        let namespaces = Namespaces::build(&Plan { nodes, keeper, ..Plan::default() });
        let namespaces = namespaces.map_err(|error| error.to_string())?;
        let field = Self { namespaces, places, peers: AtomicU16::new(0) };
        for place in 0..places {
            // Else Linux waits for an ACK more, so that it can hand over a larger packet.
            field.shell(place, "ip link set fw0 gso_max_segs 1")?;
        }
        Ok(field)
    }

    /// Plays all `work`, as many at once as there are places, the longest first. Verdicts have the
    /// order of the work. What differs and should not is tried up to `tries` times, since a
    /// machine under load is late.
    pub fn play(&self, work: &[(&Script, Against)], tries: u32) -> Vec<Verdict> {
        let mut order: Vec<usize> = (0..work.len()).collect();
        order.sort_by_key(|n| std::cmp::Reverse(work[*n].0.end()));
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(vec![Verdict::Follows; work.len()]);
        thread::scope(|scope| {
            for place in 0..self.places {
                let (order, next, answers) = (&order, &next, &answers);
                scope.spawn(move || {
                    while let Some(n) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let (script, against) = work[*n];
                        let answer = self.try_often(place, script, against, tries);
                        answers.lock().unwrap_or_else(PoisonError::into_inner)[*n] = answer;
                    }
                });
            }
        });
        answers.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_often(&self, place: usize, script: &Script, against: Against, tries: u32) -> Verdict {
        let once = || match (against, script.remark()) {
            (Against::Kernel, Some(Remark::Cannot(reason))) => Verdict::Omitted(reason.clone()),
            (Against::Kernel, _) => {
                Verdict::of_kernel(script, self.play_at(place, script, against))
            }
            (Against::Endpoint, _) => Verdict::of_endpoint(self.play_at(place, script, against)),
        };
        let mut verdict = once();
        for _ in 1..tries {
            if verdict.is_expected() {
                break;
            }
            verdict = once();
        }
        verdict
    }

    fn play_at(&self, place: usize, script: &Script, against: Against) -> Played<()> {
        let [high, low] = self.peers.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let peer = Ipv4Addr::new(10, 1, high, low);
        let settings = &script.settings;
        match against {
            Against::Endpoint => {
                let own = Ipv4Addr::new(10, 2, high, low);
                let line = Line::new(&self.namespaces, place)?;
                player::play(script, &mut Endpoint::new(line, settings, own, peer))
            }
            Against::Kernel => {
                self.prepare(place, settings, peer)?;
                let line = Line::new(&self.namespaces, place)?;
                let mut kernel = Kernel::new(line, &self.namespaces, place, settings, KERNEL, peer);
                player::play(script, &mut kernel)
            }
        }
    }

    /// Sets the namespace of a place, and the route to the peer, as a script wants them.
    fn prepare(&self, place: usize, settings: &Settings, peer: Ipv4Addr) -> Played<()> {
        let sysctls = sysctls(&settings.config);
        let applied = self.namespaces.within(place, move || apply(&sysctls));
        applied.map_err(|error| error.to_string())??;
        let config = &settings.config;
        let window = config.initial_window_segments;
        if window == LINUX_WINDOW {
            return Ok(());
        }
        self.shell(place, &format!("ip route add {peer}/32 dev fw0 initcwnd {window}"))
    }

    fn shell(&self, place: usize, line: &str) -> Played<()> {
        let output = File::options().write(true).open("/dev/null").map_err(|e| e.to_string())?;
        let plan = ProgramPlan {
            invocation: Invocation::Shell(line.to_owned()),
            output,
            environment: Vec::new(),
            directory: None,
        };
        let ended = self.namespaces.spawn(place, plan).and_then(|program| program.wait());
        let status = ended.map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("`{line}`: {status}")) }
    }
}
