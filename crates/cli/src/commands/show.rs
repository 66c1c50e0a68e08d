//! `fairwave show`: results as a page in which one can explore them.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use clap::Args;
use fairwave_lab::report::Refusal;
use fairwave_lab::results::write_file;
use fairwave_show::report::ShowOutput;
use fairwave_show::{Error, Page};
use serde_json::json;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EXAMPLES: &str = "\
Examples:
  fairwave show out/run
  fairwave show out/sweep --out sweep.html
  fairwave show capture.pcapng --out capture.html
  BROWSER=firefox fairwave show out/run

The page is one file that loads nothing: it can be sent to others. Without --out it is written to
the directory of temporary files, and opened by $BROWSER, or else by xdg-open.";

/// Show a run, a sweep, a study or a capture as a page to explore in a browser
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Show {
    /// A run directory, a directory with runs below it, or a capture (pcap or pcapng)
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

/// Writes the page, and opens it if no place for it is named.
pub(super) fn run(common: &Common, args: &Show) -> Result<(), Failure> {
    if !args.path.exists() {
        return Err(Failure::Run(format!("{}: there is no such file", args.path.display())));
    }
    let page = fairwave_show::of(&args.path)?;
    let is_opened = common.out.is_none();
    let file = match &common.out {
        Some(file) => file.clone(),
        None => temporary()?,
    };
    let page_bytes = write(&page, &file)?;
    if is_opened {
        open(&file, common.json)?;
    }
    let (heading, answer) = page.words();
    let shown = file.display().to_string();
    if common.json {
        let (heading, answer) = (heading.to_owned(), answer.to_vec());
        let value = ShowOutput { page: shown, heading, answer, page_bytes, is_opened };
        return Ok(output::print_json(&json!(value))?);
    }
    let lines = answer.iter().map(|line| fairwave_text::printable(line) + "\n");
    output::print(&format!("{}Page: {shown}\n", lines.collect::<String>()))?;
    Ok(())
}

/// Writes a page into a file. Returns its size.
pub(super) fn write(page: &Page, file: &Path) -> Result<u64, Failure> {
    if file.is_dir() {
        let text =
            format!("{}: a directory; --out names a file, such as page.html", file.display());
        return Err(Failure::Usage(text));
    }
    let html = page.html()?;
    write_file(file, html.as_bytes()).map_err(Failure::run)?;
    Ok(html.len() as u64)
}

/// A file in a new directory of temporary files that only this user can read. It stays: the browser
/// reads it after this command has ended.
fn temporary() -> Result<PathBuf, Failure> {
    let made = tempfile::Builder::new().prefix("fairwave-").tempdir().map_err(Failure::run)?;
    Ok(made.keep().join("page.html"))
}

/// Opens a page in the reader's browser.
fn open(file: &Path, is_silent: bool) -> Result<(), Failure> {
    browse(file.as_os_str(), is_silent).map_err(|usual| {
        let page = file.display();
        Failure::Run(format!(
            "{page} is written, but neither $BROWSER nor {usual} opens it: set BROWSER to the \
             name of a browser, or write the page by --out FILE and open that"
        ))
    })
}

/// Opens a file or an address in the reader's browser. The error is the name of the usual program.
pub(super) fn browse(target: &OsStr, is_silent: bool) -> Result<(), &'static str> {
    #[expect(clippy::disallowed_methods, reason = "BROWSER is the user's, for all programs")]
    let named = std::env::var("BROWSER").unwrap_or_default();
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    for browser in named.split(':').filter(|name| !name.trim().is_empty()).chain([usual]) {
        let mut words = browser.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or(usual));
        command.args(words).arg(target);
        if is_silent {
            command.stdout(Stdio::null());
        }
        if command.status().is_ok_and(|status| status.success()) {
            return Ok(());
        }
    }
    Err(usual)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refusal(refusal @ Refusal::Request(_)) => refusal.into(),
            Error::Capture(error) => error.into(),
            Error::NotBuilt => Self::Usage(error.to_string()),
            _ => Self::Run(error.to_string()),
        }
    }
}
