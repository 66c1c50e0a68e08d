//! Lists of datagrams, in a scenario or in a CSV file.

use crate::diagnostic::Refusal;
use crate::reader::{self, Read};
use crate::value::{Data, Value};
use fairwave_traffic::Emission;
use fairwave_units::{Bytes, Duration};
use std::path::Path;
use std::sync::Arc;

/// Datagrams of a trace: the resolved scenario, which lists them, must stay readable.
const MAX: usize = 30_000;
/// Maximum number of datagrams in a file.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Largest payload, as for every other source.
const MAX_PAYLOAD_BYTES: u64 = 2268;

/// A list in the scenario: texts such as `"20 ms 160 B"`.
pub(crate) fn listed(value: &Value) -> Read<Arc<[Emission]>> {
    let Data::List(values) = &value.data else {
        return Err(reader::wrong_type(value, "a list such as [\"0 s 160 B\", \"20 ms 160 B\"]"));
    };
    let mut list = Vec::with_capacity(values.len().min(MAX));
    for (i, value) in values.iter().enumerate() {
        let text = reader::text(value)?;
        let emission = entry(&text).map_err(|why| at(&format!("entry {}", i + 1), &why))?;
        push(&mut list, emission).map_err(|why| at(&format!("entry {}", i + 1), &why))?;
    }
    finish(list)
}

fn entry(text: &str) -> Result<Emission, String> {
    let mut words = text.split_whitespace();
    let mut pair = || Some(format!("{} {}", words.next()?, words.next()?));
    let (Some(time), Some(size), None) = (pair(), pair(), pair()) else {
        return Err(format!("{text:?} is not a time and a size, as in \"20 ms 160 B\""));
    };
    emission(&time, &size)
}

/// The CSV file at `path`: lines of seconds and bytes. A first line of names, empty lines and
/// lines that begin with `#` say nothing.
pub(crate) fn read(path: &Path) -> Read<Arc<[Emission]>> {
    let shown = path.display().to_string();
    let failed = |why: std::io::Error| Refusal::new(format!("{shown}: {why}"));
    let about = std::fs::metadata(path).map_err(failed)?;
    // A device or a pipe may never end.
    if !about.is_file() {
        return Err(Refusal::new(format!("{shown}: not a file")));
    }
    if about.len() > MAX_FILE_BYTES {
        return Err(Refusal::new(format!("{shown}: more than {MAX_FILE_BYTES} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    parse(&shown, &text)
}

pub(crate) fn parse(file: &str, text: &str) -> Read<Arc<[Emission]>> {
    let mut list = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        let named = i == 0 && line.starts_with(|c: char| c.is_ascii_alphabetic());
        if line.is_empty() || line.starts_with('#') || named {
            continue;
        }
        let here = format!("{file}:{}", i + 1);
        let help = "a line is a time in seconds and a size in bytes, as in 0.020,160";
        let refuse = |why: String| at(&here, &why).help(help);
        let Some((time, size)) = line.split_once(',') else {
            return Err(refuse(format!("{line:?} has no comma")));
        };
        let emission = emission(&format!("{} s", time.trim()), &format!("{} B", size.trim()));
        emission.and_then(|e| push(&mut list, e)).map_err(refuse)?;
    }
    finish(list)
}

fn at(place: &str, why: &str) -> Refusal {
    Refusal::new(format!("{place}: {why}"))
}

fn emission(time: &str, size: &str) -> Result<Emission, String> {
    let at = time.parse::<Duration>().map_err(|e| e.to_string())?;
    let Bytes(bytes) =
        size.parse().map_err(|e: fairwave_units::ParseQuantityError| e.to_string())?;
    if !(1..=MAX_PAYLOAD_BYTES).contains(&bytes) {
        return Err(format!("{bytes} B is not from 1 B to {MAX_PAYLOAD_BYTES} B"));
    }
    Ok(Emission { at, bytes: bytes as u32 })
}

fn push(list: &mut Vec<Emission>, emission: Emission) -> Result<(), String> {
    if list.last().is_some_and(|last| last.at > emission.at) {
        return Err(format!("{} is earlier than the datagram before", emission.at));
    }
    if list.len() == MAX {
        return Err(format!("more than {MAX} datagrams"));
    }
    list.push(emission);
    Ok(())
}

fn finish(list: Vec<Emission>) -> Read<Arc<[Emission]>> {
    if list.is_empty() {
        return Err(Refusal::new("this trace has no datagrams"));
    }
    Ok(list.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse("t.csv", text).expect_err("it is wrong").message
    }

    #[test]
    fn a_file_has_seconds_and_bytes() {
        let list = parse("t.csv", "time_s,bytes\n# a call\n0,160\n\n0.020, 172\n").expect("right");
        let expected = [(0, 160), (20, 172)]
            .map(|(ms, bytes)| Emission { at: Duration::from_millis(ms), bytes });
        assert_eq!(*list, expected);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            ("0,160\n0.02;160\n", "t.csv:2: \"0.02;160\" has no comma"),
            ("0,160\nx,160\n", "t.csv:2: \"x s\" is not a duration"),
            ("# c\n1,160\n0.5,160\n", "t.csv:3: 500 ms is earlier than the datagram before"),
            ("0,0\n", "t.csv:1: 0 B is not from 1 B"),
            ("0,9000\n", "t.csv:1: 9000 B is not from 1 B to 2268 B"),
            ("-1,10\n", "t.csv:1: \"-1 s\" is not a duration"),
            ("", "this trace has no datagrams"),
        ] {
            let message = refused(text);
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let refusal = read(Path::new("/no/such/trace.csv")).expect_err("there is none");
        assert!(refusal.message.starts_with("/no/such/trace.csv: "), "{}", refusal.message);
        let refusal = read(Path::new("/")).expect_err("a directory");
        assert_eq!(refusal.message, "/: not a file");
    }
}
