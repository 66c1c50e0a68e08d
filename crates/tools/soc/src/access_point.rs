//! An access point that shares its interface by the SoC of its stations.

use crate::Error;
use crate::actuator::{Actuator, ActuatorPlan};
use crate::airtime_effect::AirtimeMeter;
use crate::effect::Meter;
use crate::piggyback::Unloading;
use crate::source::{Observed, StationSource};
use crate::status::{Effect, Status, StatusSocket};
use crate::wait::wait_for;
use fairwave_linux::Clock;
use fairwave_linux::{EtherSocket, Presence, Traffic};
use fairwave_machine::Machine;
use fairwave_soc::{AccessPoint, Action, ApConfig, ApInput, Decision, ReceivedFrame, Routed};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::{self, Mac};
use fairwave_wire::soc::pair::Message;
use fairwave_wire::soc::{self, routed};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Period of the radio's samples and of readings of the shares, and maximum wait of the loop.
const LOOK: Duration = Duration::from_millis(200);
/// Period of requests for changes that the kernel has refused.
const AGAIN: Duration = Duration::from_secs(1);
/// Time for which the loop waits after reports, so that it reads many of them at once. It is
/// shorter than the minimum report interval, so that a weight follows within two intervals. A
/// wake-up costs as much as about twenty reports. A single report is handled without this wait. No
/// report that has arrived counts as missing, as reports are read before timers expire.
const GATHER: Duration = Duration::from_millis(15);
/// Maximum number of frames that are read before other work gets its turn.
const BATCH: usize = 256;
/// Warning of an access point without a status socket.
const NO_DESK: &str = "another program has taken the name of the status socket: `soc \
                       status` shows nothing of this interface";
/// Name of the class of all traffic that has no other.
const REST: &str = "rest";
/// Bytes of a frame that are read: its header and a report.
const FRAME: usize = ethernet::HEADER_LEN + TAG + soc::LEN;
/// Bytes of an inner VLAN tag; the kernel takes the outer one off.
const TAG: usize = 4;

/// Configuration of an access point.
pub struct ApPlan {
    /// The interface by which stations are reached.
    pub interface: String,
    /// Address at which datagrams with the reports of stations behind routers arrive; `None`
    /// accepts reports in frames only.
    pub listen: Option<SocketAddr>,
    /// Whether reports in front of data frames are taken off, so that the data arrives.
    pub piggyback: bool,
    /// Configuration of the state machine. With `listen`, it has a key for tokens.
    pub config: ApConfig,
    /// Kinds of traffic to which the policies after the first apply.
    pub traffic: Vec<Traffic>,
    /// Actuator of the weights.
    pub actuator: ActuatorPlan,
    /// Observations of the radio.
    pub radio: Box<dyn StationSource>,
}

/// Events, for a log.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessPointEvent {
    /// It serves the interface; the address at which it takes datagrams, if it takes any.
    Serving(Option<SocketAddr>),
    /// A decision, and its time since the start.
    Decided(Instant, Decision),
    /// The kernel refused a change of this station, for this reason, at this time since the start.
    Failed(Instant, Mac, String),
    /// The radio cannot be read, for this reason.
    Trouble(String),
}

struct Loop {
    socket: EtherSocket,
    datagrams: Option<UdpSocket>,
    desk: Option<StatusSocket>,
    ap: AccessPoint,
    actuator: Actuator,
    interface: String,
    failed: u64,
    /// Names of the classes of traffic.
    traffic: Vec<String>,
    /// The last error of the radio, while it persists.
    trouble: Option<String>,
    /// Measurements of the shares of bytes and of airtime.
    meter: Meter,
    airtime: AirtimeMeter,
    /// Their last result; `None` with an actuator without counters.
    effect: Option<Effect>,
    /// The last problem of shares or pending changes, while it persists: the verdict, whose figures
    /// change with each measurement, or the error.
    problem: Option<String>,
    /// Time at which pending changes are requested again.
    again: Instant,
    /// Buffer for reports that are read together.
    reports: Vec<ReceivedFrame>,
}

/// Serves until `stop` is set, and restores the interface.
///
/// # Errors
/// If there is no such interface, the process lacks CAP_NET_RAW or CAP_NET_ADMIN, another program
/// has set a qdisc there, or the interface vanishes.
pub fn run(
    plan: ApPlan,
    stop: &AtomicBool,
    mut receive: impl FnMut(AccessPointEvent),
) -> Result<Status, Error> {
    let clock = Clock::start();
    let presence = Presence::of(&plan.interface)?;
    let mut all = Loop::start(&plan, clock.now())?;
    let ApPlan { interface, piggyback, mut radio, .. } = plan;
    let mut unloading = piggyback.then(|| Unloading::start(&interface)).transpose()?;
    let listens = all.datagrams.as_ref().map(UdpSocket::local_addr);
    receive(AccessPointEvent::Serving(listens.and_then(Result::ok)));
    if all.desk.is_none() {
        receive(AccessPointEvent::Trouble(NO_DESK.to_owned()));
    }
    let broken = |error| Error::at(format!("interface `{interface}`"))(error);
    let mut look = clock.now();
    let mut is_requested = false;
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        if now >= look {
            look = now + LOOK;
            presence.check().map_err(broken)?;
            all.actuator.check().map_err(broken)?;
            unloading.as_mut().map_or(Ok(()), Unloading::check).map_err(broken)?;
            all.see(now, radio.observe(), &mut receive);
            all.measure(now, &mut receive);
        }
        let (taken, is_empty) = all.take_reports(now).map_err(broken)?;
        if all.ap.deadline().is_some_and(|due| due <= now) {
            all.ap.wake(now);
        }
        all.follow(now, &mut receive).map_err(broken)?;
        // Polling the status socket costs the kernel as much as several reports cost this loop.
        if is_requested || !is_empty {
            all.desk.iter().for_each(|desk| desk.answer(|| all.status(now)));
        }
        is_requested = false;
        if is_empty {
            let next = all.ap.deadline().map_or(look, |due| due.min(look));
            let max = next.since(clock.now());
            // Among many stations the next report is near: to wake up for it alone would cost more
            // than the report itself.
            let waited = match taken {
                0 => wait_for(&all.readable(), max),
                _ => wait_for(&all.status_socket(), GATHER.min(max)),
            };
            is_requested = waited.map_err(broken)?;
        }
    }
    Ok(all.status(clock.now()))
}

/// Names of the classes of traffic: the rest, and the kinds that have their own.
fn classes(traffic: &[Traffic]) -> Vec<String> {
    [REST].into_iter().chain(traffic.iter().map(|kind| kind.name())).map(str::to_owned).collect()
}

fn open_datagrams(at: SocketAddr) -> Result<UdpSocket, Error> {
    let opened = UdpSocket::bind(at).and_then(|socket| {
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    opened.map_err(Error::at(format!("reports at {at}")))
}

impl Loop {
    fn start(plan: &ApPlan, now: Instant) -> Result<Self, Error> {
        let interface = &plan.interface;
        Ok(Self {
            socket: EtherSocket::open(interface, soc::ETHER_TYPE.number())?,
            datagrams: plan.listen.map(open_datagrams).transpose()?,
            desk: StatusSocket::open(interface)?,
            actuator: Actuator::start(&plan.actuator, interface)?,
            ap: AccessPoint::new(plan.config.clone()),
            interface: interface.clone(),
            failed: 0,
            traffic: classes(&plan.traffic),
            trouble: None,
            meter: Meter::default(),
            airtime: AirtimeMeter::default(),
            effect: None,
            problem: None,
            again: now,
            reports: Vec::with_capacity(BATCH),
        })
    }

    /// The status socket, if there is one.
    fn status_socket(&self) -> Vec<&dyn AsFd> {
        self.desk.iter().map(|desk| &desk.0 as &dyn AsFd).collect()
    }

    /// Descriptors that the loop waits for; the status socket is the first.
    fn readable(&self) -> Vec<&dyn AsFd> {
        let mut all = self.status_socket();
        all.push(&self.socket);
        all.extend(self.datagrams.as_ref().map(|one| one as &dyn AsFd));
        all
    }

    /// Handles the observations of the radio. A persistent error is reported once.
    fn see(
        &mut self,
        now: Instant,
        Observed { facts, trouble }: Observed,
        receive: &mut impl FnMut(AccessPointEvent),
    ) {
        if let (Some(why), true) = (&trouble, trouble != self.trouble) {
            receive(AccessPointEvent::Trouble(why.clone()));
        }
        self.trouble = trouble;
        facts.into_iter().for_each(|fact| self.ap.handle(now, fact));
    }

    /// Asks again for changes that the kernel has refused, and measures the effect of weights. A
    /// persistent problem is reported once.
    fn measure(&mut self, now: Instant, receive: &mut impl FnMut(AccessPointEvent)) {
        let mut refused = Ok(());
        if now >= self.again {
            self.again = now + AGAIN;
            refused = self.actuator.settle();
        } else if self.actuator.is_pending() {
            return;
        }
        let (kind, problem) = match refused.and_then(|()| self.read_effect(now)) {
            Ok(effect) => {
                self.effect = effect.clone();
                let problem = effect.and_then(|effect| Some((effect.verdict, effect.problem?)));
                problem.unzip()
            }
            Err(error) => (Some(error.to_string()), Some(error.to_string())),
        };
        if let (Some(why), true) = (problem, kind != self.problem) {
            receive(AccessPointEvent::Trouble(why));
        }
        self.problem = kind;
    }

    fn read_effect(&mut self, now: Instant) -> io::Result<Option<Effect>> {
        if let Some(reading) = self.actuator.reading()? {
            self.meter.take(now, reading);
            return Ok(Some(self.meter.effect(&self.interface, &self.traffic)));
        }
        if !self.actuator.is_airtime() {
            return Ok(None);
        }
        if self.airtime.is_due(now) {
            self.airtime.take(now, &self.ap.stations(now));
        }
        Ok(Some(self.airtime.effect(&self.interface)))
    }

    /// Handles the frames and datagrams that wait, a batch of each. Returns their number, and
    /// whether none is left.
    fn take_reports(&mut self, now: Instant) -> io::Result<(usize, bool)> {
        let (mut frame, mut taken) = ([0; FRAME], 0);
        self.reports.clear();
        while taken < BATCH
            && let Some(length) = self.socket.receive(&mut frame)?
        {
            taken += 1;
            if let Ok((header, payload)) = ethernet::parse_tagged(&frame[..length.min(FRAME)])
                // A program beside this one may be pairing with a station.
                && !Message::is_meant(payload)
            {
                let payload = &payload[..payload.len().min(soc::LEN)];
                self.reports.push(ReceivedFrame::new(header.source, payload));
            }
        }
        self.ap.foresee(&self.reports);
        for received in &self.reports {
            self.ap.handle(now, ApInput::Report(*received));
        }
        // Also after a whole batch: a flood of frames must not keep datagrams waiting.
        let (more, is_empty) = self.take_datagrams(now)?;
        Ok((taken + more, is_empty && taken < BATCH))
    }

    /// Handles the datagrams that wait. Returns their number, and whether none is left.
    fn take_datagrams(&mut self, now: Instant) -> io::Result<(usize, bool)> {
        let Some(socket) = &self.datagrams else { return Ok((0, true)) };
        let mut bytes = [0; routed::DATAGRAM_LEN];
        for taken in 0..BATCH {
            match socket.recv_from(&mut bytes) {
                Ok((length, from)) => {
                    let datagram = Routed::new(from, &bytes[..length]);
                    self.ap.handle(now, ApInput::Datagram(datagram));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok((taken, true));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok((BATCH, false))
    }

    /// Carries out the actions of the state machine, and passes its events on.
    fn follow(
        &mut self,
        now: Instant,
        receive: &mut impl FnMut(AccessPointEvent),
    ) -> io::Result<()> {
        while let Some(action) = self.ap.poll(now) {
            let station = action.station();
            match &action {
                Action::Answer { payload, .. } => {
                    let own = Mac(self.socket.address());
                    self.socket.send(&soc::frame(own, station, payload))?;
                }
                Action::Reply { to, payload, .. } => {
                    // A reply that is lost is sent again in answer to the next report.
                    let _ = self.datagrams.as_ref().map(|socket| socket.send_to(payload, to));
                }
                Action::Serve { .. } | Action::Stop { .. } => {
                    if let Err(error) = self.actuator.set(&action) {
                        self.failed += 1;
                        receive(AccessPointEvent::Failed(now, station, error.to_string()));
                    }
                }
            }
        }
        while let Some(decision) = self.ap.event() {
            receive(AccessPointEvent::Decided(now, decision));
        }
        Ok(())
    }

    fn status(&self, now: Instant) -> Status {
        Status {
            interface: self.interface.clone(),
            actuator: self.actuator.name().to_owned(),
            failed: self.failed,
            traffic: self.traffic.clone(),
            is_pending: self.actuator.is_pending(),
            effect: self.effect.clone(),
            frames: self.actuator.frames(),
            ..Status::of(&self.ap, now, |station| self.actuator.class_of(station))
        }
    }
}

#[cfg(test)]
#[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
mod tests {
    use super::*;
    use crate::source::NoRadio;
    use fairwave_soc::{KEY_LEN, POLICIES, Policies, TableConfig};
    use fairwave_wire::seal::Key;
    use fairwave_wire::soc::{SESSION_LEN, Session};

    #[test]
    fn a_flood_of_frames_keeps_no_datagram_waiting() {
        let table = TableConfig::new(Policies::per_host((POLICIES[0].curve)()));
        let key = Key::new(&[7; KEY_LEN]).unwrap();
        let plan = ApPlan {
            interface: "lo".to_owned(),
            listen: Some("127.0.0.1:0".parse().unwrap()),
            piggyback: false,
            config: ApConfig::new(table, key, Session([5; SESSION_LEN])),
            traffic: Vec::new(),
            actuator: ActuatorPlan::Nothing,
            radio: Box::new(NoRadio),
        };
        let Ok(mut all) = Loop::start(&plan, Instant::ZERO) else {
            eprintln!("SKIPPED: it needs a packet socket: run as root");
            return;
        };
        let flood = soc::frame(Mac::local(1), Mac::default(), &[0; 64]);
        for _ in 0..=BATCH {
            assert!(all.socket.send(&flood).unwrap());
        }
        let to = all.datagrams.as_ref().unwrap().local_addr().unwrap();
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[0; 80], to).unwrap();
        assert_eq!(all.take_reports(Instant::ZERO).unwrap(), (BATCH + 1, false));
        assert_eq!(all.take_reports(Instant::ZERO).unwrap(), (1, true));
    }
}
