//! SNR traces in CSV files: lines of seconds and dB.

use crate::diagnostic::Refusal;
use crate::reader::Read;
use fairwave_units::{Db, Duration};
use std::fs;
use std::path::Path;

/// A longer file is no trace that a resolved scenario could list.
const MAX_FILE_BYTES: u64 = 4 << 20;
const DAY_SECONDS: f64 = 86_400.0;

/// The trace at `path`. A first line of names, empty lines and lines that begin with `#` are
/// ignored; any other invalid line is refused with its number.
pub(super) fn read(path: &Path) -> Read<Vec<(Duration, Db)>> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| Refusal::new(format!("{shown}: {error}"));
    let about = fs::metadata(path).map_err(unreadable)?;
    if !about.is_file() || about.len() > MAX_FILE_BYTES {
        let message = format!("{shown}: not a file of {MAX_FILE_BYTES} bytes at most");
        return Err(Refusal::new(message));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    parse(&text).map_err(|(line, why)| {
        Refusal::new(format!("{shown}:{line}: {why}"))
            .help("a line is a time in seconds, a comma and a ratio in dB: 1.5,20")
    })
}

fn parse(text: &str) -> Result<Vec<(Duration, Db)>, (usize, String)> {
    let mut points: Vec<(Duration, Db)> = Vec::new();
    for (i, line) in text.lines().map(str::trim).enumerate() {
        let names = points.is_empty() && line.starts_with(|c: char| c.is_ascii_alphabetic());
        if line.is_empty() || line.starts_with('#') || names {
            continue;
        }
        let point = point(line).map_err(|why| (i + 1, why))?;
        if points.last().is_some_and(|last| point.0 <= last.0) {
            return Err((i + 1, "the time is not later than that of the line before".to_owned()));
        }
        points.push(point);
    }
    if points.is_empty() { Err((1, "there is no point".to_owned())) } else { Ok(points) }
}

fn point(line: &str) -> Result<(Duration, Db), String> {
    let (at, snr) = line.split_once(',').ok_or_else(|| format!("{line:?} has no comma"))?;
    let number = |text: &str, min: f64, max: f64| {
        let number = text.trim().parse::<f64>().ok().filter(|n| (min..=max).contains(n));
        number.ok_or_else(|| format!("{:?} is not a number from {min} to {max}", text.trim()))
    };
    let at = number(at, 0.0, DAY_SECONDS)?;
    Ok((Duration::from_secs_f64(at), Db(number(snr, -100.0, 100.0)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_comments_and_empty_lines_are_passed_over() {
        let points = parse("seconds,dB\n# measured\n\n0,20\n1.5, -3.5\n").unwrap();
        assert_eq!(points, [(Duration::ZERO, Db(20.0)), (Duration::from_millis(1500), Db(-3.5)),]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let line = |text| parse(text).unwrap_err().0;
        assert_eq!(line("0,20\n1 20\n"), 2);
        assert_eq!(line("0,20\n\n0,21\n"), 3);
        assert_eq!(line("t,snr\n0,twenty\n"), 2);
        assert_eq!(line("0,nan\n"), 1);
        assert_eq!(line("t,snr\n"), 1);
    }
}
