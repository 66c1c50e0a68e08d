//! Settings of a script.

use crate::parse::number;
use fairwave_tcp::{Config, Profile, ReductionBound};
use fairwave_units::Duration;

/// Ports of the end under test and of the peer.
pub(crate) const PORTS: (u16, u16) = (1, 2);

/// Settings of both ends.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// That of our endpoint; a kernel follows as far as it can.
    pub(crate) config: Config,
    /// Name of the congestion control, a law of ours.
    pub(crate) law: &'static str,
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
        Self { config, law: "newreno", given: Vec::new() }
    }
}

impl Settings {
    /// Sets a key.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "law" => {
                let known = fairwave_cc::ALL.iter().find(|law| law.name == value);
                self.law = known.ok_or_else(|| format!("there is no law {value:?}"))?.name;
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
        self.law = profile.congestion_control;
        Ok(())
    }

    fn configure(&mut self, key: &str, value: &str) -> Result<(), String> {
        let on = value == "on";
        let config = &mut self.config;
        match key {
            "sack" => config.sack = on,
            "keep_sacks" => config.keep_sacks = on,
            "timestamps" => config.timestamps = on,
            "window_scaling" => config.window_scaling = on,
            "byte_counting" => config.byte_counting = on,
            "ecn" => config.ecn = on,
            "prr" => config.prr = on,
            "prr_bound" => config.prr_bound = bound(value)?,
            "ack_cwr" => config.ack_cwr = on,
            "min_rto_over_srtt" => config.min_rto_over_srtt = on,
            "linear_syn_timeouts" => config.linear_syn_timeouts = number(value)?,
            "tolerant_handshake" => config.tolerant_handshake = on,
            "rack" => config.rack = on,
            "eifel" => config.eifel = on,
            "frto" => config.frto = on,
            "dsack" => config.dsack = on,
            "nagle" => config.nagle = on,
            "ack_on_read" => config.ack_on_read = on,
            "gradual_window" => config.gradual_window = on,
            "quick_acks" => config.quick_acks = number(value)?,
            "challenge_acks" => config.challenge_acks = number(value)?,
            "mss" => config.mss = number(value)?,
            "iw" => config.initial_window_segments = number(value)?,
            "slow_start_headroom" => config.slow_start_headroom = on,
            "reduce_window" => config.reduce_window = on,
            "slow_start_limit" => config.slow_start_segments = limit(value)?,
            "ssthresh" => config.initial_ssthresh = Some(number(value)?),
            "dupthresh" => config.duplicate_ack_threshold = number(value)?,
            "send_buffer" => config.send_buffer = number(value)?,
            "receive_buffer" => config.receive_buffer = number(value)?,
            "send_buffer_most" => config.send_buffer_most = Some(number(value)?),
            "receive_buffer_most" => config.receive_buffer_most = Some(number(value)?),
            "ack_every" => config.delayed_ack.every = number(value)?,
            "ack_timeout" => config.delayed_ack.timeout = millis(value)?,
            "min_rto" => config.min_rto = millis(value)?,
            "initial_rto" => config.initial_rto = millis(value)?,
            "time_wait" => config.time_wait = millis(value)?,
            "max_retries" => config.max_retries = number(value)?,
            _ => return Err(format!("{key:?} is no key of a configuration")),
        }
        Ok(())
    }
}

fn bound(value: &str) -> Result<ReductionBound, String> {
    match value {
        "conservative" => Ok(ReductionBound::Conservative),
        "slow-start" => Ok(ReductionBound::SlowStart),
        "safe-ack" => Ok(ReductionBound::SafeAck),
        _ => Err(format!("there is no bound {value:?}")),
    }
}

/// A number of segments; `None` is no limit.
fn limit(value: &str) -> Result<Option<u32>, String> {
    if value == "unlimited" { Ok(None) } else { number(value).map(Some) }
}

fn millis(value: &str) -> Result<Duration, String> {
    number(value).map(Duration::from_millis)
}
