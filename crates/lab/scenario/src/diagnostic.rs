//! An error in a scenario with its place: one value for people and programs.

use crate::nearest::nearest;
use core::fmt;
use core::ops::Range;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Place in [`Sources`], in bytes.
pub(crate) type Span = Range<usize>;

/// Reports beyond this many are not made: the first ones have the cause.
const MAX: usize = 20;
/// Characters of a line of the file that are shown.
const MAX_SHOWN: usize = 160;
/// Characters before the place, where a line is cut.
const MAX_BEFORE: usize = 60;
/// Characters of a message, a key or the name of a file.
const MAX_TEXT: usize = 400;

/// One thing that is wrong in a scenario file or a `--set` argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diagnostic {
    /// The file, or the `--set` argument.
    pub file: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the column in characters, from 1.
    pub column: usize,
    /// The key it is about, dotted: `node.sta.count`.
    pub key: String,
    /// Description of the error.
    pub message: String,
    /// Values accepted in this place, where they can be listed.
    pub accepted: Vec<String>,
    /// The accepted word nearest to the written one.
    pub nearest: Option<String>,
    /// Advice for a fix.
    pub help: Option<String>,
    /// The line as written; of a long one the part around the place.
    pub source_line: String,
    /// Characters of `source_line` before the place.
    pub indent: usize,
    /// Number of characters of the line that the error covers.
    pub width: usize,
}

/// Everything that was found wrong, in the order of the file; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl core::error::Error for Diagnostics {}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n\n" };
            write!(f, "{separator}{diagnostic}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostic {
    /// The message with the place as rustc prints it, without a newline at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, .. } = self;
        let [file, key, message] = [&self.file, &self.key, &self.message].map(|t| printable(t));
        write!(f, "{file}:{line}:{column}: {key}: {message}")?;
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean {nearest:?}?")?;
        }
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        // A tab counts as one column, so that the caret stands right in any terminal.
        let source = printable(&self.source_line);
        let indent = " ".repeat(self.indent);
        write!(f, "\n{margin} |\n{number} | {source}\n{margin} | {indent}")?;
        f.write_str(&"^".repeat(self.width))?;
        if !self.accepted.is_empty() {
            write!(f, "\n{margin} = accepted here: {}", self.accepted.join(", "))?;
        }
        match &self.help {
            Some(help) => write!(f, "\n{margin} = help: {}", printable(help)),
            None => Ok(()),
        }
    }
}

/// A diagnostic whose place is still a span.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) span: Span,
    pub(crate) key: String,
    pub(crate) refusal: Refusal,
}

impl Problem {
    /// For where there is no file to point into.
    pub(crate) fn in_one_line(&self) -> String {
        let More { accepted, nearest, help, .. } = &*self.refusal.more;
        let mut line = format!("{}: {}", cut(&self.key), cut(&self.refusal.message));
        if let Some(nearest) = nearest {
            line.push_str(&format!("; did you mean {nearest:?}?"));
        }
        if !accepted.is_empty() {
            line.push_str(&format!("; accepted here: {}", cut(&accepted.join(", "))));
        }
        if let Some(help) = help {
            line.push_str(&format!("; help: {}", cut(help)));
        }
        printable(&line)
    }
}

/// Reason for which a value is refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) more: Box<More>,
}

/// The rest of a refusal, apart so that a `Result` with one stays small.
#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    accepted: Vec<String>,
    nearest: Option<String>,
    pub(crate) help: Option<String>,
    /// Place in the value, if the error is not about all of it: place and key.
    pub(crate) inside: Option<(Span, String)>,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), more: Box::default() }
    }

    /// Adds the accepted words, and the one that `written` may have meant.
    pub(crate) fn among<S: AsRef<str>>(mut self, written: &str, accepted: &[S]) -> Self {
        self.more.accepted = accepted.iter().map(|s| s.as_ref().to_owned()).collect();
        self.more.nearest = nearest(written, &self.more.accepted);
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.more.help = Some(help.into());
        self
    }
}

/// The texts that spans point into, laid end to end: the file first, then each argument.
#[derive(Clone, Debug)]
pub(crate) struct Sources(Vec<Source>);

#[derive(Clone, Debug)]
struct Source {
    name: String,
    base: usize,
    text: String,
}

impl Sources {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self(vec![Source { name: name.to_owned(), base: 0, text: text.to_owned() }])
    }

    /// Path of the scenario file.
    pub(crate) fn directory(&self) -> PathBuf {
        let file = self.0.first().map_or("", |source| &source.name);
        Path::new(file).parent().map_or_else(PathBuf::new, Path::to_owned)
    }

    /// Adds a text and says by how much its spans must be shifted.
    pub(crate) fn add(&mut self, name: &str, text: &str) -> usize {
        let base = self.0.last().map_or(0, |s| s.base + s.text.len() + 1);
        self.0.push(Source { name: name.to_owned(), base, text: text.to_owned() });
        base
    }

    /// Gives every problem its place, in the order of the texts.
    pub(crate) fn diagnose(&self, mut problems: Vec<Problem>) -> Diagnostics {
        problems.sort_by_key(|p| p.span.start);
        problems.truncate(MAX);
        Diagnostics(problems.into_iter().map(|p| self.locate(p)).collect())
    }

    fn locate(&self, problem: Problem) -> Diagnostic {
        let Problem { span, key, refusal } = problem;
        let More { accepted, nearest, help, .. } = *refusal.more;
        let past = self.0.partition_point(|s| s.base <= span.start);
        let source = &self.0[past.saturating_sub(1)];
        let text = source.text.as_str();
        let start = floor_char(text, span.start - source.base);
        let begin = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let stop = floor_char(text, span.end.saturating_sub(source.base)).clamp(start, end);
        let excerpt = Excerpt::of(text[begin..end].trim_end(), text[begin..start].chars().count());
        let width = text[start..stop].trim_end().chars().count();
        let room = excerpt.line.chars().count().saturating_sub(excerpt.indent);
        Diagnostic {
            file: cut(&source.name),
            line: text[..begin].matches('\n').count() + 1,
            column: text[begin..start].chars().count() + 1,
            key: cut(&key),
            message: cut(&refusal.message),
            accepted,
            nearest,
            help: help.as_deref().map(cut),
            source_line: excerpt.line,
            indent: excerpt.indent,
            width: width.min(room).max(1),
        }
    }
}

/// The displayed part of a line.
struct Excerpt {
    line: String,
    /// Its characters before the place.
    indent: usize,
}

impl Excerpt {
    /// Cuts `line` around the place behind this number of characters.
    fn of(line: &str, before: usize) -> Self {
        if line.chars().nth(MAX_SHOWN).is_none() {
            return Self { line: line.to_owned(), indent: before };
        }
        let from = before.saturating_sub(MAX_BEFORE);
        let shown: String = line.chars().skip(from).take(MAX_SHOWN).collect();
        let head = if from > 0 { "..." } else { "" };
        let goes_on = line.chars().nth(from + MAX_SHOWN).is_some();
        let tail = if goes_on { "..." } else { "" };
        Self { line: format!("{head}{shown}{tail}"), indent: head.len() + before - from }
    }
}

/// A text, shortened to its beginning if it is very long.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// A text that is safe on a terminal: control characters become blanks.
fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

/// The greatest character boundary up to `at`.
fn floor_char(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}
