//! A TOML document as a tree that can be edited and still knows where everything was written.

use super::deep::too_deep;
pub(crate) use super::diagnostic::Span;
use super::diagnostic::{Problem, Refusal, Sources};
use core::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) span: Span,
    pub(crate) data: Data,
}

/// Content of a value.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    List(Vec<Value>),
    Table(Table),
    /// A value that no key takes: a date, or an integer beyond 64 bits.
    Alien(&'static str),
}

/// A table: entries in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(pub(crate) Vec<Entry>);

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) value: Value,
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|e| e.key == key).map(|e| &e.value)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|e| e.key == key).map(|e| &mut e.value)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self.get(key).map(|v| &v.data) {
            Some(Data::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Entry> {
        let at = self.0.iter().position(|e| e.key == key)?;
        Some(self.0.remove(at))
    }

    /// Sets `key`, in its old place if it has one.
    pub(crate) fn insert(&mut self, key: &str, key_span: Span, value: Value) -> &mut Value {
        let at = self.0.iter().position(|e| e.key == key).unwrap_or(self.0.len());
        let entry = Entry { key: key.to_owned(), key_span, value };
        if at < self.0.len() {
            self.0[at] = entry;
        } else {
            self.0.push(entry);
        }
        &mut self.0[at].value
    }
}

impl Value {
    /// Kind of the value, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.data {
            Data::Text(_) => "a text",
            Data::Integer(_) => "an integer",
            Data::Float(_) => "a real number",
            Data::Boolean(_) => "a boolean",
            Data::List(_) => "a list",
            Data::Table(_) => "a table",
            Data::Alien(what) => what,
        }
    }
}

impl Value {
    /// The value as TOML.
    pub(crate) fn to_toml(&self) -> String {
        match &self.data {
            Data::Text(text) => format!("{text:?}"),
            Data::List(values) => {
                let texts: Vec<_> = values.iter().map(Self::to_toml).collect();
                format!("[{}]", texts.join(", "))
            }
            Data::Table(table) => {
                let entry = |e: &Entry| format!("{:?} = {}", e.key, e.value.to_toml());
                let texts: Vec<_> = table.0.iter().map(entry).collect();
                format!("{{ {} }}", texts.join(", "))
            }
            Data::Float(x) => format!("{x:?}"),
            Data::Integer(_) | Data::Boolean(_) | Data::Alien(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Value {
    /// The value as an axis of a sweep is labelled with it: a text without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.data {
            Data::Text(text) => f.write_str(text),
            Data::Integer(n) => write!(f, "{n}"),
            Data::Float(x) => write!(f, "{x}"),
            Data::Boolean(b) => write!(f, "{b}"),
            Data::Alien(what) => f.write_str(what),
            Data::List(values) => {
                let texts: Vec<_> = values.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", texts.join(", "))
            }
            Data::Table(table) => {
                let entry = |e: &Entry| format!("{} = {}", e.key, e.value);
                let texts: Vec<_> = table.0.iter().map(entry).collect();
                write!(f, "{{ {} }}", texts.join(", "))
            }
        }
    }
}

/// Reads a document.
pub(crate) fn document(text: &str) -> Result<Table, Vec<Problem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(convert_table(table.into_inner(), 0));
    }
    let problem = |e: &toml::de::Error| {
        let (span, refusal) = too_deep(text, e.message(), e.span()).unwrap_or_else(|| {
            let message = format!("not TOML: {}", e.message().replace('\n', ", "));
            (e.span().unwrap_or(0..0), Refusal::new(message))
        });
        Problem { key: key_around(text, span.start), span, refusal }
    };
    // What follows the first error is mostly its consequence.
    Err(errors.first().map(problem).into_iter().collect())
}

/// Reads one value of a `--set` argument. A text that is no TOML value is a string, so that `--set
/// cell.standard=802.11a` needs no quotes.
pub(crate) fn argument(text: &str, base: usize) -> Value {
    let base = base + text.len() - text.trim_start().len();
    let text = text.trim();
    match DeValue::parse(text) {
        Ok(value) => convert(value, base),
        Err(_) => Value { span: base..base + text.len(), data: Data::Text(text.to_owned()) },
    }
}

fn convert_table(table: DeTable<'_>, base: usize) -> Table {
    let shift = |s: Span| s.start + base..s.end + base;
    let entry = |(key, value): (Spanned<_>, _)| {
        let key_span = shift(key.span());
        let key = std::borrow::Cow::into_owned(key.into_inner());
        Entry { key, key_span, value: convert(value, base) }
    };
    Table(table.into_iter().map(entry).collect())
}

fn convert(value: Spanned<DeValue<'_>>, base: usize) -> Value {
    let span = value.span().start + base..value.span().end + base;
    let data = match value.into_inner() {
        DeValue::String(text) => Data::Text(text.into_owned()),
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix())
            .map_or(Data::Alien("an integer beyond 64 bits"), Data::Integer),
        DeValue::Float(x) => {
            x.as_str().parse().map_or(Data::Alien("a number out of range"), Data::Float)
        }
        DeValue::Boolean(b) => Data::Boolean(b),
        DeValue::Datetime(_) => Data::Alien("a date"),
        DeValue::Array(values) => {
            Data::List(values.into_iter().map(|v| convert(v, base)).collect())
        }
        DeValue::Table(table) => Data::Table(convert_table(table, base)),
    };
    Value { span, data }
}

/// Returns the key whose line is at `at` in a text that is not TOML, as far as it can be found.
pub(crate) fn key_around(text: &str, at: usize) -> String {
    let at = (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    let begin = text[..at].rfind('\n').map_or(0, |i| i + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    let header = |l: &str| {
        let name = l.trim().trim_matches(['[', ']']).trim();
        (l.trim_start().starts_with('[') && plain(name)).then(|| name.to_owned())
    };
    let table = text[..begin].lines().rev().find_map(header);
    let key = line.split_once('=').map(|(k, _)| k.trim().to_owned()).filter(|k| plain(k));
    match (header(line), table, key) {
        (Some(table), ..) | (None, Some(table), None) => table,
        (None, Some(table), Some(key)) => format!("{table}.{key}"),
        (None, None, Some(key)) => key,
        (None, None, None) => "(file)".to_owned(),
    }
}

fn plain(key: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '"');
    !key.is_empty() && key.chars().all(allowed)
}

/// Checks that `bytes` is UTF-8 text of a size that a scenario may have.
pub(crate) fn decode_utf8<'b>(
    file: &str,
    bytes: &'b [u8],
) -> Result<&'b str, super::diagnostic::Diagnostics> {
    core::str::from_utf8(bytes).map_err(|e| {
        let valid = String::from_utf8_lossy(bytes);
        let at = e.valid_up_to();
        let refusal = Refusal::new("not UTF-8 text").help("save the file as UTF-8");
        let problem = Problem { span: at..at + 1, key: key_around(&valid, at), refusal };
        Sources::new(file, &valid).diagnose(vec![problem])
    })
}
