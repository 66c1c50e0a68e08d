//! Verdicts on the claims of papers, read from the pages of the studies in `results/studies`.

use serde::Serialize;

/// The verdict on a claim of a paper, over the set-ups that the paper leaves open.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Claim<'a> {
    id: &'a str,
    verdict: &'a str,
    /// Number of set-ups in which it holds.
    setups: &'a str,
    /// Conditions under which it holds.
    #[serde(rename = "where")]
    place: &'a str,
    statement: &'a str,
}

/// The rows of the table below the heading `Claims` in a study's page.
pub(super) fn of(page: &str) -> Vec<Claim<'_>> {
    let lines = page.lines().skip_while(|line| *line != "## Claims").skip(1);
    let section = lines.take_while(|line| !line.starts_with("## "));
    section.filter_map(row).collect()
}

fn row(line: &str) -> Option<Claim<'_>> {
    let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
    let [id, verdict, setups, place, _own, statement, ""] = cells[..] else { return None };
    let is_row = id.contains('-') && !id.starts_with('-');
    is_row.then_some(Claim { id, verdict, setups, place, statement })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_those_of_the_paper_alone() {
        let page = "# Study\n\n## Claims\n\n\
                    | Claim | Verdict | Set-ups | Where | Own | Statement |\n\
                    |---|---|---|---|---|---|\n\
                    | A-1 | robust | all | there | holds | it works |\n\n\
                    ## Questions of ours\n\n| A-X1 | nowhere | none | | no | it does not |\n";
        let (id, verdict, setups) = ("A-1", "robust", "all");
        let (place, statement) = ("there", "it works");
        assert_eq!(of(page), [Claim { id, verdict, setups, place, statement }]);
    }
}
