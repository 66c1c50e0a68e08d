//! Tests that skipped themselves because the machine lacks something.
//!
//! Such a test passes, and prints a line `SKIPPED: REASON` on standard error. nextest shows no
//! output of tests that pass, but keeps it in its report in the format of JUnit
//! (`.config/nextest.toml`).

use std::collections::BTreeMap;
use std::fs;
use xtask::shell::root;

// A file that tests append to would need a variable in the environment of each, and a helper in
// each crate. A line on standard error needs neither, and is read by people too.

/// Beginning of the line that such a test prints.
const MARK: &str = "SKIPPED: ";

/// Names of the tests that skipped themselves, by their reason.
pub(crate) type Skipped = BTreeMap<String, Vec<String>>;

/// Reads the report of the last run with this profile of nextest.
pub(crate) fn of_last_run(profile: &str) -> Result<Skipped, String> {
    let file = root().join("target/nextest").join(profile).join("junit.xml");
    let report = fs::read_to_string(&file);
    Ok(of_report(&report.map_err(|error| format!("{}: {error}", file.display()))?))
}

fn of_report(report: &str) -> Skipped {
    let mut skipped = Skipped::new();
    for case in report.split("<testcase ").skip(1) {
        let name = case.split_once("name=\"").and_then(|(_, behind)| behind.split('"').next());
        // The first line of an output stands behind its tag, and a tag may end the last one.
        let begins = |at: &usize| case[..*at].ends_with(['\n', '>']);
        let mark = case.match_indices(MARK).map(|(at, _)| at).find(begins);
        let reason = mark.and_then(|at| case[at + MARK.len()..].split(['\n', '<']).next());
        if let (Some(name), Some(reason)) = (name, reason) {
            skipped.entry(plain(reason)).or_default().push(plain(name));
        }
    }
    skipped
}

/// Text with XML's entities replaced.
fn plain(text: &str) -> String {
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}

/// Lines with each reason, the number of tests, and their names.
pub(crate) fn lines(skipped: &Skipped) -> Vec<String> {
    let line = |(reason, tests): (&String, &Vec<String>)| {
        format!("{} SKIPPED: {reason}: {}", tests.len(), tests.join(", "))
    };
    skipped.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_found_in_the_output_of_tests_that_passed() {
        let report = "<testsuite name=\"cli::it\">\n\
            <testcase name=\"cc::a\" classname=\"cli::it\" time=\"0.1\">\n\
            <system-out>\nrunning 1 test\nok</system-out>\n\
            <system-err>SKIPPED: no &quot;BTF&quot;\nmore</system-err>\n</testcase>\n\
            <testcase name=\"cc::b\">\n<system-err>\nSKIPPED: no &quot;BTF&quot;</system-err>\n\
            </testcase>\n<testcase name=\"cc::c\">\n<system-err>not SKIPPED: x</system-err>\n\
            </testcase>\n<testcase name=\"cc::d\"/>\n";
        let skipped = of_report(report);
        assert_eq!(lines(&skipped), ["2 SKIPPED: no \"BTF\": cc::a, cc::b"]);
    }
}
