//! Plain prose of comments, literals and pages: how sentences open, and words that the field has
//! better ones for.

use super::links::pages_below;
use super::literals::literals;
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
/// Characters of each that it shows.
const SHOWN_CHARS: usize = 200;
/// Minimum length of a text that counts; shorter ones are names.
const MIN_WORDS: usize = 3;

/// Maximum shares of one kind of text in the whole tree: a little over those measured when they
/// were last lowered. They are never raised.
struct Limits {
    /// Texts that open with a clause.
    opens_percent: f64,
    vague_per_1000: f64,
    homely_per_1000: f64,
}

const COMMENTS: Limits = Limits { opens_percent: 0.4, vague_per_1000: 0.8, homely_per_1000: 0.3 };
/// Messages, helps and texts of figures. Most of their share is in claims of studies, whose words
/// the pages of results repeat.
const LITERALS: Limits = Limits { opens_percent: 1.6, vague_per_1000: 3.8, homely_per_1000: 0.8 };
/// The manual.
const PAGES: Limits = Limits { opens_percent: 1.1, vague_per_1000: 1.1, homely_per_1000: 0.2 };

/// A text of one file with the line at which it begins.
type Text<'a> = (&'a Source, usize, String);

/// Counts over texts.
#[derive(Debug, Default)]
struct Count {
    texts: usize,
    words: usize,
    opens: usize,
    vague: usize,
    homely: usize,
    worst: Vec<Finding>,
}

/// Consecutive lines of prose as one text each, with the line that it begins at. Headings and rows
/// of tables are none.
fn joined<'a>(lines: impl Iterator<Item = (usize, Option<&'a str>)>) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, text) in lines {
        let text = text.map(str::trim);
        let text = text.filter(|text| !text.is_empty() && !text.starts_with(['#', '|']));
        match text {
            Some(text) if open => {
                let (_, block) = found.last_mut().expect("a block is open");
                block.push(' ');
                block.push_str(text);
            }
            Some(text) => found.push((at, text.to_owned())),
            None => {}
        }
        open = text.is_some();
    }
    found
}

/// Doc comments of a file.
fn comments(source: &Source) -> Vec<(usize, String)> {
    joined(source.lines().map(|(at, line)| {
        let marks = ["///", "//!"];
        (at, marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark)))
    }))
}

/// Paragraphs of a page, without code.
fn paragraphs(page: &Source) -> Vec<(usize, String)> {
    let mut is_code = false;
    joined(page.lines().map(|(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (at, Some(line).filter(|_| !is_code && !is_fence))
    }))
}

/// The words of a text in lower case, without code between backquotes and values in braces.
fn words(text: &str) -> Vec<String> {
    let prose = text.split('`').step_by(2).collect::<Vec<_>>().join(" ").replace("\\n", " ");
    let parts = prose.split('{').map(|part| part.split_once('}').map_or(part, |(_, after)| after));
    let apart = |c: char| !c.is_alphabetic() && c != '\'';
    let words: Vec<&str> = parts.flat_map(|part| part.split(apart)).collect();
    words.into_iter().filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn count<'a>(texts: impl Iterator<Item = Text<'a>>) -> Count {
    let mut all = Count::default();
    for (source, at, text) in texts {
        let words = words(&text);
        if words.len() < MIN_WORDS {
            continue;
        }
        let of = |list: &[&str]| words.iter().filter(|word| list.contains(&word.as_str())).count();
        let (vague, homely) = (of(&VAGUE), of(&HOMELY));
        let opens = CLAUSES.contains(&words[0].as_str());
        all.texts += 1;
        all.words += words.len();
        all.opens += usize::from(opens);
        all.vague += vague;
        all.homely += homely;
        if usize::from(opens) + vague + homely > 1 {
            all.worst.push(source.finding(at, text.chars().take(SHOWN_CHARS).collect::<String>()));
        }
    }
    all
}

/// Measures over their limits, with the sentences to rewrite first.
fn over(count: &Count, kind: &str, limits: &Limits) -> Vec<Finding> {
    let per_1000 = |part: usize| 1e3 * part as f64 / count.words.max(1) as f64;
    let opens = 1e2 * count.opens as f64 / count.texts.max(1) as f64;
    let measures = [
        ("that open with a clause, %", opens, limits.opens_percent),
        ("what and who in 1,000 words", per_1000(count.vague), limits.vague_per_1000),
        ("homely words in 1,000", per_1000(count.homely), limits.homely_per_1000),
    ];
    let tree = Source::new(kind, "");
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

/// Counts the texts that `find` has in each of `sources`.
fn counted(sources: &[Source], find: fn(&Source) -> Vec<(usize, String)>) -> Count {
    let product = sources.iter().filter(|source| !source.is_test());
    count(
        product
            .flat_map(|source| find(source).into_iter().map(move |(at, text)| (source, at, text))),
    )
}

#[test]
fn comments_literals_and_pages_are_plain() {
    let sources = sources();
    let pages: Vec<Source> = pages_below("docs").iter().map(|page| Source::read(page)).collect();
    let findings = [
        over(&counted(&sources, comments), "doc comments", &COMMENTS),
        over(&counted(&sources, literals), "string literals", &LITERALS),
        over(&counted(&pages, paragraphs), "docs/*.md", &PAGES),
    ];
    demand(
        "texts open with a noun or a verb, and use the field's words",
        "rewrite the sentences listed: find the noun (options, inputs, reports, events, errors)",
        &findings.concat(),
    );
}

#[test]
fn clauses_and_homely_words_are_counted() {
    let text = "/// What the sender was told.\nfn a() {}\n/// Returns the window in bytes.\n\
                fn b() {}\n// Nobody counts this.\n/// `what`\nfn c() {}\n";
    let count = counted(&[Source::new("crates/a/src/lib.rs", text)], comments);
    assert_eq!((count.texts, count.opens, count.vague, count.homely), (2, 1, 1, 1));
    assert_eq!(count.worst.len(), 1);
    let findings = over(&count, "doc comments", &COMMENTS);
    assert_eq!(findings.len(), 4, "three measures and a sentence: {findings:?}");
}

#[test]
fn words_of_literals_and_paragraphs_are_counted() {
    let text = "fn a() { bail!(\"nobody heard of {what} \\n there\") }\n";
    let count = counted(&[Source::new("crates/a/src/lib.rs", text)], literals);
    assert_eq!((count.words, count.vague, count.homely), (4, 0, 2));
    let page =
        "# Who heads this\n\nSomebody waits\nfor what comes.\n\n```\nwho knows it all\n```\n";
    let count = counted(&[Source::new("docs/a.md", page)], paragraphs);
    assert_eq!((count.texts, count.words, count.vague, count.homely), (1, 5, 1, 1));
}
