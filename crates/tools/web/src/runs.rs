//! Runs of the server: their directories, and bounds of their number, size and memory.

use fairwave_lab::results::{is_series, run_directories};
use fairwave_show::laboratory;
use fairwave_show::laboratory::request::Request;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of run directories that one server makes and keeps.
const MAX_RUNS: usize = 200;
/// Maximum simulated time of a run, in seconds, times the number of its flows and one.
const MAX_FLOW_SECONDS: f64 = 50_000.0;
/// Maximum memory of the server in bytes while a run is made.
const MAX_MEMORY: u64 = 3 << 30;
/// Maximum size of a run directory in bytes.
const MAX_DIRECTORY: u64 = 512 << 20;
/// Files of a run directory beside its series.
const DESCRIPTION: [&str; 3] = ["meta.json", "scenario.toml", "summary.json"];

/// The directory of all runs, and those that this server made.
#[derive(Debug)]
pub(crate) struct Runs {
    root: PathBuf,
    /// Directory of this server's runs, in `root`.
    own: String,
    /// Number of the next run's directory.
    begun: AtomicUsize,
    /// Runs under way, and those whose directory remained.
    kept: AtomicUsize,
}

impl Runs {
    /// Runs below `root`, which is made if it is not there.
    pub(crate) fn new(root: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(root)?;
        let root = root.canonicalize()?;
        let mut number = 1;
        // The directory is made here, so that no two servers have the same.
        let own = loop {
            let own = format!("web-{number}");
            match fs::create_dir(root.join(&own)) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                made => break made.map(|()| own)?,
            }
        };
        Ok(Self { root, own, begun: AtomicUsize::new(0), kept: AtomicUsize::new(0) })
    }

    /// The directory of all runs.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Names of the complete runs, as paths from the directory.
    pub(crate) fn names(&self) -> Vec<String> {
        let runs = run_directories(&self.root).unwrap_or_default();
        let name = |run: &PathBuf| Some(run.strip_prefix(&self.root).ok()?.to_str()?.to_owned());
        runs.iter().filter_map(name).filter(|name| !name.is_empty()).collect()
    }

    /// The page of a run. Only a name of [`Self::names`] is accepted, so no path leads elsewhere.
    pub(crate) fn page(&self, name: &str) -> Option<Result<String, fairwave_show::Error>> {
        let known = self.names().into_iter().find(|known| known == name)?;
        let page = fairwave_show::of_runs(&self.root.join(known));
        Some(page.and_then(|page| page.html()))
    }

    /// A file of a run of this server: `NUMBER/NAME`.
    pub(crate) fn file(&self, path: &str) -> Option<Vec<u8>> {
        let (number, name) = path.split_once('/')?;
        let number: usize = number.parse().ok()?;
        let is_plain = !name.contains(['/', '\\', '\0']) && !name.starts_with('.');
        let is_known = DESCRIPTION.contains(&name) || is_series(name);
        let is_ours = number < self.begun.load(Ordering::Relaxed);
        (is_plain && is_known && is_ours)
            .then(|| fs::read(self.directory(number).join(name)).ok())
            .flatten()
    }

    fn directory(&self, number: usize) -> PathBuf {
        self.root.join(&self.own).join(format!("run-{number}"))
    }

    /// Makes a run of which only figures are wanted. It leaves no directory, and is not counted.
    fn figures(&self, request: &[u8], goes_on: &mut dyn FnMut(f64) -> bool) -> Value {
        let mut stopped = None;
        let mut watch = |fraction: f64| {
            stopped = over_memory();
            stopped.is_none() && goes_on(fraction)
        };
        let answer = laboratory::run(request, &self.root, &mut watch);
        match stopped {
            Some(text) => refusal(&text),
            None => json!({ "answer": parsed(&answer) }),
        }
    }

    /// Makes the run of a request. `goes_on` gets the finished fraction.
    pub(crate) fn run(&self, request: &[u8], goes_on: &mut dyn FnMut(f64) -> bool) -> Value {
        let parsed_request = match bounded(request) {
            Ok(parsed) => parsed,
            Err(text) => return refusal(&text),
        };
        if parsed_request.only_figures {
            return self.figures(request, goes_on);
        }
        if self.kept.fetch_add(1, Ordering::Relaxed) >= MAX_RUNS {
            self.kept.fetch_sub(1, Ordering::Relaxed);
            let text = format!("this server keeps {MAX_RUNS} runs, its maximum: start another");
            return refusal(&text);
        }
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let directory = self.directory(number);
        let mut stopped = None;
        let mut watch = |fraction: f64| {
            stopped = excess(&directory);
            stopped.is_none() && goes_on(fraction)
        };
        let answer = laboratory::run(request, &directory, &mut watch);
        let mut answer = parsed(&answer);
        if let Some(text) = stopped {
            answer = refusal(&text)["answer"].take();
        }
        if answer.get("run").is_none() {
            // The directory of a run that is incomplete is ours alone, and of no use.
            let _ = fs::remove_dir_all(&directory);
            if !directory.exists() {
                self.kept.fetch_sub(1, Ordering::Relaxed);
            }
        }
        json!({ "answer": answer, "directory": number })
    }
}

/// The answer of the laboratory.
fn parsed(answer: &[u8]) -> Value {
    serde_json::from_slice(answer).unwrap_or_else(|error| {
        refusal(&format!("the answer is no JSON: {error}"))["answer"].take()
    })
}

/// A refusal in the form of an answer.
fn refusal(text: &str) -> Value {
    json!({ "answer": { "refused": { "text": text, "diagnostics": [] } } })
}

/// Reads a request, and refuses one whose run would take too long.
fn bounded(request: &[u8]) -> Result<Request, String> {
    let request: Request = serde_json::from_slice(request).map_err(|error| error.to_string())?;
    // A scenario with errors is refused with their places by the run itself.
    let Some([flows, seconds]) = laboratory::size(&request) else {
        return Ok(request);
    };
    if (flows + 1.0) * seconds <= MAX_FLOW_SECONDS {
        return Ok(request);
    }
    Err(format!(
        "{seconds} s with {flows} flows are more than a page may ask for ({MAX_FLOW_SECONDS} s \
         times flows): shorten the run by `duration`, or use the command below"
    ))
}

/// The bound on the memory of this process in words, if it is exceeded.
fn over_memory() -> Option<String> {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    let megabytes = MAX_MEMORY >> 20;
    (pages * PAGE > MAX_MEMORY)
        .then(|| format!("the run was stopped: the server needs over {megabytes} MB for it"))
}

/// The bound that is exceeded, in words: memory of this process, or size of a directory.
fn excess(directory: &Path) -> Option<String> {
    let memory = over_memory();
    if memory.is_some() {
        return memory;
    }
    let sizes = fs::read_dir(directory).ok()?.flatten();
    let size: u64 = sizes.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
    let megabytes = MAX_DIRECTORY >> 20;
    (size > MAX_DIRECTORY)
        .then(|| format!("the run was stopped: its files have over {megabytes} MB"))
}

/// The smallest page of memory: where pages are larger, the bound is higher.
const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "duration = \"2 s\"\n\
        node = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }]\n\
        link = [{ ends = [\"a\", \"b\"], rate = \"1 Mbps\" }]\n\
        flow = [{ name = \"f\", from = \"a\", to = \"b\" }]\n";

    fn request(text: &str) -> Vec<u8> {
        json!({ "file": "x.toml", "text": text }).to_string().into_bytes()
    }

    #[test]
    fn a_run_is_kept_and_its_files_are_found_by_their_names_alone() {
        let place = tempfile::tempdir().expect("a directory");
        let runs = Runs::new(place.path()).expect("it is ours");
        let made = runs.run(&request(TEXT), &mut |_| true);
        assert_eq!(made["directory"], 0);
        assert!(made["answer"]["run"]["files"].is_array(), "{made}");
        assert_eq!(runs.names(), ["web-1/run-0"]);
        assert!(runs.page("web-1/run-0").is_some_and(|page| page.is_ok()));
        assert!(runs.file("0/summary.json").is_some());
        fs::write(place.path().join("secret.parquet"), "x").expect("a file");
        let paths = [
            "0/../../secret.parquet",
            "0/..",
            "1/summary.json",
            "0/%2e%2e/secret.parquet",
            "0/notes.txt",
            "/etc/passwd",
            "0//etc/passwd",
        ];
        for path in paths {
            assert!(runs.file(path).is_none(), "{path}");
        }
        for name in ["", ".", "..", "web-1", "web-1/../web-1/run-0", "/etc", "../x"] {
            assert!(runs.page(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_run_that_is_cancelled_leaves_nothing() {
        let place = tempfile::tempdir().expect("a directory");
        let runs = Runs::new(place.path()).expect("it is ours");
        let long = TEXT.replace("2 s", "600 s");
        let made = runs.run(&request(&long), &mut |_| false);
        assert!(made["answer"]["refused"]["text"].is_string(), "{made}");
        assert_eq!(runs.names(), [""; 0]);
        assert!(!place.path().join("web-1/run-0").exists());
    }

    #[test]
    fn runs_that_keep_nothing_leave_room_for_others() {
        let place = tempfile::tempdir().expect("a directory");
        let runs = Runs::new(place.path()).expect("it is ours");
        let (wrong, long) = (TEXT.replace("node", "nodee"), TEXT.replace("2 s", "600 s"));
        for _ in 0..MAX_RUNS {
            let made = runs.run(&request(&wrong), &mut |_| true);
            assert!(made["answer"]["refused"]["text"].is_string(), "{made}");
        }
        let cancelled = runs.run(&request(&long), &mut |_| false);
        assert!(cancelled["answer"]["refused"]["text"].is_string(), "{cancelled}");
        let number = MAX_RUNS + 1;
        assert_eq!(runs.run(&request(TEXT), &mut |_| true)["directory"], number);
        assert_eq!(runs.names(), [format!("web-1/run-{number}")]);
        assert!(runs.file(&format!("{number}/summary.json")).is_some());
        runs.kept.store(MAX_RUNS, Ordering::Relaxed);
        let refused = runs.run(&request(TEXT), &mut |_| true);
        let text = refused["answer"]["refused"]["text"].as_str().expect("a refusal");
        assert!(text.starts_with("this server keeps 200 runs"), "{text}");
    }

    #[test]
    fn figures_alone_leave_no_directory() {
        let place = tempfile::tempdir().expect("a directory");
        let runs = Runs::new(place.path()).expect("it is ours");
        let wanted = json!({ "file": "x.toml", "text": TEXT, "only_figures": true }).to_string();
        for _ in 0..=MAX_RUNS {
            let made = runs.run(wanted.as_bytes(), &mut |_| true);
            assert!(made["answer"]["figures"]["metrics"].is_array(), "{made}");
        }
        assert_eq!(runs.names(), [""; 0]);
        let own = fs::read_dir(place.path().join("web-1")).expect("it was made at the start");
        assert_eq!(own.count(), 0);
        assert_eq!(runs.run(&request(TEXT), &mut |_| true)["directory"], 0);
    }

    #[test]
    fn a_run_that_would_take_hours_is_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let runs = Runs::new(place.path()).expect("it is ours");
        let long = TEXT.replace("2 s", "80000 s");
        let made = runs.run(&request(&long), &mut |_| true);
        let text = made["answer"]["refused"]["text"].as_str().expect("a refusal");
        assert!(text.contains("shorten the run"), "{text}");
    }

    #[test]
    fn two_servers_have_directories_of_their_own() {
        let place = tempfile::tempdir().expect("a directory");
        let [a, b] = [0, 1].map(|_| Runs::new(place.path()).expect("it is ours"));
        assert_ne!(a.directory(0), b.directory(0));
    }
}
