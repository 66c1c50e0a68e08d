//! `fairwave matrix`: the kernel's congestion controls over a grid of emulated links.

use super::reproduce_real::STOPS;
use super::{emulate, option, own_program, sweep};
use crate::args::{Common, Matrix};
use crate::outcome::Failure;
use crate::place::Before as PlaceBefore;
use crate::printed::MatrixOutput;
use crate::progress::Progress;
use crate::table::Table;
use crate::{output, place, stop};
use fairwave_emulator::emulation::matrix::{
    Asked, Company, Context, FIGURES, Fault, Findings, Grid, Running,
};
use fairwave_emulator::emulation::{Manner, absent, available_laws, kernel_release, matrix};
use fairwave_lab::points::to_csv;
use fairwave_lab::run::Before;
use fairwave_scenario::plan::{LoadError, Override, Plan};
use fairwave_units::Duration;
use serde_json::json;
use std::path::Path;

/// The default scenario.
const USUAL: (&str, &str) =
    ("kernel-link.toml", include_str!("../../../../scenarios/kernel-link.toml"));

/// Runs the matrix and shows the results.
pub(crate) fn run(common: &Common, asked: &Matrix) -> Result<(), Failure> {
    let (file, base) = load(common, asked)?;
    let laws = laws(&asked.laws, &asked.beside)?;
    let grid = Asked { flow: asked.flow.clone(), laws, companies: asked.beside.clone() };
    let grid = Grid::new(&file, &base, &grid);
    let grid = grid.map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
    fairwave_netns::support().map_err(Failure::run)?;
    // The kernel only lets a process with one thread enter a new user namespace.
    fairwave_netns::become_root_inside().map_err(Failure::run)?;
    let (before, in_place) = match asked.resume {
        true => (Before::Resume, PlaceBefore::Results),
        false => (Before::Rerun, PlaceBefore::Nothing),
    };
    let name = super::stem(Path::new(&file));
    let directory = place::choose_with(common, &format!("matrix-{name}"), in_place)?;
    let stop = stop::on_saying(&stop::SIGNALS, STOPS)?;
    let manner = Manner { realtime: asked.realtime, stop, program: own_program()? };
    let simulate = asked.simulate.then(|| common.jobs().get());
    let running = Running { root: directory.path(), before, simulate, manner };
    if !common.force {
        sweep::refuse_to_replace(running.replaced(&grid), running.root, "matrix")?;
    }
    if !common.json && !common.quiet {
        let (runs, lasts) = running.ahead(&grid.kernel);
        output::note(&format!("runs in real time: {runs}, at least {}", spoken(lasts)));
    }
    let findings = perform(common, &grid, &running)?;
    let mut notes = base.warnings();
    notes.extend(emulate::no_realtime(asked.realtime));
    let context = Context { command: command(), scenario: file.clone(), notes: notes.clone() };
    let page = findings.write(&grid, &context, directory.path()).map_err(Failure::run)?;
    if common.json {
        output::print_json(&json!(MatrixOutput {
            scenario: file,
            directory: directory.path().display().to_string(),
            page: page.display().to_string(),
            kernel: kernel_release(),
            points: &findings.points,
            left_out: &findings.left_out,
            repeated: findings.repeated,
            warnings: notes,
        }))?;
    } else {
        match asked.csv {
            true => output::print_raw(to_csv(&findings.points).as_bytes())?,
            false => {
                let tables = table(&findings) + &left_out(&findings);
                output::print(&format!("{tables}Page: {}\n", page.display()))?;
            }
        }
        notes.iter().for_each(|note| output::warn(note));
    }
    judge(&findings)
}

/// The scenario with the settings of the command line, and its name.
fn load(common: &Common, asked: &Matrix) -> Result<(String, Plan), Failure> {
    let lasts = asked.lasts.map(|lasts| option("--for", lasts, format!("duration={lasts}")));
    let repeat = |seeds| option("--repeat", seeds, format!("sweep.seeds={seeds}"));
    let repeat = asked.repeat.map(repeat);
    let over = asked.over.iter().map(|over| option("--over", over, axis(over)));
    let own: Vec<Override> = lasts.into_iter().chain(repeat).chain(over).collect();
    match &asked.scenario {
        Some(file) => Ok((file.display().to_string(), super::load(common, file, &own)?)),
        None => {
            let (name, text) = USUAL;
            let plan = Plan::parse_with(name, text, &super::settings(common, &own));
            Ok((name.to_owned(), plan.map_err(LoadError::Scenario)?))
        }
    }
}

/// Converts `KEY=VALUE,VALUE` to a setting of an axis. Values that are neither numbers nor booleans
/// become text. Its quotes and escapes are those of JSON, which TOML accepts too.
fn axis(over: &str) -> String {
    // The argument parser has checked that there is an equals sign.
    let (key, values) = over.split_once('=').unwrap_or((over, ""));
    let value = |value: &str| match value.trim() {
        value @ ("true" | "false") => value.to_owned(),
        value => number(value).unwrap_or_else(|| serde_json::Value::from(value).to_string()),
    };
    let values: Vec<String> = values.split(',').map(value).collect();
    format!("sweep.{}=[{}]", key.trim(), values.join(", "))
}

/// A number in TOML's syntax, which does not accept `.5`, `5.` and `05`.
fn number(text: &str) -> Option<String> {
    let whole = text.parse::<i64>().ok().map(|number| number.to_string());
    let real = || text.parse::<f64>().ok().filter(|number| number.is_finite());
    whole.or_else(|| real().map(|number| format!("{number:?}")))
}

/// The algorithms to run.
///
/// # Errors
///
/// Names the algorithms that the kernel lacks, each with a remedy.
fn laws(asked: &[String], companies: &[Company]) -> Result<Vec<String>, Failure> {
    let known = available_laws().map_err(Failure::run)?;
    let beside = companies.iter().filter_map(|company| match company {
        Company::Beside(law) => Some(law),
        Company::Alone | Company::Many(_) => None,
    });
    let wanted: Vec<String> = asked.iter().chain(beside).cloned().collect();
    let lacks = absent(&wanted).map_err(Failure::run)?;
    if !lacks.is_empty() {
        let (known, lacks) = (known.join(", "), lacks.join("; "));
        return Err(Failure::Usage(format!("{lacks}; what it has is {known}")));
    }
    Ok(if asked.is_empty() { known } else { asked.to_vec() })
}

fn perform(common: &Common, grid: &Grid, running: &Running<'_>) -> Result<Findings, Failure> {
    let progress = Progress::new(common);
    let show = |now: matrix::Progress| {
        progress.set(now.passed.as_secs_f64() / now.whole.as_secs_f64());
        progress.say(&format!("{} of {} runs", now.done, now.total));
    };
    matrix::run(grid, running, &show).map_err(|fault: Fault| {
        let out = output::quoted(&running.root.display().to_string());
        let resume = format!("--out {out} --resume goes on");
        Failure::Run(format!("{fault}; {resume}"))
    })
}

/// The command line as the user typed it.
fn command() -> String {
    let arguments = std::env::args().skip(1).map(|argument| output::quoted(&argument));
    ["fairwave".to_owned()].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

/// A time in words.
fn spoken(time: Duration) -> String {
    let seconds = time.as_nanos().div_ceil(1_000_000_000);
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// The means of each point. Figures without any measurement have no column, and a matrix with one
/// run of each point has no intervals.
fn table(findings: &Findings) -> String {
    let points = &findings.points;
    let estimates = |name: &str| points.iter().filter_map(|p| p.metric(name)).collect::<Vec<_>>();
    let figures = FIGURES.iter().filter(|figure| !estimates(figure.name).is_empty());
    let figures: Vec<_> = figures.collect();
    let has_intervals = points.iter().any(|point| point.seeds.len() > 1);
    let (columns, title) = match has_intervals {
        true => (2, "Means with 95 % intervals"),
        false => (1, "One run of each point"),
    };
    let axes = points.first().map(|point| point.axes.iter());
    let keys = axes.into_iter().flatten().map(|(key, _)| key.rsplit('.').next().unwrap_or(key));
    let named = figures.iter().flat_map(|figure| [figure.head, "+-"].into_iter().take(columns));
    let heads: Vec<&str> = keys.chain(["runs"]).chain(named).collect();
    let mut table = Table::new(title, &heads);
    for point in points {
        let axes = point.axes.iter().map(|(_, value)| value.clone());
        let runs = [point.seeds.len().to_string()];
        let cells = figures.iter().flat_map(|figure| {
            sweep::cells(point, figure.name, figure.digits).into_iter().take(columns)
        });
        table.row(axes.chain(runs).chain(cells).collect());
    }
    table.render()
}

fn left_out(findings: &Findings) -> String {
    let mut table =
        Table::new("Runs that were late twice and do not count", &["point", "seed", "why"]);
    for left in &findings.left_out {
        table.row(vec![left.point.clone(), left.seed.to_string(), left.why.clone()]);
    }
    table.render()
}

/// The exit status of the command.
fn judge(findings: &Findings) -> Result<(), Failure> {
    let Some(first) = findings.left_out.first() else { return Ok(()) };
    let (runs, why) = (findings.left_out.len(), &first.why);
    let at = format!("{}, seed {}", first.point, first.seed);
    Err(Failure::Late(format!("late twice, and not counted: {runs} of the runs; at {at}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_the_command_line_is_one_of_a_sweep() {
        assert_eq!(axis("link.w.rate=5 Mbps, 1 Gbps"), r#"sweep.link.w.rate=["5 Mbps", "1 Gbps"]"#);
        assert_eq!(axis("link.w.loss=0,0.01"), "sweep.link.w.loss=[0, 0.01]");
        assert_eq!(axis("a=.5,5.,05,+7,-0.25"), "sweep.a=[0.5, 5.0, 5, 7, -0.25]");
        assert_eq!(axis("a=1e300,1_0"), r#"sweep.a=[1e300, "1_0"]"#);
        assert_eq!(axis("a=nan"), r#"sweep.a=["nan"]"#);
    }

    #[test]
    fn times_are_told_in_minutes_and_whole_seconds() {
        assert_eq!(spoken(Duration::from_millis(4_100)), "5 s");
        assert_eq!(spoken(Duration::from_secs(130)), "2 min 10 s");
    }

    /// The tests' user may or may not have the permission; the test holds in both cases.
    #[test]
    fn a_priority_that_was_not_given_is_told() {
        assert_eq!(emulate::no_realtime(false), None);
        let is_refused = fairwave_linux::may_become_realtime().is_err();
        assert_eq!(emulate::no_realtime(true).is_some(), is_refused);
    }

    #[test]
    fn laws_that_nobody_has_are_named_with_what_to_do() {
        let names = ["fw_nobodys", "reno", "nobodys"].map(str::to_owned);
        let Err(Failure::Usage(text)) = laws(&names, &[]) else { panic!("they are refused") };
        assert!(text.contains("`fairwave cc load fw_nobodys`"), "{text}");
        assert!(
            text.contains("`modprobe tcp_nobodys`") && text.contains("what it has is"),
            "{text}"
        );
    }
}
