//! Words that results contain: columns of run directories, figures of runs, claims, verdicts,
//! causes of drops.

use crate::outcome::Failure;
use fairwave_lab::metrics::{ABOUT, About};
use fairwave_lab::results::{
    ASSOCIATIONS, DELAY_BINS, DELAYS, DROPS, FLOWS, PAIRS, PATHS, QUEUES, SOC, STATIONS, Table,
    WINDOWS,
};
use fairwave_lab::schema::{self, Figure};
use fairwave_study::Results;
use fairwave_study::map::Word;
use fairwave_trace::DropCause;

/// All that is called `name`: a column (`goodput_bps`, `flows.goodput_bps`), the columns of a table
/// (`flows`), a figure of a run (`jain`, `flow.up.delay_p99_ms`), a claim, the claims of a study, a
/// verdict, a cause of drops. Upper case and hyphens make no difference.
pub(super) fn explain(name: &str) -> Result<Vec<Figure>, Failure> {
    let name = plain(name);
    let mut found: Vec<Figure> = columns();
    found.retain(|figure| is_column(&figure.key, &name));
    found.extend(ABOUT.iter().filter(|figure| figure.is_called(&name)).map(figure));
    found.extend(words().into_iter().filter(|figure| plain(&figure.key) == name));
    for study in fairwave_studies::ALL {
        let claims = study.claims(&Results::default()).map_err(Failure::run)?;
        for claim in
            claims.iter().filter(|claim| plain(claim.id) == name || plain(study.name()) == name)
        {
            found.push(Figure {
                key: claim.id.to_owned(),
                about: about(study.name(), claim),
                unit: None,
            });
        }
    }
    Ok(found)
}

/// A figure of a run, with the options that take its name.
fn figure(figure: &About) -> Figure {
    let takers = "`plot --y`, `compare --metric` and `sweep --csv` have it.";
    Figure {
        key: figure.key(),
        about: format!("{}\n    {takers}", figure.about),
        unit: schema::symbol(figure.name).map(|(_, unit)| unit.to_owned()),
    }
}

/// A name for comparison.
fn plain(name: &str) -> String {
    name.to_lowercase().replace(['-', ' '], "_")
}

/// Whether `key`, such as `flows.goodput_bps`, is called `name`: in full, by its table or by its
/// column. A cause of drops is the end of columns too.
fn is_column(key: &str, name: &str) -> bool {
    let (table, column) = key.split_once('.').unwrap_or((key, ""));
    key == name || table == name || column == name || format!("{table}.parquet") == name
}

/// The statement of a claim, whose it is, and the command that judges it.
fn about(study: &str, claim: &fairwave_study::Claim) -> String {
    let whose = if claim.is_ours { "A question of ours in" } else { "A claim of the paper in" };
    let id = claim.id;
    format!(
        "{}\n    {whose} the study {study}; `fairwave reproduce {study} --map {id}` judges it.",
        claim.statement
    )
}

/// The columns of all tables of a run directory.
fn columns() -> Vec<Figure> {
    [
        of(&FLOWS),
        of(&DELAYS),
        of(&DELAY_BINS),
        of(&PATHS),
        of(&WINDOWS),
        of(&QUEUES),
        of(&STATIONS),
        of(&PAIRS),
        of(&ASSOCIATIONS),
        of(&SOC),
        of(&DROPS),
    ]
    .concat()
}

/// The columns of a table.
fn of<R>(table: &Table<R>) -> Vec<Figure> {
    let name = table.file.trim_end_matches(".parquet");
    let figure = |column: &fairwave_lab::results::Column<R>| Figure {
        key: format!("{name}.{}", column.name),
        about: column.doc.to_owned(),
        unit: schema::symbol(column.name).map(|(_, unit)| unit.to_owned()),
    };
    table.columns.iter().map(figure).collect()
}

/// Verdicts and causes of drops.
fn words() -> Vec<Figure> {
    let figure = |key: &str, about: &str| Figure {
        key: key.to_owned(),
        about: about.to_owned(),
        unit: None,
    };
    let verdicts = Word::ALL.into_iter().map(|word| figure(word.text(), word.about()));
    let single = [
        figure("holds", "All conditions of the claim are met by these runs."),
        figure("does not hold", "At least one condition of the claim is not met by these runs."),
    ];
    let causes = DropCause::ALL.into_iter().map(|cause| figure(cause.name(), cause.about()));
    verdicts.chain(single).chain(causes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that `plot --y`, `compare --metric` and `sweep --csv` have.
    #[test]
    fn figures_of_runs_are_explained() -> Result<(), Failure> {
        for name in ["goodput_mbps", "jain", "starved_flows", "flow.up.delay_p99_ms"] {
            let found = explain(name)?;
            let text = found.iter().map(Figure::text).collect::<String>();
            assert!(text.contains("plot --y"), "{name}: {text}");
        }
        assert!(explain("flow.up.nosuch_ms")?.is_empty());
        Ok(())
    }
}
