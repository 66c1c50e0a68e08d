//! Settings of a script.

use crate::parse::number;
use fairwave_cc::{Decision, Exclusions};
use fairwave_tcp::{Config, OptionKind, Profile, ReductionBound};
use fairwave_units::Duration;

/// Ports of the end under test and of the peer.
pub(crate) const PORTS: (u16, u16) = (1, 2);

/// Settings of both ends.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// That of our endpoint; a kernel follows as far as it can.
    pub(crate) config: Config,
    /// Name of the congestion control, an algorithm of ours.
    pub(crate) algorithm: String,
    /// The keys that the script gives.
    pub(crate) given: Vec<String>,
}

impl Default for Settings {
    /// Segments of 1000 bytes, so that windows read as segments; no options, ten segments first.
    fn default() -> Self {
        let config = Config {
            local_port: PORTS.0,
            remote_port: PORTS.1,
            mss: 1000,
            window_scaling: false,
            sack: false,
            initial_window_segments: 10,
            ..Config::default()
        };
        Self { config, algorithm: "newreno".to_owned(), given: Vec::new() }
    }
}

impl Settings {
    /// Sets a key.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "algorithm" => {
                let known = fairwave_cc::names().into_iter().find(|name| name == value);
                self.algorithm = known.ok_or_else(|| format!("there is no algorithm {value:?}"))?;
            }
            "profile" => self.follow(value)?,
            _ => self.configure(key, value)?,
        }
        self.given.push(key.to_owned());
        Ok(())
    }

    /// Whether the script gives `key`.
    pub(crate) fn gives(&self, key: &str) -> bool {
        self.given.iter().any(|given| given == key)
    }

    /// Everything as a stack has it, but ports and size of segments.
    fn follow(&mut self, name: &str) -> Result<(), String> {
        let profile = Profile::find(name).ok_or_else(|| format!("there is no stack {name:?}"))?;
        let Config { local_port, remote_port, mss, .. } = self.config;
        self.config = Config { local_port, remote_port, mss, ..(profile.config)() };
        self.algorithm = profile.congestion_control.to_owned();
        Ok(())
    }

    fn configure(&mut self, key: &str, value: &str) -> Result<(), String> {
        let config = &mut self.config;
        match key {
            "ack_every" => config.delayed_ack.every = number(value)?,
            "ack_timeout" => config.delayed_ack.timeout = millis(value)?,
            _ => {
                let name =
                    SHORT.iter().find(|(short, _)| *short == key).map_or(key, |(_, name)| name);
                let option = Config::option(name);
                let unknown = || format!("{key:?} is no key of a configuration");
                set(&option.ok_or_else(unknown)?.kind, config, value)?;
            }
        }
        Ok(())
    }
}

/// Short names of options.
const SHORT: [(&str, &str); 3] = [
    ("iw", "initial_window"),
    ("ssthresh", "initial_ssthresh"),
    ("dupthresh", "duplicate_ack_threshold"),
];

/// Sets an option. Ranges are not checked: scripts test corners that users have no use for.
fn set(kind: &OptionKind, config: &mut Config, value: &str) -> Result<(), String> {
    match kind {
        OptionKind::Switch(at) => (at.set)(config, switch(value)?),
        OptionKind::Count(at, _) | OptionKind::Segments(at, _) | OptionKind::Size(at, _) => {
            (at.set)(config, number(value)?);
        }
        OptionKind::SegmentsOr(at, word, _) | OptionKind::SizeOr(at, word, _) => {
            (at.set)(config, or_none(value, word, number)?);
        }
        OptionKind::Time(at, _) => (at.set)(config, millis(value)?),
        OptionKind::TimeOr(at, word, _) => (at.set)(config, or_none(value, word, millis)?),
        OptionKind::Acks(_) => return Err("write ack_every=N and ack_timeout=MS".to_owned()),
        OptionKind::Bound(at) => (at.set)(config, bound(value)?),
        OptionKind::SwitchOr(at, word) => (at.set)(config, or_none(value, word, switch)?),
        OptionKind::Decision(at) => (at.set)(config, decision(value)?),
        OptionKind::ExclusionsOr(at, word) => (at.set)(config, or_none(value, word, exclusions)?),
    }
    Ok(())
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{value:?} is neither on nor off")),
    }
}

fn bound(value: &str) -> Result<ReductionBound, String> {
    let found = ReductionBound::ALL.iter().find(|(name, _)| *name == value);
    found.map(|(_, bound)| *bound).ok_or_else(|| format!("there is no bound {value:?}"))
}

fn decision(value: &str) -> Result<Decision, String> {
    let found = Decision::ALL.iter().find(|(name, _)| *name == value);
    found.map(|(_, time)| *time).ok_or_else(|| format!("there is no time of decision {value:?}"))
}

/// Names apart by commas; an empty text has none.
fn exclusions(value: &str) -> Result<Exclusions, String> {
    let names = value.split(',').filter(|name| !name.is_empty());
    names.into_iter().try_fold(Exclusions::NONE, |all, wanted| {
        let found = Exclusions::NAMES.iter().find(|(name, _)| *name == wanted);
        let (_, one) = found.ok_or_else(|| format!("there is no exclusion {wanted:?}"))?;
        Ok(all.and(*one))
    })
}

/// `word` for none, or what `read` reads.
fn or_none<T>(
    value: &str,
    word: &str,
    read: fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    if value == word { Ok(None) } else { read(value).map(Some) }
}

fn millis(value: &str) -> Result<Duration, String> {
    number(value).map(Duration::from_millis)
}
