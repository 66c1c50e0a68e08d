//! `fairwave cc trace`: windows of the kernel's connections as a table.

mod table;

use crate::command::options::CcTrace;
use crate::outcome::failure;
use crate::report::CcTraced;
use fairwave_bpf::{Event, Tracer, Wanted};
use fairwave_console::{Console, Failure};
use fairwave_lab::results::{CsvWriter, Error, TableWriter};
use fairwave_units::Duration;
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use table::TRACE;

/// Maximum time between two reads of the trace while few events arrive.
const PATIENCE: Duration = Duration::from_millis(100);

/// Progress of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The completed fraction, from 0 to 1; 0 for a trace without an end.
    pub fraction: f64,
    /// The numbers of rows so far.
    pub text: &'a str,
}

/// Traces until the time is over or a signal arrives. `progress` receives `None` at the end.
pub(crate) fn run(
    console: &dyn Console,
    requested: &CcTrace,
    progress: &mut dyn FnMut(Option<Progress<'_>>),
) -> Result<(), Failure> {
    let wanted = wanted(requested)?;
    let stop = console.stop()?;
    let mut sheet = Sheet::create(&requested.file)?;
    let mut tracer = Tracer::start(&wanted).map_err(failure)?;
    if !console.is_json() && !console.is_quiet() && requested.lasts.is_none() {
        console.note("tracing until interrupted (Ctrl-C)");
    }
    let followed = follow(&mut tracer, &mut sheet, requested.lasts, &stop, progress);
    progress(None);
    let rows = followed?;
    let lasted = tracer.lasted();
    let last = tracer.stop().map_err(failure)?;
    sheet.push(&last)?;
    sheet.finish()?;
    let traced = CcTraced {
        file: requested.file.display().to_string(),
        rows: rows + last.len() as u64,
        missed: tracer.missed().map_err(failure)?,
        lasted_ns: lasted.as_nanos(),
        interrupted: stop.load(Ordering::Relaxed),
    };
    show(console, &traced)
}

/// Writes the events that arrive until the end. Returns their number.
fn follow(
    tracer: &mut Tracer,
    sheet: &mut Sheet,
    lasts: Option<Duration>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Option<Progress<'_>>),
) -> Result<u64, Failure> {
    let mut rows = 0;
    loop {
        let lasted = tracer.lasted();
        let left = lasts.map_or(PATIENCE, |lasts| lasts.saturating_sub(lasted));
        if left == Duration::ZERO || stop.load(Ordering::Relaxed) {
            return Ok(rows);
        }
        let events = tracer.read(PATIENCE.min(left)).map_err(failure)?;
        sheet.push(&events)?;
        rows += events.len() as u64;
        let fraction = lasts.map_or(0.0, |lasts| lasted.as_secs_f64() / lasts.as_secs_f64());
        let missed = tracer.missed().map_err(failure)?;
        let text = format!("{rows} rows, {missed} missed");
        progress(Some(Progress { fraction, text: &text }));
    }
}

fn show(console: &dyn Console, traced: &CcTraced) -> Result<(), Failure> {
    let CcTraced { file, rows, missed, lasted_ns, .. } = traced;
    if *missed > 0 && !console.is_json() {
        console.warn(&format!("{missed} rows are missing: segments came faster than were written"));
    }
    let seconds = *lasted_ns as f64 / 1e9;
    console.show(&json!(traced), &format!("{file}: {rows} rows of {seconds:.1} s\n"))
}

fn wanted(requested: &CcTrace) -> Result<Wanted, Failure> {
    if requested.port.len() > Wanted::MAX_PORTS {
        let text = format!("--port: at most {} ports can be traced at once", Wanted::MAX_PORTS);
        return Err(Failure::Usage(text));
    }
    let namespace = requested.netns.as_deref().map(inode).transpose()?;
    Ok(Wanted { namespace, ports: requested.port.clone() })
}

/// The inode of a network namespace. Names without a slash are those of `ip netns`.
fn inode(netns: &Path) -> Result<u32, Failure> {
    let is_name = netns.components().count() == 1 && !netns.is_absolute();
    let path = if is_name { Path::new("/run/netns").join(netns) } else { netns.to_owned() };
    let shown = path.display();
    let usage =
        |why: String| Failure::Usage(format!("--netns: {shown}: {why}; `ip netns` lists names"));
    let file = std::fs::metadata(&path).map_err(|error| usage(error.to_string()))?;
    u32::try_from(file.ino()).map_err(|_| usage("not a network namespace".to_owned()))
}

/// The table while it is written.
enum Sheet {
    Parquet(Box<TableWriter<Event>>),
    Csv(CsvWriter<Event>),
}

impl Sheet {
    fn create(file: &Path) -> Result<Self, Failure> {
        let path: PathBuf = file.to_owned();
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => {
                let writer = TableWriter::at(&TRACE, path).map_err(Failure::run)?;
                Ok(Self::Parquet(Box::new(writer)))
            }
            Some("csv") => Ok(Self::Csv(CsvWriter::create(&TRACE, path).map_err(Failure::run)?)),
            _ => Err(Failure::Usage(format!(
                "--file {}: the name must end in .parquet or .csv",
                file.display()
            ))),
        }
    }

    fn push(&mut self, events: &[Event]) -> Result<(), Failure> {
        let one = |event: &Event| -> Result<(), Error> {
            match self {
                Self::Parquet(writer) => writer.push(event.clone()),
                Self::Csv(writer) => writer.push(event),
            }
        };
        events.iter().try_for_each(one).map_err(Failure::run)
    }

    fn finish(self) -> Result<(), Failure> {
        let finished = match self {
            Self::Parquet(writer) => writer.finish(),
            Self::Csv(writer) => writer.finish(),
        };
        finished.map_err(Failure::run)
    }
}
