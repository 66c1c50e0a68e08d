//! The machine on which a driver measures: the conditions that a record states.

use std::fs;
use xtask::shell::command;

/// Conditions of a measurement for its record: processor, kernel, compiler, and load. `load_before`
/// is [`load`] from before the measurement.
///
/// # Errors
/// If `uname` or `rustc` fails.
pub(crate) fn conditions(load_before: &str) -> Result<String, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(format!(
        "{}; {cores} cores; Linux {}; {}; load {load_before} before and {} after",
        processor().unwrap_or_else(|| "unknown processor".into()),
        words("uname", &["-r"])?,
        words("rustc", &["--version"])?,
        load(),
    ))
}

/// Name of the processor, as Linux states it.
pub(crate) fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Load average of the last minute, as the system prints it.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().filter(|word| !word.is_empty()).unwrap_or("unknown").to_owned()
}

/// Output of a program.
pub(crate) fn words(program: &str, args: &[&str]) -> Result<String, String> {
    let output = command(program, args).output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
