//! The store of results: what was put is got back or is missing, and never anything else.

use fairwave_lab::run::{self, Before, Output, Progress, Run, SweepOptions, Watch};
use fairwave_lab::store::{self, Key, Sourced, Store, Version, record};
use fairwave_scenario::plan::Plan;
use fairwave_units::Bytes;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const MINE: Version = Version([7; 32]);
const OTHER: Version = Version([8; 32]);

/// Warnings of a store.
pub(crate) type Warnings = Arc<Mutex<Vec<String>>>;

fn open_for(path: &Path, version: Version) -> (Store, Warnings) {
    let warnings = Warnings::default();
    let sink = Arc::clone(&warnings);
    let warn = move |what: &str| sink.lock().unwrap().push(what.to_owned());
    (Store::open(path, version, Box::new(warn)).unwrap(), warnings)
}

pub(crate) fn open(path: &Path) -> (Store, Warnings) {
    open_for(path, MINE)
}

fn key(name: &str) -> Key {
    Key::new(&MINE, "summary", name)
}

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The segments of a store, by name.
fn segments(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|kind| kind == "runs")).collect();
    paths.sort();
    paths
}

/// Bytes that zlib cannot make fewer, by a linear congruence.
fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn what_was_put_is_there_for_who_comes_later_and_for_who_is_there() {
    let place = scratch();
    let (first, warnings) = open(place.path());
    let (second, _) = open(place.path());
    assert_eq!(first.get(&key("a")), None);
    first.put(&key("a"), b"result of a");
    assert_eq!(second.get(&key("a")).as_deref(), Some(&b"result of a"[..]), "of the other one");
    second.put(&key("b"), b"result of b");
    second.put(&key("a"), b"somebody else had it first");
    assert_eq!(first.get(&key("b")).as_deref(), Some(&b"result of b"[..]));
    drop((first, second));
    let (third, _) = open(place.path());
    assert_eq!(third.get(&key("a")).as_deref(), Some(&b"result of a"[..]));
    assert_eq!(segments(place.path()).len(), 1, "all of a version share a file");
    assert_eq!(*warnings.lock().unwrap(), [""; 0]);
}

/// The format's page, byte by byte: other programs of this format read it so.
#[test]
fn the_first_bytes_are_those_of_the_format() {
    let head = record::head(&MINE);
    assert_eq!(head.len(), record::HEAD_BYTES);
    assert_eq!(&head[..12], b"fairwave\x01\x00\x00\x00");
    assert_eq!(&head[12..44], &[7; 32]);
    let record = record::record(&key("a"), b"result").unwrap();
    let content = u32::from_le_bytes(record[4..8].try_into().unwrap()) as usize;
    assert_eq!(&record[..4], b"run:");
    assert_eq!(&record[8..40], key("a").hash());
    assert_eq!(record.len(), 72 + content);
    let unpacked = record::unpacked(&record[72..]).unwrap();
    assert_eq!(unpacked, (b"summary\na".to_vec(), b"result".to_vec()));
}

#[test]
fn another_version_has_nothing_of_this_one() {
    let place = scratch();
    open(place.path()).0.put(&key("a"), b"mine");
    let (other, warnings) = open_for(place.path(), OTHER);
    let others_key = Key::new(&OTHER, "summary", "a");
    assert_eq!(other.get(&others_key), None);
    other.put(&others_key, b"of the other");
    assert_eq!(other.get(&others_key).as_deref(), Some(&b"of the other"[..]));
    assert_eq!(open(place.path()).0.get(&key("a")).as_deref(), Some(&b"mine"[..]));
    assert_eq!(*warnings.lock().unwrap(), [""; 0], "another version is no trouble");
    let content = store::stat(place.path(), &MINE).unwrap();
    let versions: Vec<_> = content.versions.iter().map(|of| (of.version, of.results)).collect();
    assert_eq!(versions, [(Some(MINE), 1), (Some(OTHER), 1)]);
    store::clear(place.path(), Some(&MINE)).unwrap();
    assert_eq!(open_for(place.path(), OTHER).0.get(&others_key), None);
    assert_eq!(open(place.path()).0.get(&key("a")).as_deref(), Some(&b"mine"[..]));
    store::clear(place.path(), None).unwrap();
    assert_eq!(segments(place.path()), [""; 0].map(PathBuf::from));
}

#[test]
fn another_format_is_said_once_and_left_alone() {
    let place = scratch();
    open(place.path()).0.put(&key("a"), b"mine");
    let file = segments(place.path()).remove(0);
    let mut bytes = fs::read(&file).unwrap();
    bytes[8] = 2;
    fs::write(&file, &bytes).unwrap();
    let (store, warnings) = open(place.path());
    assert_eq!(store.get(&key("a")), None);
    store.put(&key("a"), b"again");
    assert_eq!(store.get(&key("a")).as_deref(), Some(&b"again"[..]));
    let warnings = warnings.lock().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("format 2, where this program reads 1"), "{warnings:?}");
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

/// Room for some twenty results; older ones go, those of other versions before them.
#[test]
fn the_bound_is_kept_and_other_versions_go_first() {
    let place = scratch();
    let (other, _) = open_for(place.path(), OTHER);
    for i in 0..5 {
        other.put(&Key::new(&OTHER, "summary", &i.to_string()), &noise(10_000, i));
    }
    store::set_limit(place.path(), Bytes(200_000)).unwrap();
    let (mine, warnings) = open(place.path());
    for i in 0..10 {
        mine.put(&key(&i.to_string()), &noise(10_000, i));
    }
    let versions = |path| store::stat(path, &MINE).unwrap().versions.len();
    assert_eq!(versions(place.path()), 2, "there is room for all of it");
    for i in 10..40 {
        mine.put(&key(&i.to_string()), &noise(10_000, i));
        let content = store::stat(place.path(), &MINE).unwrap();
        assert!(content.size <= Bytes(200_000), "{content:?} after {i}");
    }
    assert_eq!(versions(place.path()), 1);
    let has = |i: u64| mine.get(&key(&i.to_string())).is_some();
    assert!((25..40).all(has), "the newest are there");
    assert!(!(0..15).any(has), "the oldest are not");
    mine.put(&key("large"), &noise(300_000, 1));
    mine.put(&key("larger"), &noise(400_000, 1));
    let warnings = warnings.lock().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("larger than the store may be"), "{warnings:?}");
}

#[test]
fn threads_and_handles_share_a_store() {
    let place = scratch();
    let stores = [open(place.path()).0, open(place.path()).0];
    std::thread::scope(|scope| {
        for (name, store) in ["a", "b"].iter().zip(&stores) {
            for part in 0..2 {
                scope.spawn(move || {
                    for i in 0..50 {
                        store.put(&key(&format!("{name}{part}{i}")), &noise(500, i));
                        store.put(&key(&format!("both {i}")), &noise(700, i));
                    }
                });
            }
        }
    });
    for (i, store) in (0..50).flat_map(|i| stores.iter().map(move |store| (i, store))) {
        for name in ["a0", "a1", "b0", "b1"] {
            assert_eq!(store.get(&key(&format!("{name}{i}"))), Some(noise(500, i)));
        }
        assert_eq!(store.get(&key(&format!("both {i}"))), Some(noise(700, i)));
    }
    let verified = store::verify(place.path()).unwrap();
    assert_eq!((verified.whole, verified.damaged.len()), (250, 0), "each result once");
}

#[test]
fn a_record_that_is_cut_short_is_removed_by_who_writes_next() {
    let place = scratch();
    let (store, _) = open(place.path());
    store.put(&key("a"), b"result of a");
    store.put(&key("b"), b"result of b");
    drop(store);
    let file = segments(place.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 3]).unwrap();
    let (store, warnings) = open(place.path());
    assert_eq!(store.get(&key("a")).as_deref(), Some(&b"result of a"[..]));
    assert_eq!(store.get(&key("b")), None);
    assert_eq!(*warnings.lock().unwrap(), [""; 0], "somebody may be writing it");
    store.put(&key("b"), b"result of b");
    assert_eq!(warnings.lock().unwrap().len(), 1);
    assert_eq!(fs::read(&file).unwrap(), whole);
    let (later, warnings) = open(place.path());
    assert_eq!(later.get(&key("b")).as_deref(), Some(&b"result of b"[..]));
    assert_eq!(*warnings.lock().unwrap(), [""; 0]);
}

/// Harm done to a file.
#[derive(Clone, Debug)]
enum Harm {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    Overwrite(prop::sample::Index, Vec<u8>),
}

fn harm() -> impl Strategy<Value = Harm> {
    let at = any::<prop::sample::Index>;
    let bytes = || prop::collection::vec(any::<u8>(), 1..200);
    prop_oneof![
        (at(), 1..=u8::MAX).prop_map(|(at, bits)| Harm::Flip(at, bits)),
        at().prop_map(Harm::Cut),
        (at(), bytes()).prop_map(|(at, bytes)| Harm::Insert(at, bytes)),
        (at(), bytes()).prop_map(|(at, bytes)| Harm::Overwrite(at, bytes)),
    ]
}

impl Harm {
    fn to(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Flip(at, bits) => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Self::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Self::Insert(at, more) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
            Self::Overwrite(at, more) => {
                let at = at.index(bytes.len());
                let end = (at + more.len()).min(bytes.len());
                bytes.splice(at..end, more.iter().copied());
            }
        }
    }
}

proptest! {
    /// Whatever happens to the file, a result is the one that was put or is missing; what is put
    /// anew is there afterwards.
    #[test]
    fn harm_loses_results_and_makes_none(
        sizes in prop::collection::vec(0_usize..2000, 1..12),
        harms in prop::collection::vec(harm(), 1..4),
    ) {
        let place = scratch();
        let results: Vec<(Key, Vec<u8>)> = sizes
            .iter()
            .enumerate()
            .map(|(i, size)| (key(&i.to_string()), noise(*size, i as u64)))
            .collect();
        let (store, _) = open(place.path());
        results.iter().for_each(|(key, result)| store.put(key, result));
        let file = segments(place.path()).remove(0);
        let mut bytes = fs::read(&file).unwrap();
        for harm in &harms {
            if !bytes.is_empty() {
                harm.to(&mut bytes);
            }
        }
        drop(store);
        fs::write(&file, &bytes).unwrap();
        store::verify(place.path()).unwrap();
        let (store, warnings) = open(place.path());
        for (key, result) in &results {
            let got = store.get(key);
            prop_assert!(got.is_none() || got.as_ref() == Some(result));
            store.put(key, result);
            let got = store.get(key);
            prop_assert_eq!(got.as_ref(), Some(result));
        }
        prop_assert!(warnings.lock().unwrap().len() <= 2, "{:?}", warnings);
        let (later, warnings) = open(place.path());
        for (key, result) in &results {
            let got = later.get(key);
            prop_assert_eq!(got.as_ref(), Some(result));
        }
        let warnings = warnings.lock().unwrap();
        let is_format = |warning: &String| warning.contains("has format");
        prop_assert!(warnings.iter().all(is_format), "{:?}", warnings);
    }

    /// A reader of the format takes any bytes for what they are.
    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut file = std::io::Cursor::new(&bytes);
        record::read_head(&mut file).unwrap();
        let (records, end, _) = record::scan(&mut file, 0).unwrap();
        prop_assert!(end <= bytes.len() as u64);
        for found in &records {
            record::content(&mut file, found).unwrap();
        }
        record::unpacked(&bytes);
    }
}

const SCENARIO: &str = r#"
duration = "2 s"
warm_up = "1 s"
cell.standard = "802.11a"
node = [
    { name = "ap", kind = "access-point", data_rate = "54 Mbps", queue = "20 packets" },
    { name = "sta", kind = "station", data_rate = "54 Mbps", count = 2 },
    { name = "server", kind = "host" },
]
link = [{ ends = ["ap", "server"], delay = "10 ms" }]
flow = [{ name = "up", from = "sta*", to = "server", start_spread = "100 ms" }]
record.taps = ["server"]

[sweep]
"node.sta.count" = [1, 3]
seeds = 2
"#;

fn swept(output: Output<'_>, store: Option<&Store>, sets: &[String]) -> Vec<Run> {
    let plan = Plan::parse("test", SCENARIO, sets).unwrap_or_else(|e| panic!("{e}"));
    let how = SweepOptions { store, ..(output, Before::Rerun).into() };
    let watch = Watch { progress: &|_: Progress| {}, stop: &AtomicBool::new(false) };
    run::sweep_with(&plan, 2, how, watch, &|run| run).unwrap_or_else(|e| panic!("{e}"))
}

/// Every file under `root` with its content.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for point in fs::read_dir(root).unwrap() {
        for seed in fs::read_dir(point.unwrap().path()).unwrap() {
            for file in fs::read_dir(seed.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_sweep_from_the_store_leaves_the_same_bytes() {
    let place = scratch();
    let at = |name: &str| place.path().join(name);
    let (store, warnings) = open(&at("store"));
    let plain = swept(Output::Full(&at("plain")), None, &[]);
    swept(Output::Full(&at("made")), Some(&store), &[]);
    assert_eq!(store.taken(), 0);
    let taken = swept(Output::Full(&at("taken")), Some(&store), &[]);
    assert_eq!(store.taken(), 4);
    let (expected, made) = (files(&at("plain")), files(&at("made")));
    assert_eq!(expected.len(), 4 * 12, "four runs of eleven files and a capture");
    assert!(expected == made && expected == files(&at("taken")));
    for (run, expected) in taken.iter().zip(&plain) {
        assert_eq!((&run.axes, run.seed), (&expected.axes, expected.seed));
        assert_eq!(run.summary, expected.summary);
        assert_eq!(run.directory.as_ref().map(|path| path.starts_with(at("taken"))), Some(true));
    }
    assert_eq!(*warnings.lock().unwrap(), [""; 0]);
}

/// Summaries are of the scenario alone, whatever else was recorded; what acts makes another run.
#[test]
fn only_what_changed_is_run() {
    let place = scratch();
    let (store, _) = open(place.path());
    swept(Output::Nothing, Some(&store), &[]);
    let taken = |sets: &[&str]| {
        let before = store.taken();
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        swept(Output::Nothing, Some(&store), &sets);
        store.taken() - before
    };
    assert_eq!(taken(&[]), 4);
    assert_eq!(taken(&["sweep.seeds=3"]), 4, "two of six are new");
    assert_eq!(taken(&["seed=2", "sweep.node.sta.count=[3, 2]"]), 2);
    assert_eq!(taken(&["link.ap-server.delay=11 ms"]), 0);
}

/// A store whose missing runs are made as another process would make them, but for those of this
/// seed.
fn with_source(path: &Path, but: u64) -> (Store, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let source = move |part: &str, scenario: &str| {
        count.fetch_add(1, Ordering::Relaxed);
        if scenario.contains(&format!("\nseed = {but}\n")) {
            return Sourced::MakeHere;
        }
        let parts = run::make(&Version::of_build(), part, scenario, scratch().path());
        Sourced::Parts(parts.unwrap())
    };
    let (store, _) = open_for(path, Version::of_build());
    (store.with_source(Box::new(source)), asked)
}

#[test]
fn runs_of_a_source_leave_the_same_bytes_and_are_stored() {
    let place = scratch();
    let at = |name: &str| place.path().join(name);
    swept(Output::Full(&at("plain")), None, &[]);
    let (store, asked) = with_source(&at("store"), 2);
    swept(Output::Full(&at("made")), Some(&store), &[]);
    assert_eq!((asked.load(Ordering::Relaxed), store.taken()), (4, 2), "two are made here");
    assert!(files(&at("plain")) == files(&at("made")));
    drop(store);
    let (later, _) = open_for(&at("store"), Version::of_build());
    swept(Output::Full(&at("taken")), Some(&later), &[]);
    assert_eq!(later.taken(), 4);
    assert!(files(&at("plain")) == files(&at("taken")));
}

/// Runs under way at that time begin neither here nor at the source.
#[test]
fn a_source_that_has_ended_leaves_no_run_to_this_process() {
    let place = scratch();
    let (store, _) = open_for(&place.path().join("store"), Version::of_build());
    let store = store.with_source(Box::new(|_, _| Sourced::Ended));
    let plan = Plan::parse("test", SCENARIO, &[]).unwrap_or_else(|e| panic!("{e}"));
    let how = SweepOptions { store: Some(&store), ..(Output::Nothing, Before::Rerun).into() };
    let watch = Watch { progress: &|_: Progress| {}, stop: &AtomicBool::new(false) };
    let ended = run::sweep_with(&plan, 2, how, watch, &|_| ()).unwrap_err();
    assert!(ended.is_interruption(), "{ended}");
    assert_eq!(store::stat(store.path(), store.version()).unwrap().versions, []);
}

/// The first run cannot write its directory. The others are complete all the same.
#[test]
fn a_failed_run_ends_no_other_one_of_a_source() {
    let place = scratch();
    let root = place.path().join("out");
    let plan = Plan::parse("test", SCENARIO, &[]).unwrap_or_else(|e| panic!("{e}"));
    for job in plan.jobs() {
        let taken = run::directory_of(&plan, job, &root);
        fs::create_dir_all(taken.parent().unwrap()).unwrap();
        if job.seed == 1 {
            fs::write(taken, "no directory").unwrap();
        }
    }
    let (store, _) = with_source(&place.path().join("store"), 0);
    let output = Output::Summary(&root);
    let how = SweepOptions { store: Some(&store), ..(output, Before::Rerun).into() };
    let watch = Watch { progress: &|_: Progress| {}, stop: &AtomicBool::new(false) };
    let failed = run::sweep_with(&plan, 1, how, watch, &|_| ()).unwrap_err();
    assert_eq!(failed.seed, 1);
    assert_eq!(run::missing(&plan, None, &root).len(), 2);
}

#[test]
fn what_no_store_has_is_not_made() {
    let place = scratch();
    let here = Version::of_build();
    let plan = Plan::parse("test", SCENARIO, &[]).unwrap_or_else(|e| panic!("{e}"));
    let resolved = plan.scenario(plan.jobs()[0]).to_toml();
    let wrong = |version: &Version, part: &str, scenario: &str| {
        run::make(version, part, scenario, place.path()).unwrap_err().to_string()
    };
    assert!(wrong(&OTHER, "summary", &resolved).contains("has version"));
    assert!(wrong(&here, "secrets", &resolved).contains("no part"));
    assert!(wrong(&here, "summary", SCENARIO).contains("no part"), "four runs");
    assert!(wrong(&here, "summary", "seeds = 1").contains("resolved scenario"));
}

/// Names the directory to the process that is killed.
const PLACE: &str = "FAIRWAVE_TEST_STORE";

/// The process that is killed: a sweep that says on standard output whenever it came further.
#[test]
#[ignore = "a part of the test below"]
fn sweep_to_be_killed() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let (store, _) = open(&place.join("store"));
    let plan = Plan::parse("test", SCENARIO, &[]).unwrap_or_else(|e| panic!("{e}"));
    let output = Output::Full(&place.join("out"));
    let how = SweepOptions { store: Some(&store), ..(output, Before::Rerun).into() };
    let further = |_: Progress| {
        std::io::stdout().write_all(b"\nfurther\n").unwrap();
    };
    let watch = Watch { progress: &further, stop: &AtomicBool::new(false) };
    run::sweep_with(&plan, 1, how, watch, &|_| ()).unwrap_or_else(|e| panic!("{e}"));
}

/// Starts it, and kills it after so many steps; `None` if it ended before.
fn killed_after(steps: usize, place: &Path) -> Option<()> {
    let test = std::env::current_exe().unwrap();
    let mut child = Command::new(test)
        .args(["--exact", "store::sweep_to_be_killed", "--ignored", "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let accepted =
        output.lines().map_while(Result::ok).filter(|line| line == "further").take(steps);
    let is_whole = accepted.count() < steps;
    child.kill().unwrap();
    let status = child.wait().unwrap();
    (!is_whole || !status.success()).then_some(())
}

#[test]
fn killed_again_and_again_it_comes_to_the_same() {
    let place = scratch();
    let plain = place.path().join("plain");
    let expected = swept(Output::Full(&plain), None, &[]);
    // Each is killed somewhat later than the one before: at other moments of other runs.
    let kills = (1..).map_while(|steps| killed_after(steps, place.path())).count();
    assert!(kills > 4, "killed {kills} times");
    let (store, warnings) = open(&place.path().join("store"));
    let out = place.path().join("out");
    let runs = swept(Output::Full(&out), Some(&store), &[]);
    assert_eq!(
        store.taken(),
        4,
        "all was made by processes, of which each but the last was killed"
    );
    assert!(files(&plain) == files(&out));
    for (run, expected) in runs.iter().zip(&expected) {
        assert_eq!(run.summary, expected.summary);
    }
    assert_eq!(*warnings.lock().unwrap(), [""; 0]);
}
