//! Plans of a matrix: one for the kernel, and one for the simulator.

use super::competing::Competing;
use super::{ALGORITHM, COMPETING, distinct};
use crate::traffic::simulated_congestion_control;
use fairwave_scenario::plan::{Plan, Point};
use fairwave_scenario::{Diagnostics, Flow, Scenario, Transport};
use fairwave_units::Duration;

/// Options of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixRequest {
    /// Name of the flow under test in its table; `None` is the first TCP flow.
    pub flow: Option<String>,
    /// Congestion control algorithms, by their names in the kernel.
    pub algorithms: Vec<String>,
    /// Choices of competing flows.
    pub competitors: Vec<Competing>,
}

/// Errors of building a grid.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario has no TCP flow.
    #[error("the scenario has no flow of TCP; a matrix needs one")]
    NoFlow,
    /// It has no TCP flow with this name.
    #[error("the scenario has no flow of TCP called {name:?}; it has {known}")]
    UnknownFlow {
        /// The requested name.
        name: String,
        /// The names of its TCP flows.
        known: String,
    },
    /// With the flows of the matrix the scenario is not valid.
    #[error("{algorithm}, {competing}: {diagnostics}")]
    Scenario {
        /// The algorithm.
        algorithm: String,
        /// The competing flows.
        competing: Competing,
        /// The fault.
        diagnostics: Diagnostics,
    },
}

/// Flows of a run by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// Flows of the tested algorithm.
    pub own: Vec<String>,
    /// Flows beside them.
    pub others: Vec<String>,
}

/// Content of one point of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The algorithm, by its name in the kernel.
    pub algorithm: String,
    /// Its competing flows.
    pub competing: Competing,
    /// Its position on the axes of the scenario's sweep.
    pub axes: Vec<(String, String)>,
    /// Its flows.
    pub flows: Flows,
}

/// A plan, with the content of each of its points.
#[derive(Clone, Debug)]
pub struct Half {
    /// The plan.
    pub plan: Plan,
    /// Contents, by the number of the point.
    pub entries: Vec<Entry>,
}

/// The plans of a matrix.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Runs on the kernel's sockets.
    pub kernel: Half,
    /// Runs in the simulator, for those algorithms that it has.
    pub simulator: Half,
}

impl Grid {
    /// Builds the grid for `asked` over the points of `base`, which was read from `file`.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn new(file: &str, base: &Plan, asked: &MatrixRequest) -> Result<Self, Error> {
        let plan = Plan { points: Vec::new(), ..base.clone() };
        let mut kernel = Half { plan, entries: Vec::new() };
        let mut simulator = kernel.clone();
        // Duplicates are removed, as their runs would have the same directories and seeds.
        let (algorithms, competitors) = (distinct(&asked.algorithms), distinct(&asked.competitors));
        for &algorithm in &algorithms {
            for &competing in &competitors {
                for point in &base.points {
                    let one = one(&point.scenario, asked.flow.as_deref(), algorithm, competing)?;
                    check(file, &one.scenario).map_err(|diagnostics| {
                        let (algorithm, competing) = (algorithm.clone(), competing.clone());
                        Error::Scenario { algorithm, competing, diagnostics }
                    })?;
                    if one.is_simulated {
                        simulator.add(&one, algorithm, competing, point);
                    }
                    kernel.add(&one, algorithm, competing, point);
                }
            }
        }
        kernel.plan.label_points();
        simulator.plan.label_points();
        Ok(Self { kernel, simulator })
    }
}

impl Half {
    fn add(&mut self, one: &One, algorithm: &str, competing: &Competing, point: &Point) {
        let own = [(ALGORITHM, algorithm.to_owned()), (COMPETING, competing.to_string())];
        let own = own.map(|(key, value)| (key.to_owned(), value));
        let axes = own.into_iter().chain(point.axes.iter().cloned()).collect();
        let (index, scenario) = (self.plan.points.len(), one.scenario.clone());
        let (label, picks) = (String::new(), Vec::new());
        self.plan.points.push(Point { index, axes, label, picks, scenario });
        let (algorithm, competing, axes) =
            (algorithm.to_owned(), competing.clone(), point.axes.clone());
        self.entries.push(Entry { algorithm, competing, axes, flows: one.flows.clone() });
    }

    /// Total duration of its runs.
    pub fn lasts(&self) -> Duration {
        let durations = self.plan.points.iter().map(|point| point.scenario.duration);
        let once = durations.fold(Duration::ZERO, |sum, one| sum + one);
        Duration::from_nanos(once.as_nanos().saturating_mul(self.plan.seeds))
    }
}

/// The scenario with the flows of one point.
struct One {
    scenario: Scenario,
    flows: Flows,
    /// Whether the simulator has the algorithms of all of these flows.
    is_simulated: bool,
}

fn one(
    base: &Scenario,
    flow: Option<&str>,
    algorithm: &str,
    competing: &Competing,
) -> Result<One, Error> {
    let mut scenario = base.clone();
    let table = tested(base, flow)?;
    let mut is_simulated = simulate(&mut scenario.flow[table], algorithm);
    let first = scenario.flow[table].clone();
    let copy = |suffix: &str| Flow { name: format!("{}-{suffix}", first.name), ..first.clone() };
    let (own_copies, others) = match competing {
        Competing::Alone => (Vec::new(), Vec::new()),
        Competing::Many(flows) => {
            ((2..=*flows).map(|n| copy(&n.to_string())).collect(), Vec::new())
        }
        Competing::Beside(_) => (Vec::new(), vec![copy("beside")]),
    };
    let begin = scenario.flow.len();
    scenario.flow.extend(own_copies);
    let end = scenario.flow.len();
    scenario.flow.extend(others);
    if let Competing::Beside(algorithm) = competing {
        is_simulated &= simulate(&mut scenario.flow[end], algorithm);
    }
    let names = |tables: &mut dyn Iterator<Item = usize>| -> Vec<String> {
        tables.flat_map(|table| scenario.flows_of(table)).collect()
    };
    let own = names(&mut [table].into_iter().chain(begin..end));
    let flows = Flows { own, others: names(&mut (end..scenario.flow.len())) };
    let mut emulate = scenario.emulation();
    let other = if let Competing::Beside(algorithm) = competing { algorithm } else { algorithm };
    for (names, algorithm) in [(&flows.own, algorithm), (&flows.others, other)] {
        emulate.kernel_flows.extend(names.iter().cloned());
        emulate
            .kernel_congestion_control
            .extend(names.iter().map(|name| format!("{name}={algorithm}")));
    }
    scenario.emulate = Some(emulate);
    Ok(One { scenario, flows, is_simulated })
}

/// The index of the flow under test.
fn tested(scenario: &Scenario, name: Option<&str>) -> Result<usize, Error> {
    let is_tcp = |flow: &&Flow| matches!(flow.transport, Transport::Tcp(_));
    let known: Vec<&str> =
        scenario.flow.iter().filter(is_tcp).map(|flow| flow.name.as_str()).collect();
    let Some(wanted) = name.or(known.first().copied()) else { return Err(Error::NoFlow) };
    let is_wanted = |flow: &Flow| flow.name == wanted && is_tcp(&flow);
    scenario.flow.iter().position(is_wanted).ok_or_else(|| Error::UnknownFlow {
        name: wanted.to_owned(),
        known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
    })
}

/// Sets the simulator's counterpart of the kernel's `algorithm` in a flow. Returns whether there is
/// one. An algorithm that needs a target has none here.
fn simulate(flow: &mut Flow, algorithm: &str) -> bool {
    let ours = simulated_congestion_control(algorithm);
    let is_known = fairwave_cc::names().iter().any(|name| name == ours) && ours != "tcp-av";
    if let (true, Transport::Tcp(tcp)) = (is_known, &mut flow.transport) {
        tcp.congestion_control = ours.into();
        // This is the target of the scenario's own algorithm.
        tcp.av = None;
    }
    is_known
}

/// Checks that the scenario is valid in its written form.
fn check(file: &str, scenario: &Scenario) -> Result<(), Diagnostics> {
    Plan::parse(file, &scenario.to_toml(), &[]).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"# Who gets the wire?
duration = "2 s"
node = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
flow = [
    { name = "call", from = "a", to = "b", transport = "udp", traffic = "voip" },
    { name = "bulk", from = "a", to = "b" },
]
link = [{ ends = ["a", "b"] }]
[sweep]
"link.a-b.delay" = ["5 ms", "40 ms"]
seeds = 3
"#;

    fn plan() -> Plan {
        Plan::parse("grid.toml", SCENARIO, &[]).expect("a scenario")
    }

    fn asked(algorithms: &[&str], competitors: &[&str]) -> MatrixRequest {
        let algorithms = algorithms.iter().map(|algorithm| (*algorithm).to_owned()).collect();
        let competitors =
            competitors.iter().map(|text| text.parse().expect("competing flows")).collect();
        MatrixRequest { flow: None, algorithms, competitors }
    }

    #[test]
    fn a_grid_has_each_algorithm_with_each_competition_at_each_point() {
        let grid = Grid::new("g", &plan(), &asked(&["reno", "bbr"], &["alone", "cubic"])).unwrap();
        assert_eq!(grid.kernel.plan.points.len(), 2 * 2 * 2);
        assert_eq!(grid.kernel.plan.jobs().len(), 24, "three seeds");
        assert_eq!(grid.kernel.lasts(), Duration::from_secs(48));
        let axes = &grid.kernel.plan.points[2].axes;
        let expected =
            [("algorithm", "reno"), ("company", "beside cubic"), ("link.a-b.delay", "5 ms")];
        assert_eq!(*axes, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn flows_of_a_point_have_the_kernels_laws_and_the_simulators() {
        let grid = Grid::new("g", &plan(), &asked(&["reno"], &["bbr", "3"])).unwrap();
        let Entry { flows, .. } = &grid.kernel.entries[0];
        assert_eq!(
            (flows.own.join(" "), flows.others.join(" ")),
            ("bulk".into(), "bulk-beside".into())
        );
        let scenario = &grid.kernel.plan.points[0].scenario;
        assert_eq!(
            scenario.emulation().kernel_congestion_control,
            ["bulk=reno", "bulk-beside=bbr"]
        );
        let algorithms = scenario.flow.iter().filter_map(|flow| match &flow.transport {
            Transport::Tcp(tcp) => Some(tcp.congestion_control.name()),
            _ => None,
        });
        assert_eq!(algorithms.collect::<Vec<_>>(), ["newreno", "bbr"]);
        let Entry { flows, .. } = &grid.kernel.entries[2];
        assert_eq!(flows.own, ["bulk", "bulk-2", "bulk-3"]);
    }

    #[test]
    fn the_simulator_gets_the_laws_that_it_has() {
        let asked = asked(&["fw_ackloss_comp", "dctcp", "fw_tcp_av"], &["alone", "illinois"]);
        let grid = Grid::new("g", &plan(), &asked).unwrap();
        assert_eq!(grid.kernel.entries.len(), 12);
        let simulated: Vec<&str> =
            grid.simulator.entries.iter().map(|entry| entry.algorithm.as_str()).collect();
        assert_eq!(simulated, ["fw_ackloss_comp"; 2], "alone, at two points");
        assert_eq!(grid.simulator.plan.points[1].index, 1);
    }

    #[test]
    fn what_is_named_twice_is_run_once() {
        let asked = asked(&["reno", "bbr", "reno"], &["alone", "1", "cubic", " cubic"]);
        let grid = Grid::new("g", &plan(), &asked).unwrap();
        assert_eq!(grid.kernel.plan.points.len(), 2 * 2 * 2);
        assert_eq!(grid.simulator.entries, grid.kernel.entries);
    }

    #[test]
    fn a_flow_that_is_not_there_is_refused_with_those_that_are() {
        let asked = MatrixRequest { flow: Some("call".to_owned()), ..asked(&["reno"], &["alone"]) };
        let error = Grid::new("g", &plan(), &asked).unwrap_err();
        assert!(error.to_string().ends_with("called \"call\"; it has bulk"), "{error}");
    }
}
