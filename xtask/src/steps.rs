//! Sequences of timed steps.

use std::time::Instant;
use xtask::shell::Outcome;

/// Steps one after the other, each with a header and its time. The first failure ends the sequence.
pub(crate) struct Steps {
    started: Instant,
    passed: Vec<(String, f64)>,
    /// Lines for the end.
    remarks: Vec<String>,
}

impl Steps {
    /// An empty sequence.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), passed: Vec::new(), remarks: Vec::new() }
    }

    /// Runs one step, and returns its result.
    pub(crate) fn step<T>(
        &mut self,
        title: &str,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let begun = Instant::now();
        println!("\n=== {}: {title}", self.passed.len() + 1);
        let outcome = work();
        let seconds = begun.elapsed().as_secs_f64();
        if outcome.is_ok() {
            self.passed.push((title.to_owned(), seconds));
            println!("--- {title}: ok, {seconds:.1} s");
        } else {
            println!("--- {title}: FAILED after {seconds:.1} s");
            let passed = self.passed.len();
            println!("test result: FAILED. {passed} steps ok; 1 failed: {title}");
        }
        outcome
    }

    /// Keeps lines that a reader must not miss, for the end.
    pub(crate) fn remark(&mut self, lines: Vec<String>) {
        self.remarks.extend(lines);
    }

    /// Prints the seconds of each step, all remarks, and a last line in the style of cargo.
    pub(crate) fn finish(self) -> Outcome {
        let seconds = self.started.elapsed().as_secs_f64();
        println!();
        for (title, seconds) in &self.passed {
            println!("{seconds:>8.1} s  {title}");
        }
        self.remarks.iter().for_each(|line| println!("{line}"));
        println!(
            "\ntest result: ok. {} steps ok; 0 failed; finished in {seconds:.1}s",
            self.passed.len()
        );
        Ok(())
    }
}
