//! The page of a capture: what `fairwave trace` finds in it.

use crate::page::{Content, Error, Kind, Page, RunContent, Sheet};
use fairwave_capture::file::is_read_once;
use fairwave_capture::trace::out::interval_for;
use fairwave_capture::trace::{Request, Selection, TraceSummary, words};
use fairwave_units::Duration;
use std::fs::File;
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// Maximum number of rows of a table in words; `fairwave trace --out` writes all.
const ROWS: usize = 200;

/// The page of the capture `file`, which may be a pipe.
///
/// # Errors
/// If it is no capture, or the tables cannot be written into a temporary directory.
pub fn of_capture(file: &Path) -> Result<Page, Error> {
    let place = tempfile::tempdir()?;
    let selection = Selection::default();
    // The capture is read three times.
    let copied = is_read_once(file).then(|| copy(file)).transpose()?;
    let quick = Request {
        file: copied.as_ref().map_or(file, NamedTempFile::path),
        selection: &selection,
        interval: None,
        out: None,
        explorer: crate::explorer(),
    };
    // The length of the intervals suits that of the capture, which is known once it was read.
    let length = Duration::from_nanos(quick.analyse(&mut |_| ())?.capture.duration_ns);
    let interval = interval_for(length);
    let request = Request { interval: Some(interval), out: Some(place.path()), ..quick };
    let mut summary = request.analyse(&mut |_| ())?;
    summary.capture.file = file.display().to_string();
    let name =
        file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut content = Content::new(Kind::Capture);
    content.sheets = sheets(&summary);
    let mut facts = words::summary(&summary);
    if let Some(broken) = &summary.capture.broken {
        facts.push(format!("damaged at byte {}: {}", broken.offset, broken.reason));
    }
    let heading = format!("Which flow in {name} was slow, and for which reason?");
    let answer = match &summary.answer[..] {
        [] => vec!["The capture has no TCP connection.".to_owned()],
        answer => vec![answer.join(" ")],
    };
    let mut page = Page { heading, answer, facts, content, tables: Vec::new() };
    let seconds = length.as_secs_f64();
    let interval_s = interval.as_secs_f64();
    let start_unix_ns = summary.capture.start_unix_ns.unwrap_or(0).to_string();
    let mut run = RunContent { seconds, interval_s, start_unix_ns, ..RunContent::default() };
    page.add_tables(place.path(), &mut run)?;
    page.content.runs.push(run);
    Ok(page)
}

/// The content of a pipe as a temporary file.
fn copy(pipe: &Path) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    io::copy(&mut File::open(pipe)?, &mut file)?;
    Ok(file)
}

fn sheets(summary: &TraceSummary) -> Vec<Sheet> {
    let connections = summary.connections.iter().take(ROWS);
    let connections = connections.map(|one| [&[words::name(one)][..], &words::row(one)].concat());
    let more = summary.connections.len().saturating_sub(ROWS) as u64 + summary.left_out;
    let note = (more > 0).then(|| format!("{more} more; `fairwave trace --out` lists them"));
    let mut sheets = vec![sheet(
        "Connections, the worst first",
        "connection",
        &words::COLUMNS,
        connections.collect(),
        note,
    )];
    for (protocol, streams) in [("udp", &summary.udp), ("dccp", &summary.dccp)] {
        let rows = streams.iter().take(ROWS).flat_map(|one| words::udp_rows(protocol, one));
        let rows: Vec<_> = rows.map(|(name, row)| [&[name][..], &row].concat()).collect();
        if !rows.is_empty() {
            let title = format!("{} streams", protocol.to_uppercase());
            sheets.push(sheet(&title, "stream", &words::UDP_COLUMNS, rows, None));
        }
    }
    sheets.retain(|sheet| !sheet.rows.is_empty());
    sheets
}

fn sheet(
    title: &str,
    first: &str,
    heads: &[&str],
    rows: Vec<Vec<String>>,
    note: Option<String>,
) -> Sheet {
    let heads = std::iter::once(first).chain(heads.iter().copied()).map(str::to_owned).collect();
    Sheet { title: title.to_owned(), heads, rows, note }
}
