//! Files generated from the code: completion scripts, manual pages, the schema in `docs`.

use crate::common;

use crate::common::{ends_with, scratch};
use std::fs;
use std::path::Path;

/// Commands that every generated file must contain.
const COMMANDS: [&str; 20] = [
    "run",
    "sweep",
    "reproduce",
    "emulate",
    "matrix",
    "packets",
    "plot",
    "probe",
    "dccp",
    "fairness",
    "proxy",
    "shake",
    "share",
    "trace",
    "compare",
    "check",
    "list",
    "explain",
    "completions",
    "man",
];

#[test]
fn each_shell_gets_a_script_that_knows_every_command() {
    let place = scratch();
    for (shell, mark) in [("bash", "complete "), ("zsh", "#compdef"), ("fish", "complete -c")] {
        let (script, _) = ends_with(0, place.path(), &["completions", shell]);
        assert!(script.contains(mark), "{shell}: {mark}");
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
}

/// Commands on real networks and kernels: words already typed, and an expected completion.
const LIVE: &[(&[&str], &str)] = &[
    (&["probe", "--"], "--reverse"),
    (&["probe", "serve", "--"], "--max-bytes"),
    (&["dccp", "s"], "send"),
    (&["dccp", "send", "--"], "--ccid"),
    (&["dccp", "serve", "--"], "--once"),
    (&["fairness", "--"], "--compare"),
    (&["fairness", "r"], "run"),
    (&["fairness", "run", "--"], "--congestion"),
    (&["fairness", "serve", "--"], "--max-time"),
    (&["fairness", "show", "--"], "--effective"),
    (&["proxy", "--"], "--transparent"),
    (&["shake", "connect", "--"], "--via"),
    (&["share", "lend", "--"], "--per-day"),
    (&["emulate", "--"], "--beside-simulation"),
    (&["emulate", "c"], "ctl"),
    (&["matrix", "--"], "--out"),
    #[cfg(all(target_os = "linux", feature = "kernel-cc"))]
    (&["cc", "l"], "load"),
    #[cfg(all(target_os = "linux", feature = "kernel-cc"))]
    (&["cc", "unload", "--"], "--all"),
    #[cfg(all(target_os = "linux", feature = "kernel-cc"))]
    (&["cc", "status", "--"], "--json"),
];

/// Requests completions from bash as the Tab key does.
#[test]
fn bash_completes_every_live_command() {
    let place = scratch();
    let (script, _) = ends_with(0, place.path(), &["completions", "bash"]);
    let mut requested = script;
    for (words, _) in LIVE {
        let (last, before) = words.split_last().expect("words");
        let line = format!("fairwave {}", words.join(" "));
        requested.push_str(&format!(
            "COMP_WORDS=({line}); COMP_CWORD={}; COMPREPLY=()\n\
            _fairwave fairwave '{last}' '{}'; echo \"${{COMPREPLY[*]}}\"\n",
            words.len(),
            before.last().unwrap_or(&"fairwave"),
        ));
    }
    // The script is a file, since an argument may have at most 128 KiB (MAX_ARG_STRLEN).
    let file = place.path().join("asked.bash");
    fs::write(&file, requested).expect("written");
    let output = std::process::Command::new("bash").arg("--norc").arg(&file).output();
    let output = output.expect("bash starts");
    let reported = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(reported.lines().count(), LIVE.len(), "{}", String::from_utf8_lossy(&output.stderr));
    for ((words, next), reported) in LIVE.iter().zip(reported.lines()) {
        assert!(reported.split(' ').any(|word| word == *next), "{words:?} {next}: {reported}");
    }
}

#[test]
fn shells_complete_the_keys_of_explain() {
    let place = scratch();
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = ends_with(0, place.path(), &["completions", shell]);
        assert!(script.contains("flow.congestion_control"), "{shell}");
    }
    let (help, _) = ends_with(0, place.path(), &["explain", "--help"]);
    assert!(!help.contains("flow.congestion_control,"), "hundreds of keys are no help: {help}");
}

#[test]
fn each_command_has_a_page() {
    let place = scratch();
    ends_with(0, place.path(), &["man", "--out", "pages"]);
    for command in COMMANDS {
        let name = format!("fairwave-{command}.1");
        let page = fs::read_to_string(place.path().join("pages").join(&name)).expect(&name);
        assert!(page.contains(".SH SYNOPSIS") && page.contains(command), "{name}: {page}");
    }
    let main = fs::read_to_string(place.path().join("pages/fairwave.1")).unwrap();
    let (printed, _) = ends_with(0, place.path(), &["man"]);
    assert_eq!(main, printed);
    assert!(main.contains("Exit codes"), "{main}");
}

#[test]
#[cfg(target_os = "linux")]
fn parts_of_commands_have_pages_and_completions() {
    let place = scratch();
    ends_with(0, place.path(), &["man", "--out", "pages"]);
    let parts = [
        ("probe", "serve", "max-bytes"),
        ("fairness", "serve", "max-time"),
        ("fairness", "run", "repetitions"),
        ("fairness", "show", "effective"),
        ("emulate", "ctl", "DIR"),
    ];
    for (command, part, option) in parts {
        let name = format!("fairwave-{command}-{part}.1");
        let page = fs::read_to_string(place.path().join("pages").join(&name)).expect(&name);
        let page = page.replace('\\', "");
        assert!(page.contains(&format!("fairwave {command} {part}")), "{name}: {page}");
        assert!(page.contains(option), "{name}: {page}");
    }
    assert!(!place.path().join("pages/fairwave-keep-namespaces.1").exists(), "it is hidden");
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = ends_with(0, place.path(), &["completions", shell]);
        assert!(!script.contains("keep-namespaces"), "{shell}: it is hidden");
        let options = ["max-bytes", "beside-simulation", "kernel-flows", "pairing"];
        let live = ["repetitions", "effective", "transparent", "max-flows", "reverse"];
        for option in options.iter().chain(&live) {
            assert!(script.contains(option), "{shell} does not know --{option}");
        }
    }
}

#[test]
fn the_schema_in_docs_is_the_one_the_command_prints() {
    let place = scratch();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.schema.json");
    let (printed, _) = ends_with(0, place.path(), &["list", "schema"]);
    let kept = fs::read_to_string(path).expect("docs/scenario.schema.json");
    assert!(kept == printed, "docs/scenario.schema.json is out of date: `cargo xtask gen`");
}

#[test]
fn the_reference_in_docs_is_the_one_the_command_prints() {
    let place = scratch();
    let pages = [
        ("scenario.md", "reference"),
        #[cfg(all(target_os = "linux", feature = "kernel-cc"))]
        ("commands.md", "commands"),
        #[cfg(all(target_os = "linux", feature = "kernel-cc"))]
        ("json-fields.md", "fields"),
    ];
    for (page, list) in pages {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
        let (printed, _) = ends_with(0, place.path(), &["list", list]);
        let kept = fs::read_to_string(path).expect(page);
        assert!(kept == printed, "docs/{page} is out of date: `cargo xtask gen`");
    }
}

#[test]
fn a_key_is_explained_as_messages_name_it_and_without_names() {
    let place = scratch();
    for key in ["flow.mss", "flow.up.mss"] {
        let (printed, _) = ends_with(0, place.path(), &["explain", key]);
        for text in ["flow.mss (where transport = \"tcp\")", "1460 B", "64 B to 2256 B", "KiB"] {
            assert!(printed.contains(text), "{key}: {printed}");
        }
    }
    let (printed, _) = ends_with(0, place.path(), &["explain", "cell.standard", "--json"]);
    assert!(printed.contains("802.11ax"), "{printed}");
    let (printed, _) = ends_with(0, place.path(), &["explain", "node.sta.queue.quantum"]);
    assert!(printed.contains("1514 B"), "{printed}");
    let (printed, _) = ends_with(0, place.path(), &["explain", "snr_trace"]);
    assert!(printed.contains("node.snr_trace"), "a key of an inner table by its name: {printed}");
    let (printed, _) = ends_with(0, place.path(), &["explain"]);
    assert!(printed.contains("flow (where transport = \"rtc\")"), "{printed}");
    let (_, err) = ends_with(2, place.path(), &["explain", "flow.up.congestion_controll"]);
    assert!(err.contains("did you mean") && err.contains("flow.congestion_control"), "{err}");
}

#[test]
fn columns_claims_verdicts_and_causes_of_drops_are_explained() {
    let place = scratch();
    let of = |key: &str| ends_with(0, place.path(), &["explain", key]).0;
    for (key, text) in [
        ("flows.goodput_bps", "Delivered bits per second"),
        ("goodput_bps", "flows.goodput_bps"),
        ("pairs", "pairs.airtime_ppm"),
        ("drops.parquet", "drops.cause"),
        ("flow.up.delay_p99_ms", "99th percentile of the one-way delay"),
        ("ack-2", "`fairwave reproduce ack-loss --map ACK-2`"),
        ("tcp-av", "AV-X1"),
        ("conditional", "in some of these set-ups"),
        ("not judgeable", "could not be decided"),
        ("retry_limit", "retry limit"),
    ] {
        assert!(of(key).contains(text), "{key}: {}", of(key));
    }
    let (printed, _) = ends_with(0, place.path(), &["explain", "flows.goodput_bps", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(found[0]["unit"], "bps");
    let (_, err) = ends_with(2, place.path(), &["explain", "zzz"]);
    assert!(err.contains("`--help` what else it knows"), "{err}");
}

/// They printed Markdown where JSON was wanted.
#[test]
fn pages_in_markdown_are_no_json() {
    let place = scratch();
    for page in ["reference", "commands", "fields"] {
        let (out, err) = ends_with(2, place.path(), &["list", page, "--json"]);
        assert!(out.is_empty() && err.contains("is a page in Markdown"), "{page}: {out}{err}");
    }
}

#[test]
fn list_without_an_argument_names_what_can_be_listed() {
    let place = scratch();
    let (printed, _) = ends_with(0, place.path(), &["list"]);
    for kind in ["studies", "scenarios", "congestion-controls", "reference"] {
        assert!(printed.lines().any(|line| line.starts_with(kind)), "{kind}: {printed}");
    }
    let (printed, _) = ends_with(0, place.path(), &["list", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert!(found[0]["name"] == "studies" && found[0]["summary"] != "");
}

#[cfg(not(all(target_os = "linux", feature = "kernel-cc")))]
#[test]
fn a_build_without_cc_names_its_feature() {
    let place = scratch();
    for args in [&["cc"][..], &["cc", "load", "--all"], &["cc", "status", "--json"]] {
        let (_, err) = ends_with(2, place.path(), args);
        assert!(err.contains("--features kernel-cc") || !cfg!(target_os = "linux"), "{err}");
    }
}

#[test]
fn only_a_single_run_takes_a_capture() {
    let place = scratch();
    let scenario = common::tiny().display().to_string();
    for command in ["sweep", "check"] {
        let (_, err) = ends_with(2, place.path(), &[command, &scenario, "--pcap"]);
        assert!(err.contains("--pcap"), "{command}: {err}");
    }
    let (_, err) = ends_with(2, place.path(), &["reproduce", "ack-loss", "--pcap"]);
    assert!(err.contains("--pcap"), "reproduce: {err}");
}
