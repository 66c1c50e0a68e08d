//! An access point that shares its interface by the SoC of its stations.

use crate::Error;
use crate::actuator::{Actuator, ActuatorPlan};
use crate::source::StationSource;
use crate::status::{Desk, Status};
use crate::wait::wait_for;
use fairwave_linux::Clock;
use fairwave_linux::{EtherSocket, Traffic};
use fairwave_machine::Machine;
use fairwave_soc::{AccessPoint, Action, ApConfig, ApInput, Decision, Heard, Routed};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::{self, Mac};
use fairwave_wire::soc::pair::Message;
use fairwave_wire::soc::{self, routed};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often the radio is asked, and the longest wait of the loop.
const LOOK: Duration = Duration::from_millis(200);
/// Time for which the loop waits after reports, so that those of a crowd are read at once: less
/// than the shortest interval, so that a weight follows within two of them. Each wake-up costs as
/// much as some twenty reports. A report that comes alone does not wait; none is taken for missing
/// that is there, as reports are read before alarms ring.
const GATHER: Duration = Duration::from_millis(15);
/// Frames that are read before anything else has its turn.
const BATCH: usize = 256;
/// Name of the class of all traffic that has no other.
const REST: &str = "rest";
/// Bytes of a frame that matter: its header and a report.
const FRAME: usize = ethernet::HEADER_LEN + soc::LEN;

/// What an access point is to do.
pub struct ApPlan {
    /// The interface by which stations are reached.
    pub interface: String,
    /// Where reports of stations behind routers come as datagrams; if nowhere, only frames count.
    pub listen: Option<SocketAddr>,
    /// What reports mean. With `listen`, it has a key for tokens.
    pub config: ApConfig,
    /// The kinds of traffic that the policies after the first are for.
    pub traffic: Vec<Traffic>,
    /// What weights act on.
    pub actuator: ActuatorPlan,
    /// What the radio sees.
    pub radio: Box<dyn StationSource>,
}

/// What happened, for a log.
#[derive(Clone, Debug, PartialEq)]
pub enum ApNews {
    /// A decision, at this time after the start.
    Decided(Instant, Decision),
    /// The kernel refused a change.
    Failed(Mac, String),
    /// The radio does not tell.
    Trouble(String),
}

struct Loop {
    socket: EtherSocket,
    datagrams: Option<UdpSocket>,
    desk: Desk,
    ap: AccessPoint,
    actuator: Actuator,
    interface: String,
    failed: u64,
    /// Names of the classes of traffic.
    traffic: Vec<String>,
    /// What the radio said when it did not tell.
    trouble: Option<String>,
    /// Room for reports that are read at once.
    reports: Vec<Heard>,
}

/// Serves until `stop` is set, and restores the interface.
///
/// # Errors
/// If there is no such interface, the user may not (CAP_NET_RAW, CAP_NET_ADMIN), somebody else has
/// set a qdisc there, or the interface goes away.
pub fn run(plan: ApPlan, stop: &AtomicBool, mut hear: impl FnMut(ApNews)) -> Result<Status, Error> {
    let clock = Clock::start();
    let ApPlan { interface, config, traffic, actuator, mut radio, listen } = plan;
    let socket = EtherSocket::open(&interface, soc::ETHER_TYPE.number())?;
    let datagrams = listen.map(open_datagrams).transpose()?;
    let desk = Desk::open(&interface)?;
    let actuator = Actuator::start(&actuator, &interface)?;
    let rest = REST.to_owned();
    let traffic = [rest].into_iter().chain(traffic.iter().map(|kind| kind.name().to_owned()));
    let traffic = traffic.collect();
    let ap = AccessPoint::new(config);
    let mut all = Loop {
        socket,
        datagrams,
        desk,
        ap,
        actuator,
        interface: interface.clone(),
        failed: 0,
        traffic,
        trouble: None,
        reports: Vec::with_capacity(BATCH),
    };
    let broken = |error| Error::at(format!("interface `{interface}`"))(error);
    let mut look = clock.now();
    let mut is_asked = false;
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        if now >= look {
            look = now + LOOK;
            all.actuator.check().map_err(broken)?;
            all.see(now, radio.facts(), &mut hear);
        }
        let (taken, is_empty) = all.take_reports(now).map_err(broken)?;
        if all.ap.deadline().is_some_and(|due| due <= now) {
            all.ap.wake(now);
        }
        all.follow(now, &mut hear).map_err(broken)?;
        // To ask whether somebody asks costs the kernel as much as some reports cost us.
        if is_asked || !is_empty {
            all.desk.answer(|| all.status(now));
        }
        is_asked = false;
        if is_empty {
            let next = all.ap.deadline().map_or(look, |due| due.min(look));
            let most = next.since(clock.now());
            // In a crowd the next report is near: waking for it would cost more than it does.
            let waited = match taken {
                0 => wait_for(&all.readable(), most),
                _ => wait_for(&[&all.desk.0], GATHER.min(most)),
            };
            is_asked = waited.map_err(broken)?;
        }
    }
    Ok(all.status(clock.now()))
}

fn open_datagrams(at: SocketAddr) -> Result<UdpSocket, Error> {
    let opened = UdpSocket::bind(at).and_then(|socket| {
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    opened.map_err(Error::at(format!("reports at {at}")))
}

impl Loop {
    /// What the loop waits for, the desk first.
    fn readable(&self) -> Vec<&dyn AsFd> {
        let sockets: [&dyn AsFd; 2] = [&self.desk.0, &self.socket];
        sockets.into_iter().chain(self.datagrams.as_ref().map(|one| one as &dyn AsFd)).collect()
    }

    /// Takes what the radio told. The same trouble is told once.
    fn see(
        &mut self,
        now: Instant,
        told: Result<Vec<ApInput>, String>,
        hear: &mut impl FnMut(ApNews),
    ) {
        let trouble = told.as_ref().err().cloned();
        if let (Some(why), true) = (&trouble, trouble != self.trouble) {
            hear(ApNews::Trouble(why.clone()));
        }
        self.trouble = trouble;
        told.into_iter().flatten().for_each(|fact| self.ap.handle(now, fact));
    }

    /// Takes frames that wait; how many, and whether those were all.
    fn take_reports(&mut self, now: Instant) -> io::Result<(usize, bool)> {
        let (mut frame, mut taken) = ([0; FRAME], 0);
        self.reports.clear();
        while taken < BATCH
            && let Some(length) = self.socket.receive(&mut frame)?
        {
            taken += 1;
            if let Ok((header, payload)) = ethernet::parse(&frame[..length.min(FRAME)])
                // Somebody pairs beside this program.
                && !Message::is_meant(payload)
            {
                self.reports.push(Heard::new(header.source, payload));
            }
        }
        self.ap.foresee(&self.reports);
        for heard in &self.reports {
            self.ap.handle(now, ApInput::Report(*heard));
        }
        if taken == BATCH {
            return Ok((BATCH, false));
        }
        let (more, is_empty) = self.take_datagrams(now)?;
        Ok((taken + more, is_empty))
    }

    /// The same for datagrams.
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

    /// Does what the machine asks for.
    fn follow(&mut self, now: Instant, hear: &mut impl FnMut(ApNews)) -> io::Result<()> {
        while let Some(action) = self.ap.poll(now) {
            let station = action.station();
            match &action {
                Action::Answer { payload, .. } => {
                    let own = Mac(self.socket.address());
                    self.socket.send(&soc::frame(own, station, payload))?;
                }
                Action::Reply { to, payload, .. } => {
                    // What is lost is sent again with the next report.
                    let _ = self.datagrams.as_ref().map(|socket| socket.send_to(payload, to));
                }
                Action::Serve { .. } | Action::Stop { .. } => {
                    if let Err(error) = self.actuator.set(&action) {
                        self.failed += 1;
                        hear(ApNews::Failed(station, error.to_string()));
                    }
                }
            }
        }
        while let Some(decision) = self.ap.event() {
            hear(ApNews::Decided(now, decision));
        }
        Ok(())
    }

    fn status(&self, now: Instant) -> Status {
        Status {
            interface: self.interface.clone(),
            actuator: self.actuator.name().to_owned(),
            failed: self.failed,
            traffic: self.traffic.clone(),
            frames: self.actuator.frames(),
            ..Status::of(&self.ap, now, |station| self.actuator.class_of(station))
        }
    }
}
