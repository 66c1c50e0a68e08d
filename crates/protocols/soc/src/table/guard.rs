//! Order of one station's reports: each accepted once, in time, and not too often.

use super::config::TableConfig;
use super::facts::Refusal;
use fairwave_units::{Duration, Instant};
use fairwave_wire::soc::Report;

/// So much is a second of a quartz clock allowed to differ from another's: one part in 4096, some
/// 240 ppm, where crystals stay within 100.
const DRIFT: u64 = 4096;

/// Size of the window of sequence numbers below the newest (RFC 4303 section 3.4.3 asks for 64).
const WINDOW: u64 = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    /// Highest sequence number so far, and below it, from the lowest bit, which were there.
    newest: Option<(u64, u64)>,
    /// Minimum delay seen, by two clocks without a common zero, and since when it is slackened.
    least: Option<(u32, Instant)>,
    bucket: Bucket,
}

/// Reports that a station may still make.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: u32,
    filled: Instant,
}

impl Guard {
    pub(super) fn new(config: &TableConfig, now: Instant) -> Self {
        let bucket = Bucket { tokens: config.burst, filled: now };
        Self { newest: None, least: None, bucket }
    }

    /// Whether nothing was believed yet.
    pub(super) const fn is_new(&self) -> bool {
        self.newest.is_none()
    }

    /// Whether a report with a good tag is to be believed. Its number is used up in any case.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        report: &Report,
        config: &TableConfig,
    ) -> Result<(), Refusal> {
        let restarted = self.advance(report.sequence)?;
        self.in_time(now, report.made_ms, restarted, config.max_lateness)?;
        self.at_pace(now, config)
    }

    /// Takes the next number; whether it is of a later start of the station.
    fn advance(&mut self, sequence: u64) -> Result<bool, Refusal> {
        let Some((newest, seen)) = self.newest else {
            self.newest = Some((sequence, 1));
            return Ok(true);
        };
        debug_assert!(seen & 1 == 1, "the newest number, {newest}, was not seen");
        if sequence > newest {
            let step = sequence - newest;
            let seen = if step < WINDOW { seen << step } else { 0 };
            self.newest = Some((sequence, seen | 1));
            return Ok(sequence >> 32 > newest >> 32);
        }
        let back = newest - sequence;
        if back >= WINDOW || seen >> back & 1 == 1 {
            return Err(Refusal::Replayed);
        }
        self.newest = Some((newest, seen | 1 << back));
        // It is genuine, but a newer report already counts.
        Err(Refusal::Stale)
    }

    /// Compares the report's delay with the fastest one's: a host that holds reports back to
    /// release them when the channel has changed is no better than a forger.
    fn in_time(
        &mut self,
        now: Instant,
        made_ms: u32,
        restarted: bool,
        max_lateness: Duration,
    ) -> Result<(), Refusal> {
        let delay = (now.as_nanos() / 1_000_000) as u32;
        let delay = delay.wrapping_sub(made_ms);
        let Some((least, since)) = self.least.filter(|_| !restarted) else {
            self.least = Some((delay, now));
            return Ok(());
        };
        let slack = now.since(since).as_millis() / DRIFT;
        let least = least.wrapping_add(slack as u32);
        let since = since + Duration::from_millis(slack * DRIFT);
        // As a signed number, for either clock may have wrapped in between.
        let more = delay.wrapping_sub(least) as i32;
        self.least = Some(if more < 0 { (delay, now) } else { (least, since) });
        let late = i64::from(more) > max_lateness.as_millis() as i64;
        if late { Err(Refusal::Stale) } else { Ok(()) }
    }

    /// A token bucket.
    pub(super) fn at_pace(&mut self, now: Instant, config: &TableConfig) -> Result<(), Refusal> {
        let Bucket { tokens, filled } = &mut self.bucket;
        let earned = now.since(*filled) / config.pace;
        if u64::from(*tokens) + earned >= u64::from(config.burst) {
            (*tokens, *filled) = (config.burst, now);
        } else {
            *tokens += earned as u32;
            // Not `now`: the part of a token that is already earned would be lost.
            *filled += config.pace * earned;
        }
        debug_assert!(*tokens <= config.burst && *filled <= now, "{tokens} since {filled:?}");
        *tokens = tokens.checked_sub(1).ok_or(Refusal::Flooding)?;
        Ok(())
    }
}
