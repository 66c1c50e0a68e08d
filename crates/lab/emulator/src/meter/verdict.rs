//! Validity of a run by its real-time accuracy.

use super::Lateness;
use fairwave_units::Duration;

/// Limits within which a run is valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Maximum lateness of events, of packets and of datagrams of flows on sockets, at the 99th
    /// percentile.
    pub lateness_p99: Duration,
    /// Maximum share of the packets that the emulator lost.
    pub lost: f64,
}

impl Default for Limits {
    /// 1 ms, and one packet in a thousand.
    fn default() -> Self {
        Self { lateness_p99: Duration::from_millis(1), lost: 0.001 }
    }
}

/// Real-time accuracy of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fidelity {
    /// Lateness of events of the world.
    pub events: Lateness,
    /// Lateness of packets: from arrival in the world to writing.
    pub packets: Lateness,
    /// Time that packets may have waited to be read.
    pub reads: Lateness,
    /// Lateness of datagrams that flows on sockets sent, relative to their sources' times.
    pub sends: Lateness,
    /// Lateness of a bare timer loop during the run, if one ran.
    pub reference: Option<Lateness>,
    /// The share of the time that the loop ran on a core, from 0 to 1.
    pub cpu_load: f64,
    /// Time for which the machine was suspended.
    pub suspended: Duration,
    /// Packets read from all ends.
    pub packets_in: u64,
    /// Packets that the emulator itself lost.
    pub packets_lost: u64,
}

/// Whether a run is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The run is valid.
    Valid,
    /// The run is not valid, for this reason in a sentence.
    Invalid(String),
}

impl Fidelity {
    /// Judges the run.
    pub fn verdict(&self, limits: &Limits) -> Verdict {
        let late = [
            ("events", self.events),
            ("packets", self.packets),
            ("datagrams of flows on sockets", self.sends),
        ];
        let too_late = late.into_iter().find(|(_, seen)| seen.p99 > limits.lateness_p99);
        let share = self.packets_lost as f64 / self.packets_in.max(1) as f64;
        let reason = if !self.suspended.is_zero() {
            format!("the machine was suspended for {}", self.suspended)
        } else if let Some((what, seen)) = too_late {
            let (p99, maximum) = (in_ms(seen.p99), in_ms(limits.lateness_p99));
            format!("{what} were late by {p99} at p99, the limit is {maximum}{}", self.host())
        } else if self.reads.p99 > limits.lateness_p99 {
            let (p99, maximum) = (in_ms(self.reads.p99), in_ms(limits.lateness_p99));
            format!(
                "programs sent faster than the emulator took it: packets waited for up to {p99} at \
                 p99 to be read, the limit is {maximum}{}",
                self.host()
            )
        } else if share > limits.lost {
            let (lost, all) = (self.packets_lost, self.packets_in);
            format!("the emulator itself lost {lost} of {all} packets")
        } else {
            return Verdict::Valid;
        };
        Verdict::Invalid(reason)
    }

    /// Lateness of the bare timer loop, as a clause.
    fn host(&self) -> String {
        let clause =
            |seen: Lateness| format!("; a bare timer was late by {} at p99", in_ms(seen.p99));
        self.reference.map(clause).unwrap_or_default()
    }
}

/// A duration in milliseconds with three significant digits, as far as they are decimals.
fn in_ms(duration: Duration) -> String {
    let ms = duration.as_nanos() as f64 / 1e6;
    let places = match ms {
        ..1.0 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{ms:.places$} ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(p99_us: u64) -> Lateness {
        Lateness { count: 9, p99: Duration::from_micros(p99_us), ..Lateness::default() }
    }

    fn reason(fidelity: &Fidelity) -> String {
        match fidelity.verdict(&Limits::default()) {
            Verdict::Valid => String::new(),
            Verdict::Invalid(reason) => reason,
        }
    }

    #[test]
    fn up_to_its_limits_a_run_is_valid() {
        let (packets_in, packets_lost) = (1000, 1);
        let (events, packets) = (late(1000), late(999));
        let run = Fidelity { events, packets, packets_in, packets_lost, ..Fidelity::default() };
        assert_eq!(run.verdict(&Limits::default()), Verdict::Valid);
        assert_eq!(Fidelity::default().verdict(&Limits::default()), Verdict::Valid);
    }

    #[test]
    fn beyond_one_of_them_it_says_which() {
        let base = Fidelity { packets_in: 1000, reference: Some(late(400)), ..Fidelity::default() };
        let run = Fidelity { packets: late(3500), ..base.clone() };
        let expected = "packets were late by 3.50 ms at p99, the limit is 1.00 ms; \
            a bare timer was late by 0.400 ms at p99";
        assert_eq!(reason(&run), expected);
        assert_eq!(in_ms(Duration::from_nanos(6_235_527)), "6.24 ms");
        let run = Fidelity { sends: late(1001), ..base.clone() };
        assert!(reason(&run).starts_with("datagrams of flows on sockets were late by 1.00 ms"));
        let run = Fidelity { packets_lost: 2, ..base.clone() };
        assert_eq!(reason(&run), "the emulator itself lost 2 of 1000 packets");
        let run = Fidelity { reads: late(1500), ..base.clone() };
        assert!(reason(&run).contains("packets waited for up to 1.50 ms at p99"), "{run:?}");
        let run = Fidelity { suspended: Duration::from_secs(3), ..base };
        assert_eq!(reason(&run), "the machine was suspended for 3 s");
    }
}
