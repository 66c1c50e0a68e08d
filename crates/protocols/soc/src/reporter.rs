//! The station's side: samples in, reports out ("SoC Frame Sender", paper section 4.4.1).

use crate::filter::{Filter, FilterSpec};
use core::fmt;
use core::ops::RangeInclusive;
use fairwave_machine::Machine;
use fairwave_units::{Db, Duration, Instant};
use fairwave_wire::ethernet::{EtherType, Mac};
use fairwave_wire::seal::Key;
use fairwave_wire::soc::{CentiDb, Plain, Report, Written};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;
use thiserror::Error;

/// The intervals that the paper designs for (section 4.2): the channel of a walker does not change
/// within them.
pub const INTERVAL_DESIGN: RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_millis(1000);

/// The shortest interval, that of the paper's last experiment (section 5.3.4).
pub const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// Configuration of a reporter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReporterConfig {
    /// The station's link address.
    pub station: Mac,
    /// Its IPv4 address; unspecified if it has none.
    pub ipv4: Ipv4Addr,
    /// Its IPv6 address; unspecified if it has none.
    pub ipv6: Ipv6Addr,
    /// From one report to the next: the paper's T_soc, 200 ms there.
    pub interval: Duration,
    /// Time for which a report waits for a data frame that takes it along, before it gets a frame
    /// of its own. Fairwave's choice is a quarter of the interval: the paper says no more than that
    /// it may ride. Zero never waits.
    pub hold: Duration,
    /// From samples to SoC.
    pub filter: FilterSpec,
    /// Number of this start of the station. It must be greater than that of every earlier start
    /// with the same key, as a counter in lasting memory or the date in seconds is.
    pub epoch: u32,
}

/// Format of a station's reports.
#[derive(Clone)]
pub enum Format {
    /// Fairwave's, sealed with this key.
    Sealed(Key),
    /// The paper's ([`Plain`]), which anybody can forge. It has no last report: a station that
    /// ends reporting is one whose reports are lost.
    Plain,
}

/// Reason for which a reporter cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReporterConfigError {
    /// The access point would take the reports for a flood, or age the station out.
    #[error("interval {0} is not within 20 ms and 1 s")]
    Interval(Duration),
    /// A report would still wait when the next one is due.
    #[error("hold {hold} is not below the interval {interval}")]
    Hold {
        /// The wait.
        hold: Duration,
        /// The interval.
        interval: Duration,
    },
}

impl ReporterConfig {
    /// The paper's: a report each 200 ms, the mean of that time's samples.
    pub fn new(station: Mac, ipv4: Ipv4Addr) -> Self {
        Self {
            station,
            ipv4,
            ipv6: Ipv6Addr::UNSPECIFIED,
            interval: Duration::from_millis(200),
            hold: Duration::from_millis(50),
            filter: FilterSpec::Mean,
            epoch: 0,
        }
    }

    fn check(&self) -> Result<NonZeroU16, ReporterConfigError> {
        let Self { interval, hold, .. } = *self;
        let range = MIN_INTERVAL..=*INTERVAL_DESIGN.end();
        let millis = u16::try_from(interval.as_millis()).ok().and_then(NonZeroU16::new);
        let millis = millis.filter(|_| range.contains(&interval));
        let millis = millis.ok_or(ReporterConfigError::Interval(interval))?;
        if hold < interval { Ok(millis) } else { Err(ReporterConfigError::Hold { hold, interval }) }
    }
}

/// A fact for a [`Reporter`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReporterInput {
    /// The radio decoded a frame of the access point at this level over noise.
    Snr(Db),
    /// A data frame to the access point with a payload of this type is about to leave. If a
    /// report waits, it comes out as [`Sent::InFront`] of this frame.
    DataLeaves(EtherType),
    /// The station has this IPv4 address from now on; unspecified if it has none.
    Address(Ipv4Addr),
    /// The station is associated with another access point now: samples of the one before, and a
    /// report of them that waits, say nothing about this one.
    Roamed,
}

/// A report to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The payload of a frame of its own to the access point.
    Alone(Written),
    /// Returns the report to put in front of the payload of the frame that is about to leave; the
    /// frame's type becomes [`ETHER_TYPE`](fairwave_wire::soc::ETHER_TYPE).
    InFront(Written),
}

impl Sent {
    /// The report's bytes.
    pub const fn bytes(&self) -> &Written {
        match self {
            Self::Alone(bytes) | Self::InFront(bytes) => bytes,
        }
    }
}

/// Result of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its SoC; `None`, and then nothing is reported, if no frame was received in it.
    pub soc: Option<CentiDb>,
    /// Its samples.
    pub samples: u32,
}

/// A station's sender of reports. Intervals begin when it is made, so stations that are made at
/// different times do not report in step.
pub struct Reporter {
    config: ReporterConfig,
    interval_ms: NonZeroU16,
    format: Format,
    filter: Box<dyn Filter>,
    samples: u32,
    /// Time at which the interval ends.
    end: Instant,
    waiting: Option<Waiting>,
    sequence: u32,
    out: Option<Sent>,
    events: VecDeque<Made>,
}

/// A report that waits for a data frame.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    soc: CentiDb,
    made: Instant,
    until: Instant,
}

impl Reporter {
    /// A reporter whose first interval begins now.
    ///
    /// # Errors
    /// If the interval or the wait is out of bounds.
    pub fn new(
        config: ReporterConfig,
        format: Format,
        now: Instant,
    ) -> Result<Self, ReporterConfigError> {
        let interval_ms = config.check()?;
        Ok(Self {
            interval_ms,
            format,
            filter: config.filter.build(),
            samples: 0,
            end: now + config.interval,
            waiting: None,
            sequence: 0,
            out: None,
            events: VecDeque::new(),
            config,
        })
    }

    /// Seals reports with this key from the next one on, whatever their format was.
    pub fn set_key(&mut self, key: Key) {
        self.format = Format::Sealed(key);
    }

    /// Numbers the next reports as those of a later start, at `date` in seconds. After an epoch
    /// change the access point compares neither numbers nor delays with those of earlier reports,
    /// which may be from before a suspend or from a time at which the date was ahead.
    pub fn renew_epoch(&mut self, date: u32) {
        self.config.epoch = date.max(self.config.epoch.saturating_add(1));
    }

    /// Makes the report with which the station ends reporting, so that the access point does not
    /// take it for one whose reports are lost. As it may be lost itself, several may be made.
    /// Returns `None` in the paper's format, which has no such report.
    pub fn last_report(&mut self, now: Instant) -> Option<Written> {
        let is_sealed = matches!(self.format, Format::Sealed(_));
        is_sealed.then(|| self.write(None, now, CentiDb::NONE))
    }

    fn write(&mut self, next: Option<EtherType>, made: Instant, soc: CentiDb) -> Written {
        let Format::Sealed(key) = &self.format else {
            return Plain::new(self.config.ipv4, soc).written(next);
        };
        self.sequence = self.sequence.wrapping_add(1);
        let report = Report {
            next,
            station: self.config.station,
            ipv4: self.config.ipv4,
            ipv6: self.config.ipv6,
            sequence: u64::from(self.config.epoch) << 32 | u64::from(self.sequence),
            made_ms: (made.as_nanos() / 1_000_000) as u32,
            interval_ms: self.interval_ms,
            soc,
        };
        report.seal(key).into()
    }

    /// Sends the waiting report.
    fn release(&mut self, next: Option<EtherType>) {
        let Some(waiting) = self.waiting.take() else { return };
        debug_assert!(self.out.is_none(), "a report has not been fetched");
        let bytes = self.write(next, waiting.made, waiting.soc);
        self.out = Some(if next.is_none() { Sent::Alone(bytes) } else { Sent::InFront(bytes) });
    }

    /// Ends the interval, and any earlier ones without a wake-up.
    fn close(&mut self, now: Instant) {
        let soc = self.filter.close(now).map(|soc| CentiDb::from_db(soc.0));
        self.events.push_back(Made { soc, samples: std::mem::take(&mut self.samples) });
        let passed = now.since(self.end) / self.config.interval;
        // On the grid of the first interval, however late the call: intervals do not drift.
        self.end += self.config.interval * (passed + 1);
        debug_assert!(self.end > now, "the interval ends at {:?}", self.end);
        // A wait beyond the interval would leave the next one open, and its end due all the time.
        let until = (now + self.config.hold).min(self.end);
        self.waiting = soc.map(|soc| Waiting { soc, made: now, until });
    }

    fn release_if_due(&mut self, now: Instant) {
        if self.waiting.is_some_and(|waiting| waiting.until <= now) {
            self.release(None);
        }
    }
}

impl Machine for Reporter {
    type Input = ReporterInput;
    type Output = Sent;
    type Event = Made;

    fn handle(&mut self, now: Instant, input: ReporterInput) {
        match input {
            ReporterInput::Snr(snr) => {
                self.samples += 1;
                self.filter.sample(now, snr);
            }
            ReporterInput::DataLeaves(payload) => self.release(Some(payload)),
            ReporterInput::Address(ipv4) => self.config.ipv4 = ipv4,
            ReporterInput::Roamed => {
                self.filter = self.config.filter.build();
                self.samples = 0;
                self.waiting = None;
            }
        }
    }

    fn wake(&mut self, now: Instant) {
        if self.out.is_none() {
            self.release_if_due(now);
        }
        if self.end <= now && self.waiting.is_none() {
            self.close(now);
        }
        if self.out.is_none() {
            self.release_if_due(now);
        }
    }

    fn poll(&mut self, _: Instant) -> Option<Sent> {
        self.out.take()
    }

    fn deadline(&self) -> Option<Instant> {
        let due = self.waiting.map_or(self.end, |waiting| waiting.until.min(self.end));
        Some(due)
    }

    fn event(&mut self) -> Option<Made> {
        self.events.pop_front()
    }
}

impl fmt::Debug for Reporter {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter")
            .field("config", &self.config)
            .field("end", &self.end)
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
