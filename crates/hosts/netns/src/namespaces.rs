//! All namespaces of a run, and work in them.

use crate::node::{Dropped, Node, Site};
use crate::program::Shared;
use crate::uplink::{self, Machine};
use crate::{
    Error, Invocation, KeeperCommand, LinkState, Plan, Prefix, Program, ProgramPlan, Tun, hosts,
};
use fairwave_linux::keeper::{Keeper, on_terminal};
use fairwave_linux::terminal::Terminal;
use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError, Weak};

/// The namespaces of a plan. When this is dropped, they are gone, and all programs in them. The
/// same holds when the process ends without dropping it, by a signal too: see [`crate::keeper`].
#[derive(Debug)]
pub struct Namespaces {
    // In the order in which they end.
    programs: Mutex<Vec<Weak<Shared>>>,
    tuns: Vec<Tun>,
    nodes: Vec<Node>,
    keeper: Mutex<Keeper>,
    names: Vec<String>,
    keeper_command: KeeperCommand,
}

impl Namespaces {
    /// Builds the plan. The calling thread stays where it is.
    ///
    /// # Errors
    ///
    /// If the plan contradicts itself or the kernel refuses a step. Nothing is left then.
    pub fn build(plan: &Plan) -> Result<Self, Error> {
        check(plan)?;
        let machine = Machine::look(&plan.uplinks)?;
        let keeper = Keeper::start(&plan.keeper)?;
        let mut namespaces = Self {
            programs: Mutex::default(),
            tuns: Vec::new(),
            nodes: Vec::new(),
            keeper: Mutex::new(keeper),
            names: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            keeper_command: plan.keeper.clone(),
        };
        namespaces.start_nodes(plan, &machine)?;
        for (number, uplink) in plan.uplinks.iter().enumerate() {
            let node = &namespaces.nodes[namespaces.index(&uplink.node)?];
            let mut keeper = lock(&namespaces.keeper);
            uplink::connect(node, uplink, number, &machine, &mut keeper)?;
        }
        Ok(namespaces)
    }

    fn start_nodes(&mut self, plan: &Plan, machine: &Machine) -> Result<(), Error> {
        let hosts = hosts::hosts(&plan.nodes);
        for node in &plan.nodes {
            let resolv = hosts::resolv(&node.nameservers, &machine.nameservers);
            let resolv = resolv.as_deref();
            let (keeper, receivers) = (&plan.keeper, plan.receivers.as_ref());
            let site = Site { plan: node, hosts: &hosts, resolv, keeper, receivers };
            let programs = lock(&self.keeper).programs()?;
            let (node, tun) = Node::start(&site, programs)?;
            self.nodes.push(node);
            self.tuns.push(tun);
        }
        Ok(())
    }

    /// Index of the node of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    fn index(&self, name: &str) -> Result<usize, Error> {
        self.find(name).ok_or_else(|| Error::Plan(format!("there is no node `{name}`")))
    }

    /// The TUN device of a node, for an epoll. It is readable when a packet waits, and shows an
    /// error when the interface has been deleted.
    ///
    /// # Panics
    ///
    /// As everywhere here, where there is no such node.
    pub fn tun_fd(&self, node: usize) -> BorrowedFd<'_> {
        self.tuns[node].as_fd()
    }

    /// The TUN device of a node.
    pub fn tun(&self, node: usize) -> &Tun {
        &self.tuns[node]
    }

    /// Gives a node's device another state, from one that it has. All processes in the node that
    /// follow links by rtnetlink have been notified when this returns; on kernels before 6.8 the
    /// kernel may take up to a second longer for a lost carrier.
    ///
    /// # Errors
    ///
    /// If the kernel refuses it, or the node's thread is gone.
    pub fn set_link(&self, node: usize, from: LinkState, to: LinkState) -> Result<(), Error> {
        self.nodes[node].set_link(&self.tuns[node], from, to)
    }

    /// Packets that the kernel dropped since the node's device was made. Zero once the device is
    /// gone.
    ///
    /// # Errors
    ///
    /// If the node's thread is gone, or the kernel does not answer.
    pub fn dropped(&self, node: usize) -> Result<Dropped, Error> {
        self.nodes[node].dropped()
    }

    /// Returns the inode of a node's network namespace, the kernel's name of it.
    ///
    /// # Errors
    ///
    /// If the kernel does not answer.
    pub fn network(&self, node: usize) -> Result<u32, Error> {
        let step = || format!("{}: its network namespace", self.names[node]);
        let file = self.nodes[node].network.metadata().map_err(Error::at(step()))?;
        // The kernel counts these inodes in 32 bits.
        Ok(file.ino() as u32)
    }

    /// Runs a closure on a thread that lives in the node's namespaces, and returns its result:
    /// sockets that it opens belong to the node, and threads that it starts live there too. A panic
    /// of the closure continues in the caller.
    ///
    /// # Errors
    ///
    /// If the node's thread is gone.
    pub fn within<T: Send + 'static>(
        &self,
        node: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.nodes[node].run(work)
    }

    /// Starts a program in a node.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn spawn(&self, node: usize, plan: ProgramPlan) -> Result<Program, Error> {
        let name = &self.names[node];
        let step = format!("{name}: {}", plan.invocation);
        let mut command = plan.command(name)?;
        let started =
            self.nodes[node].run_starter(move || command.spawn().and_then(Program::of))?;
        let program = started.map_err(Error::at(step))?;
        let mut programs = lock(&self.programs);
        programs.retain(|program| program.strong_count() > 0);
        programs.push(std::sync::Arc::downgrade(program.shared()));
        Ok(program)
    }

    /// Starts a program in a node on this process's terminal; it is not waited for. The program has
    /// a session of its own, so that its job control works, Ctrl-C goes to it alone, and the
    /// terminal is as before once it was dropped. Without a terminal it has this process's standard
    /// input, output and errors.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn attach(&self, node: usize, invocation: &Invocation) -> Result<Program, Error> {
        let name = &self.names[node];
        let step = || format!("{name}: {invocation}");
        let terminal = Terminal::open().map_err(Error::at(step()))?;
        let mut command = invocation.command()?;
        if let Some(terminal) = &terminal {
            command = on_terminal(&self.keeper_command, &command);
            terminal.give(&mut command).map_err(Error::at(step()))?;
        }
        command.env("FAIRWAVE_NODE", name);
        let started =
            self.nodes[node].run_starter(move || command.spawn().and_then(Program::attached))?;
        let mut program = started.map_err(Error::at(step()))?;
        lock(&self.programs).push(std::sync::Arc::downgrade(program.shared()));
        let shown = terminal.map_or(Ok(()), |terminal| program.show_on(terminal));
        shown.map_err(Error::at(step()))?;
        Ok(program)
    }

    /// Whether the keeper still runs. All programs end with it.
    ///
    /// # Errors
    ///
    /// Its exit status.
    pub fn check_keeper(&self) -> Result<(), Error> {
        lock(&self.keeper).check()
    }

    /// The same after the end of all programs, when a keeper that has begun to exit is awaited: its
    /// programs end before it, so that [`Namespaces::check_keeper`] can miss its end.
    ///
    /// # Errors
    ///
    /// Its exit status.
    pub fn check_keeper_after_programs(&self) -> Result<(), Error> {
        lock(&self.keeper).check_after_programs()
    }

    /// Whether all that was built is still there: the keeper, and `fw0` of each node.
    ///
    /// # Errors
    ///
    /// Returns the vanished device, and its node.
    pub fn check(&self) -> Result<(), Error> {
        self.check_keeper()?;
        self.nodes.iter().try_for_each(Node::check)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        // The kernel ends the keeper only when its whole PID namespace has been reaped, and the
        // programs are children of this process.
        for program in lock(&self.programs).drain(..).filter_map(|program| program.upgrade()) {
            let _ = program.kill();
        }
        self.tuns.clear();
        self.nodes.iter_mut().for_each(Node::dismiss);
        self.nodes.iter_mut().for_each(Node::await_end);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Parts that no kernel has to be asked for.
fn check(plan: &Plan) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    for node in &plan.nodes {
        let name = &node.name;
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 63 || !name.chars().all(legal) {
            let what = format!("`{name}` cannot be a host name: letters, digits, `-`, `_` and `.`");
            return Err(Error::Plan(what));
        }
        if !names.insert(name) {
            return Err(Error::Plan(format!("two nodes are called `{name}`")));
        }
        node.addresses.iter().chain(node.routes.iter().map(|route| &route.to)).try_for_each(
            |Prefix { address, length }| {
                let max = if address.is_ipv4() { 32 } else { 128 };
                let what = || format!("{name}: {address}/{length} has more than {max} bits");
                if *length <= max { Ok(()) } else { Err(Error::Plan(what())) }
            },
        )?;
    }
    Ok(())
}
