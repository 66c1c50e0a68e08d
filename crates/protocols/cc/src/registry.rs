//! The one list of algorithms, and how a name becomes a controller.

use crate::{
    AckEvent, AckLoss, AckLossConfig, Bbr, Compound, Controller, Cubic, Fraction, Initial,
    LossEvent, NewReno, Recovery, Reno, RtoEvent, TcpAv, Vegas, Westwood,
};
use fairwave_units::{BitRate, Duration, Instant};

/// A congestion control algorithm as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Its spelling in scenarios and on the command line.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The standard or paper that defines it.
    pub source: &'static str,
    /// Whether it answers to lost ACKs, so that the remedy can be put around it. An algorithm that
    /// does not slow down for a lost segment does not do so for a lost ACK either.
    pub reacts_to_ack_loss: bool,
    /// Its state at the start of a connection.
    pub build: fn(Initial) -> Box<dyn Controller>,
}

/// Every algorithm, in the order in which it is listed.
pub const ALL: &[Algorithm] = &[
    Algorithm {
        name: "reno",
        summary: "slow start and AIMD; recovery ends at the first ACK that advances",
        source: "RFC 5681",
        reacts_to_ack_loss: true,
        build: |initial| Box::new(Reno::new(initial)),
    },
    Algorithm {
        name: "newreno",
        summary: "Reno staying in recovery until the whole window is acknowledged",
        source: "RFC 6582",
        reacts_to_ack_loss: true,
        build: |initial| Box::new(NewReno::new(initial)),
    },
    Algorithm {
        name: "compound",
        summary: "Reno's window plus a delay-based one, with gamma auto-tuning",
        source: "Tan, Song, Zhang, Sridharan 2006; draft-sridharan-tcpm-ctcp",
        reacts_to_ack_loss: true,
        build: |initial| Box::new(Compound::new(initial)),
    },
    Algorithm {
        name: "cubic",
        summary: "a cubic curve of time through the window of the last loss; HyStart++",
        source: "RFC 9438, RFC 9406",
        reacts_to_ack_loss: true,
        build: |initial| Box::new(Cubic::new(initial)),
    },
    Algorithm {
        name: "cubic-no-hystart",
        summary: "CUBIC with plain slow start, for comparison",
        source: "RFC 9438, RFC 5681",
        reacts_to_ack_loss: true,
        build: |initial| Box::new(Cubic::without_hystart(initial)),
    },
    Algorithm {
        name: "vegas",
        summary: "two to four segments queued on the path, by its delay",
        source: "Brakmo, Peterson 1995",
        reacts_to_ack_loss: true,
        build: |initial| Box::new(Vegas::new(initial)),
    },
    Algorithm {
        name: "westwood",
        summary: "Westwood+: Reno falling to the bandwidth measured times the least RTT",
        source: "Grieco, Mascolo 2004",
        reacts_to_ack_loss: true,
        build: |initial| Box::new(Westwood::new(initial)),
    },
    Algorithm {
        name: "tcp-av",
        summary: "a window that aims at a target rate; without one, NewReno",
        source: "Shimonishi et al. 2006; US 2009/0147676",
        reacts_to_ack_loss: true,
        build: |initial| Box::new(TcpAv::new(initial)),
    },
    Algorithm {
        name: "bbr",
        summary: "BBR version 1: paced by a model of the path's bandwidth and delay",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00",
        reacts_to_ack_loss: false,
        build: |initial| Box::new(Bbr::new(initial)),
    },
];

/// A name that no algorithm and no wrapper has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown congestion control {name:?}; accepted are {}", names().join(", "))]
pub struct UnknownAlgorithm {
    /// The name as given.
    pub name: String,
}

/// Every accepted spelling: the algorithms, then each wrapper around each algorithm that it can act
/// on.
pub fn names() -> Vec<String> {
    let plain = ALL.iter().map(|algorithm| algorithm.name.to_owned());
    let wrapped = AckLossConfig::ALL.iter().flat_map(|wrapper| {
        let algorithms = ALL.iter().filter(|algorithm| algorithm.reacts_to_ack_loss);
        algorithms.map(move |algorithm| format!("{}+{}", wrapper.prefix(), algorithm.name))
    });
    plain.chain(wrapped).collect()
}

/// Whether [`build`] knows `name`.
pub(crate) fn is_known(name: &str) -> bool {
    names().iter().any(|known| known == name)
}

/// The controller called `name`, such as `"reno"` or `"ack-loss+compound"`.
///
/// # Errors
/// [`UnknownAlgorithm`] if `name` is not one of [`names`].
pub fn build(name: &str, initial: Initial) -> Result<Box<dyn Controller>, UnknownAlgorithm> {
    let unknown = || UnknownAlgorithm { name: name.to_owned() };
    let find =
        |wanted: &str| ALL.iter().find(|algorithm| algorithm.name == wanted).ok_or_else(unknown);
    let Some((prefix, algorithm)) = name.split_once('+') else {
        return Ok((find(name)?.build)(initial));
    };
    let algorithm = Some(find(algorithm)?)
        .filter(|algorithm| algorithm.reacts_to_ack_loss)
        .ok_or_else(unknown)?;
    let config = AckLossConfig::ALL.into_iter().find(|wrapper| wrapper.prefix() == prefix);
    let config = config.ok_or_else(unknown)?;
    let config = config.with(initial.ack_loss);
    Ok(Box::new(AckLoss::new((algorithm.build)(initial), initial, config)))
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

    fn on_ack_loss(&mut self, loss: &LossEvent, part: Fraction) {
        (**self).on_ack_loss(loss, part);
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

    const INITIAL: Initial = Initial {
        mss: 1460,
        cwnd: 4380,
        ssthresh: u32::MAX,
        byte_counting: true,
        slow_start_segments: 1,
        av: crate::TcpAvConfig::DEFAULT,
        ack_loss: crate::AckLossOptions::DEFAULT,
    };

    #[test]
    fn every_name_builds_the_controller_that_calls_itself_so() {
        for name in names() {
            assert_eq!(build(&name, INITIAL).unwrap().name(), name);
        }
        let wrapped = ALL.iter().filter(|algorithm| algorithm.reacts_to_ack_loss).count()
            * AckLossConfig::ALL.len();
        assert_eq!(names().len(), ALL.len() + wrapped);
    }

    #[test]
    fn the_laws_that_hear_of_lost_acks_lower_their_window_and_the_others_do_not() {
        for algorithm in ALL {
            let mut controller = (algorithm.build)(INITIAL);
            let loss = LossEvent { now: Instant::ZERO, flight: 4_380, una: 0, next: 0 };
            controller.on_ack_loss(&loss, Fraction::WHOLE);
            assert_eq!(
                controller.cwnd() < 4_380,
                algorithm.reacts_to_ack_loss,
                "{}",
                algorithm.name
            );
        }
    }

    #[test]
    fn a_part_of_an_answer_goes_that_part_of_the_way() {
        for algorithm in ALL.iter().filter(|algorithm| algorithm.reacts_to_ack_loss) {
            let lowered = |part| {
                let mut controller = (algorithm.build)(Initial { cwnd: 100_000, ..INITIAL });
                let loss = LossEvent { now: Instant::ZERO, flight: 100_000, una: 0, next: 0 };
                controller.on_ack_loss(&loss, part);
                100_000 - controller.cwnd()
            };
            let whole = lowered(Fraction::WHOLE);
            assert_eq!(lowered(Fraction::new(1, 4)), whole / 4, "{}", algorithm.name);
            assert_eq!(lowered(Fraction::new(9, 0)), whole, "{}", algorithm.name);
            assert_eq!(lowered(Fraction::new(0, 1)), 0, "{}", algorithm.name);
        }
    }

    #[test]
    fn an_unknown_name_is_told_what_is_accepted() {
        let doubled = "ack-loss+ack-loss+reno";
        for name in ["vega", "ack-loss+", "ack-los+reno", "+reno", doubled, "ack-loss+bbr"] {
            let error = build(name, INITIAL).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("ack-loss-literal+reno"), "{error}");
        }
    }
}
