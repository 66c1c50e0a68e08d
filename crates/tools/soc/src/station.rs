//! A station that reports its SoC.

use crate::Error;
use crate::key::Secret;
use crate::path::{Listener, Path, Received};
use crate::piggyback::Outgoing;
use crate::source::{Level, SnrSource};
use crate::wait::wait_for;
use fairwave_linux::{Clock, Presence, clock};
use fairwave_machine::Machine;
use fairwave_soc::{Contact, FilterSpec, Format, Reporter, ReporterConfig, ReporterInput, Sent};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::{self, Greeting, Session};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Samples per report interval.
const SAMPLES: u64 = 4;
/// Part of the interval for which a report waits for a data frame, as in the simulator.
const HOLD: u64 = 4;
/// Last reports that are sent, as some may be lost.
const LAST_REPORTS: u32 = 3;
/// Maximum number of messages that are read before reports get their turn: any host on the link can
/// send them.
const BATCH: usize = 64;
/// Period of readings of the interface's IPv4 address, and of whether it is still there.
const ADDRESS_LOOK: Duration = Duration::from_secs(1);
/// Maximum wait, so that the loop notices a request to stop.
const LOOK: Duration = Duration::from_millis(500);

/// Configuration of a station.
pub struct StationPlan {
    /// Interface with the station's link address.
    pub interface: String,
    /// Address of the access point, if reports are sent as datagrams; `None` sends frames.
    pub to: Option<SocketAddr>,
    /// Key that seals its reports. Without one they have the paper's format: nobody answers them,
    /// and each goes to the access point of the association, or else to all.
    pub secret: Option<Secret>,
    /// Time between reports: the paper's T_soc.
    pub interval: Duration,
    /// Whether a report waits for a quarter of the interval for a data frame that takes it along.
    /// All frames of the interface then pass through this program.
    pub piggyback: bool,
    /// Filter from samples to SoC.
    pub filter: FilterSpec,
    /// A number that is greater at each start, such as the date in seconds.
    pub epoch: u32,
    /// Source of the level.
    pub source: Box<dyn SnrSource>,
}

/// Events, for the user.
#[derive(Clone, Debug, PartialEq)]
pub enum StationEvent {
    /// The radio reports that the station is now associated with this access point.
    Associated(Mac),
    /// An access point answers.
    ReceivedFrame(Listener),
    /// No access point answers any more.
    Alone,
    /// An access point refuses the station's key, or somebody says so in its name.
    KeyRefused(Listener),
    /// The level cannot be read, for this reason.
    Trouble(String),
}

/// Counters of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounts {
    /// Reports that were made.
    pub made: u64,
    /// Reports, and greetings in place of reports, that were sent.
    pub sent: u64,
    /// Reports among them that rode on a data frame.
    pub in_front: u64,
    /// Valid answers.
    pub answers: u64,
    /// Received frames that were not answers of the access point.
    pub refused: u64,
}

struct Station {
    path: Path,
    address: Mac,
    /// The station's own key, which opens answers and seals greetings.
    key: Option<Key>,
    /// Session with the access point, for which reports are sealed.
    session: Option<Session>,
    reporter: Reporter,
    contact: Contact<Listener>,
    counts: StationCounts,
    /// Number of the last report that was answered, so that an old answer cannot be replayed.
    answered: u64,
    /// The access point that was last reported as an event.
    reported: Option<Listener>,
    /// The access point of the association, where the source of levels reports it.
    associated: Option<Mac>,
    /// The last error of the source, while it persists.
    trouble: Option<String>,
    /// Number of the last greeting.
    greeted: u64,
    /// The access point that refused the key, and when, until one answers: one of another network
    /// may hear a greeting that is for all.
    refusal: Option<(Listener, Instant)>,
    is_refusal_reported: bool,
    interval: Duration,
}

/// The date in seconds since 1970, which is usually greater at each start.
pub(crate) fn date() -> u32 {
    u32::try_from(clock::wall_ns() / 1_000_000_000).unwrap_or(u32::MAX)
}

/// Reports until `stop` is set.
///
/// # Errors
/// If there is no such interface, the process may not open a packet socket (CAP_NET_RAW), the
/// interval is out of range, or the interface vanishes.
pub fn run(
    plan: StationPlan,
    stop: &AtomicBool,
    mut receive: impl FnMut(StationEvent),
) -> Result<StationCounts, Error> {
    let clock = Clock::start();
    let mut presence = Presence::of(&plan.interface)?;
    let mut station = Station::open(&plan, clock.now())?;
    let StationPlan { interface, interval, piggyback, mut source, .. } = plan;
    let mut outgoing = piggyback.then(|| Outgoing::open(&interface)).transpose()?;
    let (mut sample, mut look) = (clock.now(), clock.now());
    let broken = |error| Error::at(format!("interface `{interface}`"))(error);
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        if now >= look {
            look = now + ADDRESS_LOOK;
            presence.check().map_err(broken)?;
            station.look_up_address(now, &mut presence);
        }
        if now >= sample {
            sample = now + interval / SAMPLES;
            station.take(now, &source.sample(), &mut receive);
        }
        station.listen(now).map_err(broken)?;
        if let Some(outgoing) = &mut outgoing {
            station.ride(now, outgoing).map_err(broken)?;
        }
        station.report(now).map_err(broken)?;
        station.notify(now, &mut receive);
        let next = station.reporter.deadline().map_or(sample, |due| due.min(sample));
        let max = next.since(clock.now()).min(LOOK);
        let frames = outgoing.as_ref().map(|outgoing| &outgoing.egress as &dyn AsFd);
        let readable: Vec<&dyn AsFd> =
            [&station.path as &dyn AsFd].into_iter().chain(frames).collect();
        let _ = wait_for(&readable, max).map_err(broken)?;
    }
    station.end(clock.now()).map_err(broken)?;
    // The last reports take the way of all frames, through this program.
    outgoing.map_or(Ok(()), |mut outgoing| outgoing.pass(None, |_| None)).map_err(broken)?;
    Ok(station.counts)
}

impl Station {
    fn open(plan: &StationPlan, now: Instant) -> Result<Self, Error> {
        let &StationPlan { ref interface, to, ref secret, interval, filter, epoch, .. } = plan;
        let path = Path::open(interface, to)?;
        let address = path.station();
        let key = secret.as_ref().map(|secret| secret.of_station(address)).transpose()?;
        let format = key.clone().map_or(Format::Plain, Format::Sealed);
        let config = ReporterConfig {
            interval,
            hold: if plan.piggyback { interval / HOLD } else { Duration::ZERO },
            filter,
            epoch,
            ..ReporterConfig::new(address, Ipv4Addr::UNSPECIFIED)
        };
        let reporter =
            Reporter::new(config, format, now).map_err(|error| Error::Usage(error.to_string()))?;
        let contact = Contact::new(now, interval, path.everybody());
        Ok(Self {
            path,
            address,
            key,
            session: None,
            reporter,
            contact,
            counts: StationCounts::default(),
            // Answers to earlier starts of this station have lower numbers, and are refused.
            answered: u64::from(epoch) << 32,
            reported: None,
            associated: None,
            trouble: None,
            greeted: 0,
            refusal: None,
            is_refusal_reported: false,
            interval,
        })
    }

    /// Handles a sample of the source. A persistent error is reported once.
    fn take(
        &mut self,
        now: Instant,
        reported: &Result<Option<Level>, String>,
        receive: &mut impl FnMut(StationEvent),
    ) {
        let trouble = reported.as_ref().err().cloned();
        if let (Some(why), true) = (&trouble, trouble != self.trouble) {
            receive(StationEvent::Trouble(why.clone()));
        }
        self.trouble = trouble;
        let Ok(reported) = reported else { return };
        let Some(level) = reported else {
            // The next access point counts as a new association, even if it is the same one.
            self.associated = None;
            return;
        };
        if let (Some(mac), true) = (level.access_point, level.access_point != self.associated) {
            self.associated = Some(mac);
            self.contact.associate(now, self.path.associated(mac));
            self.reporter.handle(now, ReporterInput::Roamed);
            self.reported = None;
            receive(StationEvent::Associated(mac));
        }
        self.reporter.handle(now, ReporterInput::Snr(level.snr));
    }

    /// Handles messages that wait, at most [`BATCH`].
    fn listen(&mut self, now: Instant) -> std::io::Result<()> {
        for _ in 0..BATCH {
            let Some(received) = self.path.receive(self.key.as_ref())? else { return Ok(()) };
            match received {
                Received::Answer(answer)
                    if answer.station == self.address && answer.sequence > self.answered =>
                {
                    (self.refusal, self.is_refusal_reported) = (None, false);
                    self.answered = answer.sequence;
                    self.counts.answers += 1;
                    self.path.accept(&answer);
                    self.contact.answer(now, answer.by);
                    if let Some(key) =
                        self.key.as_ref().filter(|_| self.session != Some(answer.session))
                    {
                        self.session = Some(answer.session);
                        self.reporter.set_key(answer.session.key(key));
                    }
                }
                Received::KeyRefused { by, notice }
                    if notice.station == self.address && notice.sequence == self.greeted =>
                {
                    self.counts.refused += 1;
                    self.refusal.get_or_insert((by, now));
                }
                _ => self.counts.refused += 1,
            }
        }
        Ok(())
    }

    /// Tells the access point that no more reports come: it would take them for lost ones.
    fn end(&mut self, now: Instant) -> std::io::Result<()> {
        let (Some(to), Some(_)) = (self.contact.access_point(now), self.session) else {
            return Ok(());
        };
        for _ in 0..LAST_REPORTS {
            if let Some(report) = self.reporter.last_report(now) {
                self.path.send(&report, to)?;
            }
        }
        Ok(())
    }

    /// Reads the interface's IPv4 address; without an answer of the kernel the last one stays.
    fn look_up_address(&mut self, now: Instant, presence: &mut Presence) {
        if let Ok(ipv4) = presence.ipv4_address() {
            let ipv4 = ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED);
            self.reporter.handle(now, ReporterInput::Address(ipv4));
        }
    }

    /// Passes on the frames that leave; one of them takes a waiting report along. While no session
    /// is known, a report waits for its end, and a greeting goes in its place.
    fn ride(&mut self, now: Instant, outgoing: &mut Outgoing) -> std::io::Result<()> {
        let to = match &self.key {
            Some(_) => self.contact.access_point(now).filter(|_| self.session.is_some()),
            None => self.associated.map(Listener::Link),
        };
        let to = match to {
            Some(Listener::Link(to)) => Some(to),
            Some(Listener::Address(_)) | None => None,
        };
        let Self { reporter, counts, .. } = self;
        outgoing.pass(to, |kind| {
            reporter.handle(now, ReporterInput::DataLeaves(kind));
            let report = reporter.poll(now)?;
            counts.made += 1;
            counts.sent += 1;
            counts.in_front += 1;
            Some(*report.bytes())
        })
    }

    fn report(&mut self, now: Instant) -> std::io::Result<()> {
        if self.reporter.deadline().is_none_or(|due| due > now) {
            return Ok(());
        }
        self.reporter.wake(now);
        while let Some(report) = self.reporter.poll(now) {
            self.counts.made += 1;
            let Some(key) = &self.key else {
                let to = self.associated.map(|with| self.path.associated(with));
                let sent = self.path.send(report.bytes(), to.unwrap_or(self.path.everybody()))?;
                self.counts.sent += u64::from(sent);
                continue;
            };
            // The next answer may come from another access point, or from the same one after a
            // restart.
            if self.contact.access_point(now).is_none() && self.session.take().is_some() {
                // The access point may be refusing reports: as late ones, as the clock stands still
                // during a suspend, or as replayed ones, if the date has gone back.
                self.reporter.renew_epoch(date());
            }
            let Some(to) = self.contact.addressee(now) else { continue };
            let bytes = match self.session {
                Some(_) => *report.bytes(),
                None => {
                    let greeting = greeting(&report, self.address);
                    self.greeted = greeting.sequence;
                    greeting.seal(key).into()
                }
            };
            self.counts.sent += u64::from(self.path.send(&bytes, to)?);
        }
        while self.reporter.event().is_some() {}
        Ok(())
    }

    fn notify(&mut self, now: Instant, receive: &mut impl FnMut(StationEvent)) {
        if let Some((by, at)) = self.refusal
            && !self.is_refusal_reported
            && now >= at + self.interval
        {
            self.is_refusal_reported = true;
            receive(StationEvent::KeyRefused(by));
        }
        let listens = self.contact.access_point(now);
        if listens == self.reported {
            return;
        }
        self.reported = listens;
        receive(listens.map_or(StationEvent::Alone, StationEvent::ReceivedFrame));
    }
}

/// The greeting that is sent instead of a report while no session is known.
fn greeting(report: &Sent, station: Mac) -> Greeting {
    let report = soc::parse(report.bytes()).map(|(claim, _)| claim.unchecked());
    Greeting { station, sequence: report.map_or(0, |report| report.sequence) }
}

#[cfg(test)]
mod tests;
