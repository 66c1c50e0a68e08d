//! Any text is a plan or a list of errors, and a resolved scenario reads back equal.
#![no_main]

use fairwave_scenario::Scenario;
use fairwave_scenario::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Plan::parse_bytes("fuzz.toml", bytes, &[]) {
        Err(diagnostics) => assert!(!diagnostics.to_string().is_empty()),
        Ok(plan) => {
            for point in plan.points.iter().take(3) {
                let text = point.scenario.to_toml();
                let again = Scenario::parse("resolved.toml", &text);
                assert_eq!(again.as_ref(), Ok(&point.scenario), "{text}");
            }
        }
    }
});
