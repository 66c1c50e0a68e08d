//! Plans on their way to another process or machine, without the files that they name.

use crate::errors::ScenarioError;
use fairwave_scenario::plan::{Plan, Point};
use fairwave_scenario::{OwnAlgorithms, Scenario};
use pyo3::prelude::*;

/// The parts from which a plan is made anew, in Python a dict.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Carried {
    question: String,
    seeds: u64,
    points: Vec<CarriedPoint>,
}

/// A point, with its resolved scenario as TOML: that has the content of each file it names.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct CarriedPoint {
    axes: Vec<(String, String)>,
    picks: Vec<String>,
    scenario: String,
}

impl Carried {
    pub(crate) fn of(plan: &Plan) -> Self {
        let of_point = |point: &Point| CarriedPoint {
            axes: point.axes.clone(),
            picks: point.picks.clone(),
            scenario: point.scenario.to_toml(),
        };
        let points = plan.points.iter().map(of_point).collect();
        Self { question: plan.question.clone(), seeds: plan.seeds, points }
    }

    /// The plan, with `own` algorithms.
    pub(crate) fn plan(self, own: OwnAlgorithms) -> PyResult<Plan> {
        let mut points = Vec::new();
        for (index, CarriedPoint { axes, picks, scenario }) in self.points.into_iter().enumerate() {
            let scenario = Scenario::parse_with("resolved scenario", &scenario, &own);
            let scenario = scenario.map_err(|wrong| ScenarioError::new_err(wrong.to_string()))?;
            points.push(Point { index, axes, label: String::new(), picks, scenario });
        }
        let mut plan = Plan { question: self.question, points, seeds: self.seeds, own };
        plan.label_points();
        Ok(plan)
    }
}
