//! Plain prose: how comments open, and words that the field has better ones for.

use super::{Finding, Source, demand, sources};

/// First words of a clause that stands where a noun or a verb should.
const CLAUSES: [&str; 10] =
    ["what", "who", "whom", "whose", "those", "how", "where", "when", "which", "why"];
/// Words that stand for a thing instead of its name.
const VAGUE: [&str; 3] = ["what", "who", "whom"];
/// Words of daily life where the field has a term.
const HOMELY: [&str; 16] = [
    "told",
    "tells",
    "heard",
    "hears",
    "said",
    "flies",
    "flown",
    "mend",
    "mended",
    "reckon",
    "reckons",
    "news",
    "nobody",
    "somebody",
    "somewhere",
    "lately",
];
/// Sentences that a failure shows.
const SHOWN: usize = 20;

/// Maximum shares in the whole tree: those measured when the limits were last lowered. They are
/// lowered with every crate that is rewritten, and never raised.
const MAX_OPENS_PERCENT: f64 = 5.5;
const MAX_VAGUE_PER_1000: f64 = 5.8;
const MAX_HOMELY_PER_1000: f64 = 1.5;

/// Counts over comments.
#[derive(Debug, Default)]
struct Count {
    blocks: usize,
    words: usize,
    opens: usize,
    vague: usize,
    homely: usize,
    worst: Vec<Finding>,
}

/// Comment blocks of a file with the line that each begins at: consecutive lines of one kind.
fn blocks(source: &Source) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in source.lines() {
        let text = ["///", "//!"].iter().find_map(|mark| line.trim_start().strip_prefix(mark));
        match text.map(str::trim).filter(|text| !text.is_empty() && !text.starts_with(['#', '|'])) {
            Some(text) if open => {
                let (_, block) = found.last_mut().expect("a block is open");
                block.push(' ');
                block.push_str(text);
            }
            Some(text) => found.push((at, text.to_owned())),
            None => {}
        }
        open = text.is_some_and(|text| !text.trim().is_empty());
    }
    found
}

/// The words of a text in lower case, without code between backquotes.
fn words(text: &str) -> Vec<String> {
    let prose = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let apart = |c: char| !c.is_alphabetic() && c != '\'';
    prose.split(apart).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn count(sources: &[Source]) -> Count {
    let mut all = Count::default();
    let product = sources.iter().filter(|source| !source.is_test());
    for (source, (at, text)) in product.flat_map(|s| blocks(s).into_iter().map(move |b| (s, b))) {
        let words = words(&text);
        if words.len() < 3 {
            continue;
        }
        let of = |list: &[&str]| words.iter().filter(|word| list.contains(&word.as_str())).count();
        let (vague, homely) = (of(&VAGUE), of(&HOMELY));
        let opens = CLAUSES.contains(&words[0].as_str());
        all.blocks += 1;
        all.words += words.len();
        all.opens += usize::from(opens);
        all.vague += vague;
        all.homely += homely;
        if usize::from(opens) + vague + homely > 1 {
            all.worst.push(source.finding(at, text));
        }
    }
    all
}

/// Measures over their limits, with the sentences to rewrite first.
fn over(count: &Count) -> Vec<Finding> {
    let per_1000 = |part: usize| 1e3 * part as f64 / count.words.max(1) as f64;
    let opens = 1e2 * count.opens as f64 / count.blocks.max(1) as f64;
    let measures = [
        ("doc comments that open with a clause, %", opens, MAX_OPENS_PERCENT),
        ("what and who in 1,000 words", per_1000(count.vague), MAX_VAGUE_PER_1000),
        ("homely words in 1,000", per_1000(count.homely), MAX_HOMELY_PER_1000),
    ];
    let tree = Source::new("crates, benches, xtask, fuzz", "");
    let mut findings: Vec<Finding> = measures
        .into_iter()
        .filter(|(_, value, max)| value > max)
        .map(|(name, value, max)| tree.finding(0, format!("{name}: {value:.2}, over {max}")))
        .collect();
    if !findings.is_empty() {
        findings.extend(count.worst.iter().take(SHOWN).cloned());
    }
    findings
}

#[test]
fn comments_are_plain() {
    demand(
        "comments open with a noun or a verb, and use the field's words",
        "rewrite the sentences listed: find the noun (options, inputs, reports, events, errors)",
        &over(&count(&sources())),
    );
}

#[test]
fn clauses_and_homely_words_are_counted() {
    let text = "/// What the sender was told.\nfn a() {}\n/// Returns the window in bytes.\n\
                fn b() {}\n// Nobody counts this.\n/// `what`\nfn c() {}\n";
    let count = count(&[Source::new("crates/a/src/lib.rs", text)]);
    assert_eq!((count.blocks, count.opens, count.vague, count.homely), (2, 1, 1, 1));
    assert_eq!(count.worst.len(), 1);
}
