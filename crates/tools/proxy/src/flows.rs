//! The flows under way and their periodic work: targets are shared out, bins are judged, and idle
//! flows are ended.

use crate::account::{Event, FlowReport, Report};
use crate::achieved::Achieved;
use crate::capacity::Reserved;
use crate::config::{Limits, TargetControl};
use crate::flow::{Flow, Goal, Owner};
use crate::options;
use crate::targets::{Beyond, Direction, Per, Targets};
use fairwave_linux::congestion;
use fairwave_units::{BitRate, Duration};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

/// Pacing limit of a flow in percent of its target. A mean rate equal to the target would leave
/// half of all bins below it. 105 is the default of TCP-AV's `margin`.
const MARGIN_PERCENT: u64 = 105;

/// Silence of a peer that owes an ACK after which it counts as vanished, as with keep-alive probes,
/// which the kernel does not send while data are in flight. `TCP_USER_TIMEOUT` would also end flows
/// to a receiver that does not read for a while. Such a receiver may drop what has no room and owe
/// the ACK. It answers each repetition: one in 120 s (`TCP_RTO_MAX` of net/tcp.h), which the
/// kernel's timer may send 4 s late. The answer is seen at the next look.
pub(crate) const SILENCE: Duration = Duration::from_secs(150);
/// Period in which silence is looked for: each leg costs a system call.
pub(crate) const SILENCE_LOOK: Duration = Duration::from_secs(10);

/// State of a target between ticks.
#[derive(Debug, Default)]
struct Judged {
    achieved: Achieved,
    rate: Option<BitRate>,
    /// Bytes acknowledged since the bin began on flows that have ended.
    bytes_of_ended: u64,
    ended_held_up: bool,
    /// Whether the target existed when the bin began.
    is_whole: bool,
}

/// Decision of admission about a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// The flow is relayed, with its target or without.
    Yes,
    /// The flow is refused.
    No,
}

/// A flow that is being opened.
#[derive(Debug)]
struct Opening {
    client: SocketAddr,
    /// Addresses that its server may have. Different rules may apply to them.
    servers: Vec<SocketAddr>,
    /// Targets that are reserved for it.
    reserved: Vec<Owner>,
}

/// All flows.
pub(crate) struct Flows {
    active: BTreeMap<u64, (Rc<Flow>, AbortHandle)>,
    opening: BTreeMap<u64, Opening>,
    next: u64,
    targets: Targets,
    judged: BTreeMap<Owner, Judged>,
    reserved: Reserved,
    target_control: Option<Box<dyn TargetControl>>,
    limits: Limits,
    since_bin: Duration,
    since_look: Duration,
    events: Vec<Event>,
    pub(crate) report: Report,
}

impl Flows {
    pub(crate) fn new(
        targets: Targets,
        target_control: Option<Box<dyn TargetControl>>,
        limits: Limits,
    ) -> Self {
        Self {
            active: BTreeMap::new(),
            opening: BTreeMap::new(),
            next: 0,
            targets,
            judged: BTreeMap::new(),
            reserved: Reserved::default(),
            target_control,
            limits,
            since_bin: Duration::default(),
            since_look: Duration::default(),
            events: Vec::new(),
            report: Report::default(),
        }
    }

    /// Name of the congestion control algorithm with targets.
    pub(crate) fn kernel_target(&self) -> Option<&str> {
        self.target_control.as_deref().map(TargetControl::kernel_target)
    }

    /// Returns the events since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Adds an event.
    pub(crate) fn push_event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Begins a flow of this client, which ends with [`Flows::remove`]. Returns its number.
    pub(crate) fn begin(&mut self, client: SocketAddr) -> u64 {
        let id = self.next;
        self.next += 1;
        let opening = Opening { client, servers: Vec::new(), reserved: Vec::new() };
        self.opening.insert(id, opening);
        id
    }

    /// Decides whether a flow that is being opened is relayed to the server, and reserves its
    /// target. Otherwise all flows that are opened at the same time would find the same capacity.
    pub(crate) fn admit(&mut self, id: u64, server: SocketAddr) -> Admitted {
        let Some(opening) = self.opening.get_mut(&id) else { return Admitted::No };
        opening.servers.push(server);
        let client = opening.client;
        let fits = self.reserve(id, client, server);
        if fits || self.targets.beyond == Beyond::BestEffort { Admitted::Yes } else { Admitted::No }
    }

    /// Reserves the target of a flow that is being opened; `false` if too little capacity is left.
    fn reserve(&mut self, id: u64, client: SocketAddr, server: SocketAddr) -> bool {
        let Some(goal) = self.goal(client, server) else { return true };
        let owner = goal.owner(id, client);
        let Some(opening) = self.opening.get_mut(&id) else { return false };
        if opening.reserved.contains(&owner) {
            return true;
        }
        let fits = self.reserved.take(owner, goal.rate, self.targets.capacity);
        if fits {
            opening.reserved.push(owner);
        }
        fits
    }

    /// Target of a flow between the two addresses, by the rules alone.
    fn goal(&self, client: SocketAddr, server: SocketAddr) -> Option<Goal> {
        let (number, rule) = self.targets.rule(client, server)?;
        let (per, rate, direction) = (rule.per, rule.rate, rule.direction);
        Some(Goal { rule: number, per, rate, direction })
    }

    /// Adds a flow that has been opened, and sets its target.
    pub(crate) fn add(&mut self, id: u64, flow: Rc<Flow>, task: AbortHandle) {
        self.report.opened += 1;
        if !self.aim_at_rule(id, &flow) {
            self.report.best_effort += 1;
        }
        // The flow shares the reservation of its opening, so that no other flow can take it
        // between the two steps.
        self.end_opening(id);
        let is_shared = flow.goal.get().is_some_and(|goal| goal.per == Per::Host);
        if !is_shared {
            self.set_rate(&flow, flow.goal.get().map(|goal| (goal.direction, goal.rate)));
        }
        self.active.insert(id, (flow, task));
        if is_shared {
            self.share_out();
        }
    }

    /// Finds a flow's target among the rules, and reserves its part of the capacity; `false` if too
    /// little is left.
    fn aim_at_rule(&mut self, id: u64, flow: &Flow) -> bool {
        let Some(goal) = self.goal(flow.client, flow.server) else {
            flow.goal.set(None);
            return true;
        };
        let owner = goal.owner(id, flow.client);
        let fits = self.reserved.take(owner, goal.rate, self.targets.capacity);
        flow.goal.set(fits.then_some(goal));
        if fits {
            self.judged.entry(owner).or_default();
            self.prepare(flow, goal.direction);
        }
        fits
    }

    /// Prepares a flow for its target. Towards the server its socket was prepared before it
    /// connected.
    fn prepare(&self, flow: &Flow, direction: Direction) {
        flow.begin_bin();
        let has_congestion_control = flow.has_congestion_control(direction);
        if direction == Direction::Down && !has_congestion_control.get() {
            // A client that is gone needs no options.
            let _ = options::bound_unsent(&flow.near);
            if let Some(name) = self.kernel_target() {
                has_congestion_control.set(congestion::set(&flow.near, name).is_ok());
            }
        }
    }

    /// Releases the reservations of a flow that is not being opened any more.
    fn end_opening(&mut self, id: u64) {
        let Some(opening) = self.opening.remove(&id) else { return };
        opening.reserved.into_iter().for_each(|owner| self.reserved.give(owner));
    }

    /// Removes a flow that has ended, also if it was never open.
    pub(crate) fn remove(&mut self, id: u64) {
        self.end_opening(id);
        let Some((flow, _)) = self.active.remove(&id) else { return };
        self.report.bytes_up += flow.up_bytes.get();
        self.report.bytes_down += flow.down_bytes.get();
        let Some((owner, _)) = flow.owner(id) else { return };
        self.reserved.give(owner);
        match owner {
            Owner::Flow(..) => self.retire(owner),
            Owner::Host(..) => {
                if let Some(judged) = self.judged.get_mut(&owner) {
                    judged.bytes_of_ended += flow.acked_in_bin();
                    judged.ended_held_up |= flow.is_held_up();
                }
            }
        }
        if let Some(target_control) = &mut self.target_control {
            forget(target_control, &flow);
        }
    }

    /// Adds the bins of a target without flows to the total.
    fn retire(&mut self, owner: Owner) {
        if let Some(judged) = self.judged.remove(&owner) {
            self.report.achieved.add(judged.achieved);
        }
    }

    /// Replaces the targets, also for flows under way. Bins already judged are kept.
    pub(crate) fn retarget(&mut self, targets: Targets) {
        self.targets = targets;
        let flows: Vec<(u64, Rc<Flow>)> =
            self.active.iter().map(|(id, (flow, _))| (*id, Rc::clone(flow))).collect();
        // All capacity is released before it is assigned anew: otherwise an old target could leave
        // too little of it for a flow.
        flows.iter().for_each(|(_, flow)| flow.goal.set(None));
        let owners: Vec<Owner> = self.judged.keys().copied().collect();
        owners.into_iter().for_each(|owner| self.retire(owner));
        self.reserved = Reserved::default();
        for (id, flow) in &flows {
            self.aim_at_rule(*id, flow);
        }
        // A flow that was admitted is not refused later: without capacity it has no target.
        let ids: Vec<u64> = self.opening.keys().copied().collect();
        ids.into_iter().for_each(|id| self.reserve_again(id));
        self.share_out();
    }

    /// Reserves the targets of a flow that is being opened by the present rules.
    fn reserve_again(&mut self, id: u64) {
        let Some(opening) = self.opening.get_mut(&id) else { return };
        opening.reserved.clear();
        let (client, servers) = (opening.client, opening.servers.clone());
        for server in servers {
            self.reserve(id, client, server);
        }
    }

    /// Does the periodic work. Called about once a second; `passed` is the time since the last
    /// call.
    pub(crate) fn tick(&mut self, passed: Duration) {
        self.report.lasted_s += passed.as_secs_f64();
        self.end_idle(passed);
        self.since_look = Duration::from_nanos(self.since_look.as_nanos() + passed.as_nanos());
        if self.since_look >= SILENCE_LOOK {
            let looked = std::mem::take(&mut self.since_look);
            self.end_vanished(looked);
        }
        self.share_out();
        for (flow, _) in self.active.values() {
            flow.carried_at_tick.set(flow.up_bytes.get() + flow.down_bytes.get());
        }
        self.since_bin = Duration::from_nanos(self.since_bin.as_nanos() + passed.as_nanos());
        if self.since_bin >= self.limits.bin {
            let bin = std::mem::take(&mut self.since_bin);
            self.judge(bin);
        }
    }

    fn end_idle(&mut self, passed: Duration) {
        let mut over = Vec::new();
        for (id, (flow, task)) in &self.active {
            let carries = flow.up_bytes.get() + flow.down_bytes.get() > flow.carried_at_tick.get();
            let before = if carries { 0 } else { flow.idle_for.get().as_nanos() };
            flow.idle_for.set(Duration::from_nanos(before + passed.as_nanos()));
            if !carries && flow.idle_for.get() >= self.limits.idle {
                // Its legs are reset, as they have not ended.
                task.abort();
                over.push(*id);
            }
        }
        self.report.idle += over.len() as u64;
        over.into_iter().for_each(|id| self.remove(id));
    }

    /// Ends flows whose client or server is silent while it owes an ACK.
    fn end_vanished(&mut self, passed: Duration) {
        let mut over = Vec::new();
        for (id, (flow, task)) in &self.active {
            if flow.silence(passed) >= SILENCE {
                task.abort();
                over.push(*id);
            }
        }
        self.report.broken += over.len() as u64;
        over.into_iter().for_each(|id| self.remove(id));
    }

    /// Sets the rate of each flow: its own target, or its share of a host's. Only the flows of the
    /// host that carry data divide the target, so that idle flows use none of it.
    fn share_out(&mut self) {
        let mut sending: BTreeMap<Owner, u64> = BTreeMap::new();
        let wants = |flow: &Flow| {
            flow.is_held_up()
                || flow.up_bytes.get() + flow.down_bytes.get() > flow.carried_at_tick.get()
        };
        for (id, (flow, _)) in &self.active {
            if let Some((owner, _)) = flow.owner(*id) {
                *sending.entry(owner).or_default() += u64::from(wants(flow));
            }
        }
        let mut shares = Vec::new();
        for (id, (flow, _)) in &self.active {
            let share = flow.owner(*id).map(|(owner, goal)| {
                let flows = sending.get(&owner).copied().unwrap_or(0);
                let others = flows - u64::from(flows > 0 && wants(flow));
                // An idle flow gets the share that it would have if it sent, so that it need not
                // wait for the next tick when it begins.
                (goal.direction, BitRate((goal.rate.0 / (others + 1)).max(1)))
            });
            if share != flow.reported.get() {
                shares.push((Rc::clone(flow), share));
            }
        }
        shares.iter().for_each(|(flow, share)| self.set_rate(flow, *share));
    }

    /// Sets the rate of a flow, on the leg that sends in its direction. The other leg has none.
    fn set_rate(&mut self, flow: &Flow, rate: Option<(Direction, BitRate)>) {
        let before = flow.reported.replace(rate);
        if before == rate {
            return;
        }
        let former = before.map(|(direction, _)| direction);
        let former = former.filter(|former| rate.is_none_or(|(direction, _)| direction != *former));
        let changes = [
            former.map(|direction| (direction, None)),
            rate.map(|(direction, rate)| (direction, Some(rate))),
        ];
        for (direction, rate) in changes.into_iter().flatten() {
            let reported = steer(self.target_control.as_mut(), flow, direction, rate);
            self.events.extend(reported.err().map(Event::NoCongestionControl));
        }
    }

    /// Ends a bin.
    fn judge(&mut self, bin: Duration) {
        let mut found: BTreeMap<Owner, (Goal, u64, bool)> = BTreeMap::new();
        for (id, (flow, _)) in &self.active {
            let Some((owner, goal)) = flow.owner(*id) else { continue };
            let (acked, held_up) = flow.end_bin();
            let entry = found.entry(owner).or_insert((goal, 0, false));
            entry.1 += acked;
            entry.2 |= held_up;
        }
        let owners: Vec<Owner> = self.judged.keys().copied().collect();
        for owner in owners {
            let Some((goal, bytes, held_up)) = found.get(&owner) else {
                self.retire(owner);
                continue;
            };
            let Some(judged) = self.judged.get_mut(&owner) else { continue };
            let bytes = bytes + std::mem::take(&mut judged.bytes_of_ended);
            let held_up = *held_up | std::mem::take(&mut judged.ended_held_up);
            // The target's first bin is shorter than the others, and includes the start of the
            // connection.
            if std::mem::replace(&mut judged.is_whole, true) {
                judged.achieved.judge(goal.rate, bytes, bin, held_up);
                judged.rate = Some(BitRate::over(bytes, bin));
            }
        }
    }

    /// Returns the report since the start.
    pub(crate) fn report(&self) -> Report {
        let mut report = self.report.clone();
        report.active = self.active.len() as u64;
        let mut owners: BTreeMap<Owner, FlowReport> = BTreeMap::new();
        for (id, (flow, _)) in &self.active {
            report.bytes_up += flow.up_bytes.get();
            report.bytes_down += flow.down_bytes.get();
            let Some((owner, goal)) = flow.owner(*id) else { continue };
            let is_flow = matches!(owner, Owner::Flow(..));
            let entry = owners.entry(owner).or_insert_with(|| FlowReport {
                client: flow.client.ip(),
                port: is_flow.then(|| flow.client.port()),
                server: is_flow.then_some(flow.server),
                rule: goal.rule + 1,
                direction: goal.direction,
                flows: 0,
                target: goal.rate,
                rate: None,
                achieved: Achieved::default(),
            });
            entry.flows += 1;
        }
        for (owner, judged) in &self.judged {
            report.achieved.add(judged.achieved);
            if let Some(flow) = owners.get_mut(owner) {
                (flow.rate, flow.achieved) = (judged.rate, judged.achieved);
            }
        }
        report.flows = owners.into_values().collect();
        report
    }
}

/// Sets a leg's rate in the kernel: as the algorithm's target, or else as a pacing limit. The error
/// is a sentence.
fn steer(
    target_control: Option<&mut Box<dyn TargetControl>>,
    flow: &Flow,
    direction: Direction,
    rate: Option<BitRate>,
) -> Result<(), String> {
    let has_congestion_control = flow.has_congestion_control(direction);
    let sender = flow.sender(direction);
    let reported = match target_control.filter(|_| has_congestion_control.get()) {
        Some(target_control) => rustix::net::sockopt::socket_cookie(sender)
            .map_err(Into::into)
            .and_then(|cookie| target_control.set(cookie, rate)),
        None => pace(sender, rate),
    };
    reported.map_err(|error| {
        // Without a target the flow still gets a pacing limit.
        has_congestion_control.set(false);
        let _ = pace(sender, rate);
        format!("{}: {error}", flow.server)
    })
}

fn pace(sender: &TcpStream, rate: Option<BitRate>) -> std::io::Result<()> {
    let limit = rate.map(|rate| BitRate(rate.0.saturating_mul(MARGIN_PERCENT) / 100));
    options::set_max_pacing(sender, limit)
}

/// Removes the target of a flow that has ended.
fn forget(target_control: &mut Box<dyn TargetControl>, flow: &Flow) {
    let Some((direction, _)) = flow.reported.get() else { return };
    if !flow.has_congestion_control(direction).get() {
        return;
    }
    if let Ok(cookie) = rustix::net::sockopt::socket_cookie(flow.sender(direction)) {
        // An algorithm that was unloaded has discarded the target already.
        let _ = target_control.set(cookie, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(targets: &str) -> Flows {
        let targets = Targets::parse(targets).expect("valid");
        Flows::new(targets, None, Limits::default())
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_flow_holds_capacity_from_its_check_on() {
        let mut flows = flows("capacity = '10M'\nbeyond = 'refuse'\n[[target]]\nrate = '8M'\n");
        let (client, server) = (at("192.0.2.1:5"), at("198.51.100.1:80"));
        let [first, second] = [(); 2].map(|()| flows.begin(client));
        assert_eq!(flows.admit(first, server), Admitted::Yes);
        // Another address of the same server shares the reservation.
        assert_eq!(flows.admit(first, at("[2001:db8::1]:80")), Admitted::Yes);
        assert_eq!(flows.admit(second, server), Admitted::No);
        flows.remove(first);
        assert_eq!(flows.admit(second, server), Admitted::Yes);
        let targets =
            Targets::parse("capacity = '5M'\nbeyond = 'refuse'\n[[target]]\nrate = '2M'\n");
        flows.retarget(targets.expect("valid"));
        let [third, fourth] = [(); 2].map(|()| flows.begin(client));
        assert_eq!(flows.admit(third, server), Admitted::Yes);
        assert_eq!(flows.admit(fourth, server), Admitted::No);
        [second, third, fourth].into_iter().for_each(|id| flows.remove(id));
        assert_eq!((flows.opening.len(), flows.report().active), (0, 0));
    }

    /// A connection over loopback, and its peer.
    async fn leg() -> (TcpStream, TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let to = listener.local_addr().expect("its address");
        let (leg, peer) = tokio::join!(TcpStream::connect(to), listener.accept());
        (leg.expect("it listens"), peer.expect("a client").0)
    }

    /// Writes until the leg takes no more.
    async fn fill(leg: &TcpStream) {
        leg.writable().await.expect("it is open");
        while leg.try_write(&[0; 1 << 16]).is_ok() {}
    }

    /// One client vanishes with data under way: its ACKs are dropped. A second one does not read,
    /// and a third has nothing to acknowledge.
    #[test]
    fn a_peer_that_owes_acks_and_is_silent_has_vanished() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        tokio::task::LocalSet::new().block_on(&runtime.expect("a runtime"), async {
            let mut flows = flows("");
            let mut peers = Vec::new();
            for number in 0..3 {
                let ((near, client), (far, server)) = (leg().await, leg().await);
                if number == 0 {
                    // Classic BPF that keeps no byte of a segment.
                    let nothing = socket2::SockFilter::new(0x06, 0, 0, 0);
                    socket2::SockRef::from(&near).attach_filter(&[nothing]).expect("a filter");
                }
                if number < 2 {
                    fill(&near).await;
                }
                // The last ACKs of a receiver that lives are delayed.
                while number > 0 && options::heard(&near).expect("it is open").1 {
                    tokio::task::yield_now().await;
                }
                let ends = (near.peer_addr(), far.peer_addr());
                let (client_at, server_at) = (ends.0.expect("open"), ends.1.expect("open"));
                let id = flows.begin(client_at);
                let flow = Rc::new(Flow::new(near, far, client_at, server_at));
                let task = tokio::task::spawn_local(std::future::pending::<()>());
                flows.add(id, flow, task.abort_handle());
                peers.push((client, server));
            }
            for second in 0..=SILENCE.as_nanos() / 1_000_000_000 {
                assert_eq!((second, flows.report().broken), (second, 0));
                flows.tick(Duration::from_secs(1));
            }
            // The first look found the segments of the handshake.
            (0..10).for_each(|_| flows.tick(Duration::from_secs(1)));
            let report = flows.report();
            assert_eq!((report.broken, report.active, report.idle), (1, 2, 0));
            assert_eq!(flows.active.keys().copied().collect::<Vec<_>>(), [1, 2]);
        });
    }

    #[test]
    fn addresses_with_rules_of_their_own_have_reservations_of_their_own() {
        let rules = "capacity = '10M'\nbeyond = 'refuse'\n\
                     [[target]]\nrate = '8M'\nserver = '::/0'\n[[target]]\nrate = '4M'\n";
        let mut flows = flows(rules);
        let id = flows.begin(at("192.0.2.1:5"));
        assert_eq!(flows.admit(id, at("[2001:db8::1]:80")), Admitted::Yes);
        assert_eq!(flows.admit(id, at("198.51.100.1:80")), Admitted::No);
    }
}
