//! Comparison of the emulator with the simulator: the same flows of a world in both.
//!
//! The simulator's outcomes come from [`simulate`], the emulator's from a run in real time. An
//! [`Agreement`] has a [`Row`] for each flow, and finds the rows outside a [`Tolerance`].

use core::fmt;
use fairwave_sim::world::{Traffic, World};
use fairwave_sim::{Error, FlowOutcome, run_while};
use fairwave_trace::Discard;
use fairwave_units::{Duration, Instant};

/// Outcomes of the flows of a world in the simulator, in the world's order. `goes_on` is called
/// from time to time with the virtual time; the result is `None` if it ended the run.
///
/// # Errors
/// [`Error`] if the world cannot be simulated.
pub fn simulate(
    world: &World,
    goes_on: &mut dyn FnMut(Instant) -> bool,
) -> Result<Option<Vec<FlowOutcome>>, Error> {
    Ok(run_while(world, &mut Discard, goes_on)?.map(|outcome| outcome.flows))
}

/// Maximum differences between the emulator and the simulator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Goodput of flows of datagrams, relative to the simulator's.
    pub datagram_goodput: f64,
    /// Goodput of TCP flows, relative to the simulator's.
    pub tcp_goodput: f64,
    /// The 99th percentile of one-way delays.
    pub delay_p99: Duration,
}

impl Default for Tolerance {
    /// 3 % for datagrams, 5 % for TCP, 0.2 ms.
    fn default() -> Self {
        let delay_p99 = Duration::from_micros(200);
        Self { datagram_goodput: 0.03, tcp_goodput: 0.05, delay_p99 }
    }
}

/// Compared figures of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Goodput in Mbps.
    pub goodput_mbps: f64,
    /// Median and 99th percentile of one-way delays; `None` if no delays are measured.
    pub delay: Option<(Duration, Duration)>,
    /// Share of datagrams that were lost; `None` for TCP.
    pub loss: Option<f64>,
    /// Retransmitted share of TCP's segments; `None` for datagrams.
    pub retransmitted: Option<f64>,
}

impl Figures {
    /// The figures of an outcome.
    pub fn of(outcome: &FlowOutcome) -> Self {
        let share = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
        let (from, to) = (&outcome.at_warm_up, &outcome.at_end);
        let datagrams = outcome.datagrams.as_ref();
        let sent = to.sent_packets.saturating_sub(from.sent_packets);
        let again = to.retransmissions.saturating_sub(from.retransmissions);
        Self {
            goodput_mbps: outcome.goodput.as_mbps_f64(),
            delay: datagrams.and(outcome.delay).map(|delay| (delay.median, delay.p99)),
            loss: datagrams.map(|seen| share(seen.lost, seen.received + seen.lost)),
            retransmitted: datagrams.is_none().then(|| share(again, sent)),
        }
    }
}

/// One flow in the simulator and in the emulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The flow's name.
    pub flow: String,
    /// Whether it is a TCP flow, for which the tolerance is larger.
    pub is_tcp: bool,
    /// Its figures in the simulator.
    pub simulator: Figures,
    /// Its figures in the emulator.
    pub emulator: Figures,
}

/// Differences of the figures, the emulator's minus the simulator's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Goodput, relative to the simulator's; `None` if that is zero and the emulator's is not.
    pub goodput: Option<f64>,
    /// Median delay in seconds; `None` if one side has no delays.
    pub delay_median_s: Option<f64>,
    /// 99th percentile of delays in seconds; `None` if one side has no delays.
    pub delay_p99_s: Option<f64>,
}

/// Figure of a flow that is outside the tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// Its goodput.
    Goodput,
    /// The 99th percentile of its delays.
    Delay,
    /// Its delays, which one side has and the other lacks.
    NoDelay,
}

impl Row {
    /// Differences between the emulator and the simulator.
    pub fn difference(&self) -> Difference {
        let (simulator, emulator) = (self.simulator, self.emulator);
        let delays = simulator.delay.zip(emulator.delay);
        let less = |emulator: Duration, simulator: Duration| {
            emulator.as_secs_f64() - simulator.as_secs_f64()
        };
        Difference {
            goodput: relative(emulator.goodput_mbps, simulator.goodput_mbps),
            delay_median_s: delays.map(|(simulator, emulator)| less(emulator.0, simulator.0)),
            delay_p99_s: delays.map(|(simulator, emulator)| less(emulator.1, simulator.1)),
        }
    }

    /// The figures outside `tolerance`.
    pub fn disagreements(&self, tolerance: &Tolerance) -> Vec<Disagreement> {
        let difference = self.difference();
        let most = if self.is_tcp { tolerance.tcp_goodput } else { tolerance.datagram_goodput };
        let is_off = difference.goodput.is_none_or(|goodput| goodput.abs() > most);
        let goodput = is_off.then_some(Disagreement::Goodput);
        let delay = match difference.delay_p99_s {
            Some(late) if late.abs() > tolerance.delay_p99.as_secs_f64() => {
                Some(Disagreement::Delay)
            }
            None if self.simulator.delay.is_some() != self.emulator.delay.is_some() => {
                Some(Disagreement::NoDelay)
            }
            _ => None,
        };
        goodput.into_iter().chain(delay).collect()
    }
}

/// The difference of `measured` and `reference`, relative to the reference.
fn relative(measured: f64, reference: f64) -> Option<f64> {
    if measured == reference {
        return Some(0.0);
    }
    (reference > 0.0).then(|| measured / reference - 1.0)
}

/// All flows of a world in the simulator and in the emulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// The flows, in the world's order.
    pub rows: Vec<Row>,
}

impl Agreement {
    /// Compares outcomes of the flows of `world`, in its order.
    pub fn of(world: &World, simulator: &[FlowOutcome], emulator: &[FlowOutcome]) -> Self {
        debug_assert_eq!((world.flows.len(), simulator.len()), (emulator.len(), emulator.len()));
        let flows = world.flows.iter().zip(simulator.iter().zip(emulator));
        let row = |(flow, (simulator, emulator)): (&fairwave_sim::world::Flow, _)| Row {
            flow: flow.name.clone(),
            is_tcp: matches!(flow.traffic, Traffic::Tcp(_)),
            simulator: Figures::of(simulator),
            emulator: Figures::of(emulator),
        };
        Self { rows: flows.map(row).collect() }
    }

    /// Goodput of all flows together in Mbps: the simulator's, and the emulator's.
    pub fn total_goodput_mbps(&self) -> (f64, f64) {
        let sum = |of: fn(&Row) -> f64| self.rows.iter().map(of).sum();
        (sum(|row| row.simulator.goodput_mbps), sum(|row| row.emulator.goodput_mbps))
    }

    /// Difference of the total goodput of all flows, relative to the simulator's. The share of each
    /// competing flow depends on chance, so that the total agrees more closely than each flow.
    pub fn total_difference(&self) -> Option<f64> {
        let (simulator, emulator) = self.total_goodput_mbps();
        relative(emulator, simulator)
    }

    /// Flows outside `tolerance`, each with its figures that differ.
    pub fn outside<'a>(
        &'a self,
        tolerance: &'a Tolerance,
    ) -> impl Iterator<Item = (&'a Row, Vec<Disagreement>)> {
        let rows = self.rows.iter().map(|row| (row, row.disagreements(tolerance)));
        rows.filter(|(_, disagreements)| !disagreements.is_empty())
    }
}

/// A table in Markdown. Delays are in milliseconds.
impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = "| flow | simulator Mbps | emulator Mbps | difference | simulator p50, p99 \
             | emulator p50, p99 | p50 difference | p99 difference |";
        writeln!(f, "{head}")?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
        for row in &self.rows {
            let (simulator, emulator) = (row.simulator, row.emulator);
            let Difference { goodput, delay_median_s, delay_p99_s } = row.difference();
            writeln!(
                f,
                "| {} | {:.3} | {:.3} | {} | {} | {} | {} | {} |",
                row.flow,
                simulator.goodput_mbps,
                emulator.goodput_mbps,
                percent(goodput),
                delays(simulator.delay),
                delays(emulator.delay),
                signed_ms(delay_median_s),
                signed_ms(delay_p99_s),
            )?;
        }
        let (simulator, emulator) = self.total_goodput_mbps();
        let total = percent(self.total_difference());
        writeln!(f, "| all | {simulator:.3} | {emulator:.3} | {total} | | | | |")
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:+.1} %", share * 100.0))
}

fn delays(delay: Option<(Duration, Duration)>) -> String {
    let ms = |delay: Duration| delay.as_secs_f64() * 1e3;
    delay.map_or_else(String::new, |(p50, p99)| format!("{:.3}, {:.3}", ms(p50), ms(p99)))
}

fn signed_ms(seconds: Option<f64>) -> String {
    seconds.map_or_else(String::new, |seconds| format!("{:+.3}", seconds * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_sim::{DatagramOutcome, Times};
    use fairwave_trace::FlowSample;
    use fairwave_units::BitRate;

    fn row(is_tcp: bool, simulator: Figures, emulator: Figures) -> Row {
        Row { flow: "voice".to_owned(), is_tcp, simulator, emulator }
    }

    fn figures(goodput_mbps: f64, delay_us: Option<(u64, u64)>) -> Figures {
        let delay =
            delay_us.map(|(p50, p99)| (Duration::from_micros(p50), Duration::from_micros(p99)));
        Figures { goodput_mbps, delay, ..Figures::default() }
    }

    #[test]
    fn a_flow_is_told_by_its_goodput_and_its_delays() {
        let ms = Duration::from_millis;
        let delay = Times {
            count: 3,
            mean: ms(2),
            least: ms(1),
            median: ms(2),
            p90: ms(3),
            p95: ms(3),
            p99: ms(4),
            p999: ms(5),
            most: ms(5),
        };
        let datagrams = DatagramOutcome { received: 3, lost: 1, jitter: ms(0) };
        let outcome = FlowOutcome {
            goodput: BitRate::mbps(7),
            delay: Some(delay),
            datagrams: Some(datagrams),
            ..FlowOutcome::default()
        };
        let expected = Figures {
            goodput_mbps: 7.0,
            delay: Some((ms(2), ms(4))),
            loss: Some(0.25),
            retransmitted: None,
        };
        assert_eq!(Figures::of(&outcome), expected);
    }

    #[test]
    fn retransmissions_count_from_the_warm_up() {
        let counters = |sent_packets, retransmissions| FlowSample {
            sent_packets,
            retransmissions,
            ..FlowSample::default()
        };
        let outcome = FlowOutcome {
            at_warm_up: counters(100, 50),
            at_end: counters(300, 60),
            ..FlowOutcome::default()
        };
        assert_eq!(Figures::of(&outcome).retransmitted, Some(0.05));
        assert_eq!(Figures::of(&FlowOutcome::default()).retransmitted, Some(0.0));
    }

    #[test]
    fn tcp_has_more_room_than_datagrams() {
        let tolerance = Tolerance::default();
        let (simulator, emulator) = (figures(10.0, None), figures(10.4, None));
        assert_eq!(row(true, simulator, emulator).disagreements(&tolerance), []);
        let datagrams = row(false, simulator, emulator).disagreements(&tolerance);
        assert_eq!(datagrams, [Disagreement::Goodput]);
        assert_eq!(row(true, emulator, figures(9.8, None)).disagreements(&tolerance).len(), 1);
    }

    #[test]
    fn delays_agree_within_a_fifth_of_a_millisecond() {
        let tolerance = Tolerance::default();
        let of = |p99| figures(1.0, Some((900, p99)));
        for (emulator, expected) in [(1_199, 0), (801, 0), (1_201, 1), (799, 1)] {
            let disagreements = row(false, of(1_000), of(emulator)).disagreements(&tolerance);
            assert_eq!(disagreements.len(), expected, "{emulator}");
        }
        let silent = row(false, of(1_000), figures(1.0, None)).disagreements(&tolerance);
        assert_eq!(silent, [Disagreement::NoDelay]);
    }

    #[test]
    fn a_flow_that_only_one_side_starves_disagrees() {
        let tolerance = Tolerance::default();
        let (silent, alive) = (figures(0.0, None), figures(1.0, None));
        assert_eq!(row(true, silent, silent).disagreements(&tolerance), []);
        assert_eq!(row(true, silent, alive).difference().goodput, None);
        for row in [row(true, silent, alive), row(true, alive, silent)] {
            assert_eq!(row.disagreements(&tolerance), [Disagreement::Goodput]);
        }
    }

    #[test]
    fn the_table_has_each_flow_and_their_sum() {
        let simulator = figures(10.0, Some((1_000, 2_000)));
        let emulator = figures(9.0, Some((1_100, 1_950)));
        let rows = vec![
            row(false, simulator, emulator),
            row(true, figures(2.0, None), Figures::default()),
        ];
        let agreement = Agreement { rows };
        let table = agreement.to_string();
        let lines: Vec<_> = table.lines().skip(2).collect();
        let expected = [
            "| voice | 10.000 | 9.000 | -10.0 % | 1.000, 2.000 | 1.100, 1.950 | +0.100 | -0.050 |",
            "| voice | 2.000 | 0.000 | -100.0 % |  |  |  |  |",
            "| all | 12.000 | 9.000 | -25.0 % | | | | |",
        ];
        assert_eq!(lines, expected);
        assert_eq!(agreement.outside(&Tolerance::default()).count(), 2);
    }
}
