//! Files for flent (<https://flent.org>, its data file format, version 4).

use super::record::{Carrier, Record, Repetition, mbps};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// One repetition, by its number from 0, as the content of a `.flent.gz` file. It has the name of
/// flent's own test with the same series, so that flent's plots fit: `tcp_nup`, `tcp_ndown`, or
/// `rrul_be_nflows` for both directions.
///
/// # Errors
/// If the repetition does not exist.
pub fn flent(record: &Record, number: usize, title: &str) -> io::Result<Vec<u8>> {
    let repetition = record.repetitions.get(number).ok_or(io::ErrorKind::NotFound)?;
    let value = content(record, repetition, title);
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(value.to_string().as_bytes())?;
    out.finish()
}

fn content(record: &Record, repetition: &Repetition, title: &str) -> Value {
    let flows = || repetition.stations.iter().flat_map(|station| &station.flows);
    let count = |is_up| flows().filter(|flow| flow.is_up == is_up).count();
    let (up, down) = (count(true), count(false));
    let (test, mark) = match (up, down) {
        (_, 0) => ("tcp_nup", ""),
        (0, _) => ("tcp_ndown", ""),
        _ => ("rrul_be_nflows", " BE"),
    };
    let bins = flows().map(|flow| flow.bytes.len()).max().unwrap_or(0);
    let seconds = record.interval_s;
    let ends: Vec<f64> = (1..=bins).map(|bin| bin as f64 * seconds).collect();
    let (results, about) = series(repetition, seconds, bins, mark);
    let begun_s = record.begun_unix_s.unwrap_or(0);
    let raw = raw_values(&results, &ends, begun_s);
    let time = iso_8601(begun_s);
    let note = match flows().any(|flow| flow.carrier == Carrier::Udp) {
        true => "flows of datagrams are shown as TCP, as this test of flent has no others",
        false => "",
    };
    let length = ends.last().copied().unwrap_or(0.0);
    json!({
        "metadata": {
            "NAME": test,
            "TITLE": title,
            "NOTE": note,
            "TIME": &time,
            "T0": &time,
            "LENGTH": length,
            "TOTAL_LENGTH": length,
            "STEP_SIZE": seconds,
            "HOST": "server",
            "HOSTS": ["server"],
            "LOCAL_HOST": "stations",
            "TEST_PARAMETERS": {
                "upload_streams": up.to_string(),
                "download_streams": down.to_string(),
            },
            "SERIES_META": about,
            "FLENT_VERSION": "2.3.0",
            "IP_VERSION": 4,
            "DATA_FILENAME": "fairwave-fairness.flent.gz",
        },
        "version": 4,
        "x_values": ends,
        "results": results,
        "raw_values": raw,
    })
}

/// Rates by series, and the station of each series. The sum and the mean of each direction are
/// series of their own.
fn series(
    repetition: &Repetition,
    interval_s: f64,
    bins: usize,
    mark: &str,
) -> (Map<String, Value>, Map<String, Value>) {
    let (mut results, mut about) = (Map::new(), Map::new());
    for (is_up, way) in [(true, "upload"), (false, "download")] {
        let mut sum = vec![0.0; bins];
        let mut count = 0;
        for station in &repetition.stations {
            for flow in station.flows.iter().filter(|flow| flow.is_up == is_up) {
                count += 1;
                let name = format!("TCP {way}{mark}::{count}");
                let rate = |bin| flow.bytes.get(bin).map(|bytes| mbps(*bytes, interval_s));
                let rates: Vec<Option<f64>> = (0..bins).map(rate).collect();
                for (sum, rate) in sum.iter_mut().zip(&rates) {
                    *sum += rate.unwrap_or(0.0);
                }
                let (station, algorithm) = (&station.name, &flow.algorithm);
                let meta =
                    json!({ "STATION": station, "CONG_CONTROL": algorithm, "UNITS": "Mbits/s" });
                about.insert(name.clone(), meta);
                results.insert(name, json!(rates));
            }
        }
        if count > 0 {
            let mean: Vec<f64> = sum.iter().map(|sum| sum / f64::from(count)).collect();
            results.insert(format!("TCP {way} avg"), json!(mean));
            results.insert(format!("TCP {way} sum"), json!(sum));
        }
    }
    (results, about)
}

/// The series of flows again, with the time since 1970 at each value.
fn raw_values(results: &Map<String, Value>, ends: &[f64], begun_s: u64) -> Map<String, Value> {
    let of_flows = results.iter().filter(|(name, _)| name.contains("::"));
    let raw = |values: &Value| -> Value {
        let values = values.as_array().into_iter().flatten().zip(ends);
        let value =
            |(value, end): (&Value, &f64)| json!({ "t": begun_s as f64 + end, "val": value });
        values.filter(|(value, _)| !value.is_null()).map(value).collect()
    };
    of_flows.map(|(name, values)| (name.clone(), raw(values))).collect()
}

/// Formats a time in seconds since 1970 in UTC.
fn iso_8601(unix_s: u64) -> String {
    let (mut days, second) = (unix_s / 86_400, unix_s % 86_400);
    let mut year = 1970;
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}.000000Z", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected texts are from `date -u -d @N --iso-8601=seconds`.
    #[test]
    fn times_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000000Z"),
            (1_795_430_500, "2026-11-23T10:41:40.000000Z"),
        ];
        for (unix_s, iso) in cases {
            assert_eq!(iso_8601(unix_s), iso);
        }
    }
}
