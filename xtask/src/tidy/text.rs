//! Rules about lines: width, openings, words, and calls that only higher layers may make.

use super::{Finding, Source, demand, over_sources};

/// Maximum length of a line, in characters.
const COLUMNS: usize = 100;
/// Crates in the layers from `scenario` upwards, the hosts of real kernels, and tools: they may
/// access files and the clock.
const UPPER: [&str; 11] = [
    "benches/",
    "crates/hosts/bpf/",
    "crates/hosts/console/",
    "crates/hosts/linux/",
    "crates/hosts/netns/",
    "crates/hosts/sockets/",
    "crates/tools/",
    "crates/lab/",
    "crates/cli/",
    "crates/python/",
    "xtask/",
];
/// The files for system calls that no crate offers in a safe form, one for each host, and the names
/// that JavaScript calls. The compiler forbids exempt code elsewhere, and clippy requires a reason
/// for each block here.
const SYSTEM_CALLS: [&str; 5] = [
    "crates/hosts/bpf/src/kernel.rs",
    "crates/hosts/linux/src/kernel.rs",
    "crates/hosts/linux/src/kernel/datagrams.rs",
    "crates/hosts/linux/src/kernel/tagged.rs",
    "crates/wasm/src/exports.rs",
];
/// Names that the layers below `lab` may not use.
const HOST_CALLS: [&str; 8] = [
    "std::fs",
    "std::process",
    "std::net::Tcp",
    "std::net::Udp",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::time::{",
    "std::io::std",
];

fn opening(source: &Source) -> Vec<Finding> {
    let starts = source.text.trim_start().starts_with("//!");
    if starts { Vec::new() } else { vec![source.finding(1, "no `//!` at the top")] }
}

fn width(source: &Source) -> Vec<Finding> {
    let wide = source.lines().filter(|(_, line)| line.chars().count() > COLUMNS);
    wide.map(|(at, line)| source.finding(at, format!("{} columns", line.chars().count()))).collect()
}

fn marks(source: &Source) -> Vec<Finding> {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let marked = |line: &str| {
        let found = words.iter().find(|word| has_word(line, word))?;
        let issue = line.split_once("issue ").map_or("", |(_, after)| after);
        (!issue.starts_with(|c: char| c.is_ascii_digit())).then_some(*found)
    };
    source
        .lines()
        .filter_map(|(at, line)| Some(source.finding(at, format!("`{}`", marked(line)?))))
        .collect()
}

fn unsafety(source: &Source) -> Vec<Finding> {
    if SYSTEM_CALLS.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let word = concat!("un", "safe");
    let code = source.lines().filter(|(_, line)| !line.trim_start().starts_with("//"));
    // A word of HTTP's content security policy, in which scripts within a page are named so.
    let policy = format!("'{word}-inline'");
    let used = code.filter(|(_, line)| has_word(&line.replace(&policy, ""), word));
    used.map(|(at, _)| source.finding(at, format!("`{word}`"))).collect()
}

fn host_calls(source: &Source) -> Vec<Finding> {
    if UPPER.iter().any(|upper| source.path.starts_with(upper)) || source.path.starts_with("fuzz") {
        return Vec::new();
    }
    let code =
        source.product_lines().into_iter().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter_map(|(at, line)| {
        let call = HOST_CALLS.iter().find(|call| line.contains(*call))?;
        Some(source.finding(at, format!("`{call}`")))
    })
    .collect()
}

/// Floating point in congestion control. A kernel has none either, and every bit of a window must
/// be the same on any platform.
fn reals(source: &Source) -> Vec<Finding> {
    if !source.path.starts_with("crates/protocols/cc/src/") {
        return Vec::new();
    }
    let code =
        source.product_lines().into_iter().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter_map(|(at, line)| {
        let real = ["f32", "f64"].into_iter().find(|real| line.contains(real))?;
        Some(source.finding(at, format!("`{real}`")))
    })
    .collect()
}

/// Whether `word` occurs in `line`, but not inside a longer word.
fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
    })
}

#[test]
fn every_module_opens_with_its_purpose() {
    demand(
        "every Rust file opens with a `//!` comment",
        "say in a sentence what the module is for",
        &over_sources(opening),
    );
}

#[test]
fn an_opening_can_be_missing() {
    assert_eq!(opening(&Source::new("a.rs", "use x;\n//! late\n"))[0].line, 1);
    assert_eq!(opening(&Source::new("a.rs", "//! In time.\n")), []);
}

#[test]
fn lines_fit_100_columns() {
    demand(
        "no line is longer than 100 columns",
        "break it; `cargo fmt` does most",
        &over_sources(width),
    );
}

#[test]
fn a_line_can_be_too_long() {
    let text = format!("{}\n{}", "x".repeat(COLUMNS), "é".repeat(COLUMNS + 1));
    let findings = width(&Source::new("a.rs", &text));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].line, 2);
}

#[test]
fn unfinished_work_names_its_issue() {
    demand(
        "a mark of unfinished work names its issue",
        "write `issue N` beside it, or finish it",
        &over_sources(marks),
    );
}

#[test]
fn a_mark_can_lack_its_issue() {
    let word = concat!("TO", "DO");
    let text = format!("// {word}: later\n// {word} (issue 7): later\n// {word}LIST\n");
    let findings = marks(&Source::new("a.rs", &text));
    assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1]);
}

#[test]
fn no_code_is_marked_as_exempt_from_the_compilers_proofs() {
    demand(
        concat!("no `un", "safe` code"),
        "find a safe way, or a crate that has one",
        &over_sources(unsafety),
    );
}

#[test]
fn exempt_code_is_found() {
    let word = concat!("un", "safe");
    let text = format!(
        "#![forbid({word}_code)]\n// {word}\nlet x = {word} {{ y() }};\n\
         let p = \"style '{word}-inline'\";\n"
    );
    let findings = unsafety(&Source::new("a.rs", &text));
    assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [3]);
    assert_eq!(unsafety(&Source::new(SYSTEM_CALLS[0], &text)), []);
}

#[test]
fn only_lab_and_the_doors_touch_files_clocks_and_sockets() {
    demand(
        "crates below `lab` name no file, process, socket or clock",
        "take the value as an argument; a core is told the time",
        &over_sources(host_calls),
    );
}

#[test]
fn a_call_to_the_host_is_found() {
    let text = "use std::fs;\nuse std::net::Ipv4Addr;\nlet t = std::time::Instant::now();\n";
    let below = host_calls(&Source::new("crates/protocols/tcp/src/a.rs", text));
    assert_eq!(below.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(host_calls(&Source::new("crates/lab/lab/src/a.rs", text)), []);
}

#[test]
fn congestion_control_computes_with_integers() {
    demand(
        "no floating point in `crates/protocols/cc`",
        "write a gain as a ratio of integers, and take powers and roots of integers",
        &over_sources(reals),
    );
}

#[test]
fn a_real_number_in_a_law_is_found() {
    let text = "/// An f64 in words.\nlet gain = 2.885_f64;\nlet t = now.as_secs_f64();\n\
        #[cfg(test)]\nmod tests {\n    let p = 0.5_f32;\n}\n";
    let findings = reals(&Source::new("crates/protocols/cc/src/a.rs", text));
    assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(reals(&Source::new("crates/hosts/sim/src/a.rs", text)), []);
}
