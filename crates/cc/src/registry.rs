//! The one list of laws, and how a name becomes a controller.

use crate::{
    AckEvent, AckLoss, AckLossConfig, Compound, Controller, Cubic, Initial, LossEvent, NewReno,
    Recovery, Reno, RtoEvent, Stride,
};
use fairwave_units::{BitRate, Duration, Instant};

/// A congestion control law as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Its spelling in scenarios and on the command line.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The standard or paper that defines it.
    pub source: &'static str,
    /// Its state at the start of a connection.
    pub build: fn(Initial) -> Box<dyn Controller>,
}

/// Every law, in the order in which it is listed.
pub const ALL: &[Law] = &[
    Law {
        name: "reno",
        summary: "slow start and AIMD; recovery ends at the first ACK that advances",
        source: "RFC 5681",
        build: |initial| Box::new(Reno::new(initial)),
    },
    Law {
        name: "newreno",
        summary: "Reno staying in recovery until the whole window is acknowledged",
        source: "RFC 6582",
        build: |initial| Box::new(NewReno::new(initial)),
    },
    Law {
        name: "compound",
        summary: "Reno's window plus a delay-based one, with gamma auto-tuning",
        source: "Tan, Song, Zhang, Sridharan 2006; draft-sridharan-tcpm-ctcp",
        build: |initial| Box::new(Compound::new(initial)),
    },
    Law {
        name: "cubic",
        summary: "a cubic curve of time through the window of the last loss; 0.7 of it kept",
        source: "RFC 9438",
        build: |initial| Box::new(Cubic::new(initial)),
    },
];

/// A name that no law and no wrapper has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown congestion control {name:?}; accepted are {}", names().join(", "))]
pub struct UnknownLaw {
    /// The name as given.
    pub name: String,
}

/// Every accepted spelling: the laws, then each wrapper around each law.
pub fn names() -> Vec<String> {
    let plain = ALL.iter().map(|law| law.name.to_owned());
    let wrapped = Stride::ALL
        .iter()
        .flat_map(|stride| ALL.iter().map(move |law| format!("{}+{}", stride.prefix(), law.name)));
    plain.chain(wrapped).collect()
}

/// The controller called `name`, such as `"reno"` or `"ack-loss+compound"`.
///
/// # Errors
/// [`UnknownLaw`] if `name` is not one of [`names`].
pub fn build(name: &str, initial: Initial) -> Result<Box<dyn Controller>, UnknownLaw> {
    let unknown = || UnknownLaw { name: name.to_owned() };
    let find = |wanted: &str| ALL.iter().find(|law| law.name == wanted).ok_or_else(unknown);
    let Some((prefix, law)) = name.split_once('+') else {
        return Ok((find(name)?.build)(initial));
    };
    let inner = (find(law)?.build)(initial);
    let stride = Stride::ALL.into_iter().find(|s| s.prefix() == prefix).ok_or_else(unknown)?;
    let config = AckLossConfig { stride, ..AckLossConfig::default() };
    Ok(Box::new(AckLoss::new(inner, initial, config)))
}

impl Controller for Box<dyn Controller> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn recovery(&self) -> Recovery {
        (**self).recovery()
    }

    fn governs_recovery(&self) -> bool {
        (**self).governs_recovery()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        (**self).on_ack(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        (**self).on_loss(loss);
    }

    fn on_recovery_end(&mut self, now: Instant) {
        (**self).on_recovery_end(now);
    }

    fn on_rto(&mut self, rto: &RtoEvent) {
        (**self).on_rto(rto);
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        (**self).on_ecn(loss);
    }

    fn on_spurious(&mut self, now: Instant) {
        (**self).on_spurious(now);
    }

    fn on_ack_loss(&mut self, loss: &LossEvent) {
        (**self).on_ack_loss(loss);
    }

    fn on_idle_restart(&mut self, idle: Duration) {
        (**self).on_idle_restart(idle);
    }

    fn on_path_change(&mut self, now: Instant) {
        (**self).on_path_change(now);
    }

    fn cwnd(&self) -> u32 {
        (**self).cwnd()
    }

    fn ssthresh(&self) -> u32 {
        (**self).ssthresh()
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        (**self).pacing_rate()
    }

    fn acks_lost(&self) -> u64 {
        (**self).acks_lost()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIAL: Initial =
        Initial { mss: 1460, cwnd: 4380, ssthresh: u32::MAX, byte_counting: true };

    #[test]
    fn every_name_builds_the_controller_that_calls_itself_so() {
        for name in names() {
            assert_eq!(build(&name, INITIAL).unwrap().name(), name);
        }
        assert_eq!(names().len(), ALL.len() * 4);
    }

    #[test]
    fn an_unknown_name_is_told_what_is_accepted() {
        for name in ["vega", "ack-loss+", "ack-los+reno", "+reno", "ack-loss+ack-loss+reno"] {
            let error = build(name, INITIAL).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("ack-loss-literal+reno"), "{error}");
        }
    }
}
