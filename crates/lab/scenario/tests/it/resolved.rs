//! What a run directory keeps of its scenario is a scenario.

use crate::corpus;
use fairwave_scenario::Scenario;

fn assert_accepted_again(name: &str, scenario: &Scenario) {
    let text = scenario.to_toml();
    let again = Scenario::parse("scenario.toml", &text);
    let again = again.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    assert_eq!(*scenario, again, "{name}: {text}");
}

#[test]
fn points_of_every_file_are_accepted_again_as_they_are_resolved() {
    for (file, plan) in corpus::plans() {
        let points = corpus::some(&plan.points, 4);
        points.for_each(|point| assert_accepted_again(&file.name, &point.scenario));
    }
}

#[test]
fn a_scenario_with_any_key_set_is_accepted_again() {
    let scenarios = corpus::by_key();
    assert!(scenarios.len() > 400, "only {} scenarios", scenarios.len());
    scenarios.iter().for_each(|(text, scenario)| assert_accepted_again(&text.name, scenario));
}
