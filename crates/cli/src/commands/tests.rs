//! Tests that the command line is consistent, and that every example in the help and the documents
//! parses.

use super::*;
use crate::args::assignment;
use fairwave_scenario::plan::Plan;
use std::path::Path;

/// The directory that contains documents and scenarios.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");

/// Splits as a shell would, as far as the examples need it: blanks, quotes, comments.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => words.last_mut().expect("never empty").push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') => break,
            (None, ' ') => words.push(String::new()),
            (None, _) => words.last_mut().expect("never empty").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Number of runs that a scenario of the repository makes with these settings.
fn runs(common: &Common, scenario: &Path) -> usize {
    let file = Path::new(ROOT).join(scenario);
    let plan = Plan::load(&file, &common.set).unwrap_or_else(|error| panic!("{error}"));
    if common.seed.is_some() { plan.points.len() } else { plan.jobs().len() }
}

/// Parses every example in the text. Returns their number.
fn parse_examples(place: &str, text: &str) -> usize {
    let commands = text.lines().map(str::trim).filter_map(|line| {
        let arguments = line.strip_prefix("cargo run --release -- ");
        arguments.or_else(|| line.strip_prefix("fairwave ")).map(|arguments| (line, arguments))
    });
    let mut count = 0;
    for (line, arguments) in commands {
        let full = words(&format!("fairwave {arguments}"));
        let (cli, _) =
            read(full).unwrap_or_else(|error| panic!("{place}: `{line}` does not parse: {error}"));
        if let Command::Run(run::Run { scenario: Some(scenario), .. }) = &cli.command {
            assert_eq!(runs(&cli.common, scenario), 1, "{place}: `{line}` is a sweep");
        }
        count += 1;
    }
    count
}

#[test]
fn the_definition_is_consistent() {
    definition().debug_assert();
}

#[test]
fn examples_of_the_help_parse() {
    let mut command = definition();
    assert!(parse_examples("fairwave", &command.render_long_help().to_string()) >= 5);
    for name in ["run", "sweep", "reproduce", "check"] {
        let help = command.find_subcommand_mut(name).expect("it exists").render_help();
        assert!(parse_examples(name, &help.to_string()) >= 2, "{name} shows no example");
    }
}

#[test]
fn examples_of_the_documents_parse() {
    for (name, min) in [("README.md", 5), ("CONTRIBUTING.md", 0), ("results/validation.md", 0)] {
        let text = std::fs::read_to_string(format!("{ROOT}{name}")).expect(name);
        let fenced = text.split("```").skip(1).step_by(2).collect::<String>();
        let count = parse_examples(name, &fenced);
        assert!(count >= min, "{name} shows {count} commands only");
    }
}

#[test]
#[should_panic(expected = "does not parse")]
fn a_wrong_example_is_found() {
    parse_examples("nowhere", "fairwave fly");
}

#[test]
fn exit_codes_stand_in_short_and_long_help() {
    let mut command = definition();
    for help in [command.render_help(), command.render_long_help()] {
        assert!(help.to_string().contains("3  with --strict"), "{help}");
    }
}

#[test]
fn options_are_accepted_before_and_after_the_command() {
    for line in ["fairwave --json --jobs 2 sweep s.toml", "fairwave sweep s.toml --json -j 2"] {
        let (cli, _) = read(words(line)).expect(line);
        assert!(cli.common.json);
        assert_eq!(cli.common.jobs().get(), 2);
    }
}

#[test]
fn assignments_need_a_key() {
    assert_eq!(assignment("duration=20 s"), Ok("duration=20 s".to_owned()));
    assert!(assignment("duration").is_err());
    assert!(assignment("=20 s").is_err());
    assert!(read(["fairwave", "sweep", "s", "--jobs", "0"]).is_err());
}

#[test]
fn the_quick_form_is_the_default_and_is_not_the_full_one() {
    let is_quick = |line: &str| match read(words(line)).map(|(cli, _)| cli.command) {
        Ok(Command::Reproduce(args)) => Some(args.is_quick()),
        _ => None,
    };
    assert_eq!(is_quick("fairwave reproduce ack-loss"), Some(true));
    assert_eq!(is_quick("fairwave reproduce ack-loss --quick"), Some(true));
    assert_eq!(is_quick("fairwave reproduce ack-loss --full"), Some(false));
    assert_eq!(is_quick("fairwave reproduce ack-loss --quick --full"), None);
}

#[test]
fn an_option_acts_or_is_an_error() {
    let idle = |line: &str| {
        let (cli, command) = read(words(line)).expect(line);
        cli.idle_option(&command)
    };
    assert_eq!(idle("fairwave run s.toml --seed 3 --out d --set a=b --json"), None);
    assert_eq!(idle("fairwave run s.toml --jobs 2"), Some("jobs"));
    assert_eq!(idle("fairwave reproduce ack-loss --seed 3"), Some("seed"));
    assert_eq!(idle("fairwave reproduce ack-loss --set a=b"), Some("set"));
    assert_eq!(idle("fairwave reproduce ack-loss --full --from d --markdown --out e"), None);
    assert_eq!(idle("fairwave completions bash --json"), Some("json"));
    assert_eq!(idle("fairwave check s.toml --out d"), Some("out"));
    assert_eq!(idle("fairwave list studies --force"), Some("force"));
    // A merge never replaces a run.
    assert_eq!(idle("fairwave merge part --out whole --force"), Some("force"));
    // Subcommands have their command's options, or their own.
    if cfg!(target_os = "linux") {
        assert_eq!(idle("fairwave --json probe serve"), None);
        assert_eq!(idle("fairwave probe host --out d"), None);
        assert_eq!(idle("fairwave fairness --compare a b --out d"), Some("out"));
        assert_eq!(idle("fairwave fairness run host --json --out d"), None);
        assert_eq!(idle("fairwave soc status --json"), None);
        assert_eq!(idle("fairwave soc status --seed 3"), Some("seed"));
    }
}

/// Checks that the help of a command lists exactly the common options that have an effect on it.
#[test]
fn a_help_shows_no_option_that_would_be_refused() {
    let mut command = definition();
    let help = |command: &mut clap::Command| command.render_help().to_string();
    for subcommand in command.get_subcommands_mut().filter(|one| !one.is_hide_set()) {
        assert!(help(subcommand).contains("--quiet"), "{}", subcommand.get_name());
    }
    let sweep = help(command.find_subcommand_mut("sweep").expect("it exists"));
    assert!(
        ["--json", "--seed", "--jobs", "--out", "--force", "--set"]
            .iter()
            .all(|option| { sweep.contains(option) })
    );
    let list = help(command.find_subcommand_mut("list").expect("it exists"));
    assert!(list.contains("--json") && !list.contains("--seed") && !list.contains("--out"));
    let trace = help(command.find_subcommand_mut("trace").expect("it exists"));
    assert!(trace.contains("Also write the results") && !trace.contains("--jobs"), "{trace}");
}

#[cfg(target_os = "linux")]
fn explained(key: &str) -> Option<Vec<fairwave_lab::schema::Figure>> {
    explain::figures(key, &schemas())
}

#[test]
#[cfg(target_os = "linux")]
fn a_figure_is_explained_with_what_is_within() {
    let keys = |key: &str| -> Vec<String> {
        explained(key).into_iter().flatten().map(|figure| figure.key).collect()
    };
    let within = ["probe.loss", "probe.loss.down", "probe.loss.round_trip", "probe.loss.up"];
    let mut loss = keys("probe.loss");
    loss.sort();
    assert_eq!(loss, within);
    assert!(keys("probe").contains(&"probe.buffer.packets.low".to_owned()));
    assert!(keys("probe.loss.u").is_empty() && keys("probing").is_empty());
    let all = explained("probe").unwrap_or_default();
    assert!(all.iter().all(|figure| !figure.about.is_empty()), "{all:?}");
    let drain = explained("probe.drain_mbps").and_then(|found| found.into_iter().next());
    assert_eq!(drain.and_then(|drain| drain.unit).as_deref(), Some("megabits per second"));
}

#[test]
#[cfg(target_os = "linux")]
fn every_figure_of_each_command_has_a_sentence() {
    let has = |root: &str, key: &str| {
        let all = explained(root).unwrap_or_default();
        assert!(all.iter().all(|figure| !figure.about.is_empty()), "{all:?}");
        all.iter().any(|figure| figure.key == key)
    };
    assert!(has("fairness", "fairness.summary.stations.achievement"));
    assert!(has("fairness", "fairness.record.repetitions.stations.radio.signal_dbm"));
    assert!(has("proxy", "proxy.refused.busy"));
    assert!(has("soc", "soc.stations.soc_db"));
    assert!(explained("fair").is_none() && explained("").is_none());
}
