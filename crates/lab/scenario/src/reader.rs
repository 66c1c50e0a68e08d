//! Reading tables key by key: every key is taken, or refused for a stated reason, or unknown.

use super::described::Described;
use super::diagnostic::{Problem, Refusal};
use super::renamed;
use super::value::{Data, Span, Table, Value};
use core::cell::RefCell;
use core::fmt::Display;
use core::str::FromStr;
use fairwave_queue::Limit;
use fairwave_units::{Bytes, Metres};
use serde_json::{Map, Value as Json};

/// The outcome of reading one value.
pub(super) type Read<T> = Result<T, Refusal>;

/// Collected problems.
pub(super) type Problems = RefCell<Vec<Problem>>;

/// A table being read, or written, or described.
pub(super) struct Reader<'a> {
    key: String,
    table: &'a Table,
    span: Span,
    problems: &'a Problems,
    known: RefCell<Vec<&'static str>>,
    /// Keys that were refused, which are not unknown therefore.
    refused: RefCell<Vec<&'static str>>,
    mode: Mode<'a>,
}

/// Purpose of a pass over the keys of a table.
#[derive(Clone, Copy)]
pub(super) enum Mode<'a> {
    /// To read it.
    Read,
    /// To write the values that it holds.
    Write(&'a RefCell<Map<String, Json>>),
    /// To describe the keys. There are no values: keys that others depend on have their defaults.
    Describe(&'a Described<'a>),
    /// To list the names of the keys, or for the defaults alone. There are no values either.
    Name(&'a RefCell<Vec<&'static str>>),
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        key: impl Into<String>,
        table: &'a Table,
        span: Span,
        problems: &'a Problems,
    ) -> Self {
        let (known, refused) = (RefCell::default(), RefCell::default());
        Self { key: key.into(), table, span, problems, known, refused, mode: Mode::Read }
    }

    /// The same for another purpose than reading.
    pub(super) fn going(self, mode: Mode<'a>) -> Self {
        Self { mode, ..self }
    }

    pub(super) fn mode(&self) -> Mode<'a> {
        self.mode
    }

    pub(super) fn is_reading(&self) -> bool {
        matches!(self.mode, Mode::Read)
    }

    /// The value of `key`, if it is there and `read` takes it; whoever reads it after this reports
    /// on it.
    pub(super) fn peek<T>(&self, key: &str, read: impl Fn(&Value) -> Read<T>) -> Option<T> {
        read(self.table.get(key)?).ok()
    }

    /// Returns the result of `go` on the table; a later reader of it reports on it.
    pub(super) fn quietly<T>(&self, go: impl FnOnce(&Reader<'_>) -> T) -> T {
        let reported = Problems::default();
        go(&Reader::new(self.key.as_str(), self.table, self.span.clone(), &reported))
    }

    /// The value of `key`, if it is there and `read` takes it.
    pub(super) fn optional<T>(
        &self,
        key: &'static str,
        read: impl Fn(&Value) -> Read<T>,
    ) -> Option<T> {
        self.known.borrow_mut().push(key);
        let value = self.table.get(key)?;
        read(value).map_err(|refusal| self.report(value.span.clone(), key, refusal)).ok()
    }

    /// The value of `key`, or its default.
    pub(super) fn or<T>(
        &self,
        key: &'static str,
        default: T,
        read: impl Fn(&Value) -> Read<T>,
    ) -> T {
        self.optional(key, read).unwrap_or(default)
    }

    /// The value of `key`, whose absence is a problem.
    pub(super) fn required<T>(
        &self,
        key: &'static str,
        example: &str,
        read: impl Fn(&Value) -> Read<T>,
    ) -> Option<T> {
        if self.table.get(key).is_none() {
            let refusal = Refusal::new("this key is missing").help(format!("write {example}"));
            self.report(self.span.clone(), key, refusal);
        }
        self.optional(key, read)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// Refuses `keys`, which exist elsewhere but mean nothing here.
    pub(super) fn meaningless(&self, keys: &[&'static str], why: &str) {
        self.pass(keys);
        for entry in self.table.0.iter().filter(|e| keys.contains(&e.key.as_str())) {
            let refusal = Refusal::new(format!("this key has no meaning here: {why}"));
            self.report(entry.key_span.clone(), &entry.key, refusal.help("remove it"));
        }
    }

    /// Does not report `keys` as unknown, though no reader asks for them.
    pub(super) fn pass(&self, keys: &[&'static str]) {
        self.refused.borrow_mut().extend(keys);
    }

    /// Counts `keys` as known, though no reader has asked for them.
    pub(super) fn know(&self, keys: &[&'static str]) {
        self.known.borrow_mut().extend(keys);
    }

    /// Reports on the value of `key`, which was read.
    pub(super) fn refuse(&self, key: &str, refusal: Refusal) {
        let span = self.table.get(key).map_or(self.span.clone(), |v| v.span.clone());
        self.report(span, key, refusal);
    }

    /// The table under `key`; an absent one reads as empty.
    pub(super) fn table(&self, key: &'static str, empty: &'a Table) -> Reader<'a> {
        self.known.borrow_mut().push(key);
        let path = self.path(key);
        match self.table.get(key) {
            None => Reader::new(path, empty, self.span.clone(), self.problems),
            Some(Value { data: Data::Table(t), span }) => {
                Reader::new(path, t, span.clone(), self.problems)
            }
            Some(other) => {
                self.report(other.span.clone(), key, wrong_type(other, "a table"));
                Reader::new(path, empty, self.span.clone(), self.problems)
            }
        }
    }

    /// The tables under `key`, each called by its `name`.
    pub(super) fn tables(&self, key: &'static str) -> Vec<Reader<'a>> {
        self.known.borrow_mut().push(key);
        let Some(value) = self.table.get(key) else { return Vec::new() };
        let one = core::slice::from_ref(value);
        let list = match &value.data {
            Data::List(list) => list.as_slice(),
            Data::Table(_) if key == "cell" => one,
            _ => {
                let help = format!("write [[{key}]]");
                let refusal = wrong_type(value, "a list of tables").help(help);
                self.report(value.span.clone(), key, refusal);
                return Vec::new();
            }
        };
        list.iter().enumerate().filter_map(|(i, v)| self.element(key, i, v)).collect()
    }

    fn element(&self, key: &'static str, index: usize, value: &'a Value) -> Option<Reader<'a>> {
        let Data::Table(table) = &value.data else {
            self.report(value.span.clone(), key, wrong_type(value, "a table"));
            return None;
        };
        Some(Reader::new(element_path(key, index, table), table, value.span.clone(), self.problems))
    }

    /// Reports every key that was neither read nor refused by [`Self::meaningless`].
    pub(super) fn finish(&self) {
        let known = self.known.borrow();
        for entry in &self.table.0 {
            let key = entry.key.as_str();
            if !known.contains(&key) && !self.refused.borrow().contains(&key) {
                let new = renamed::key(key).filter(|new| known.contains(new));
                let message = new.map(|new| format!("this key is called `{new}` now"));
                let message = message.unwrap_or_else(|| "unknown key".to_owned());
                let refusal = Refusal::new(message).among(key, &known);
                self.report(entry.key_span.clone(), key, refusal);
            }
        }
    }

    pub(super) fn report(&self, span: Span, key: &str, mut refusal: Refusal) {
        let (span, key) = match refusal.more.inside.take() {
            Some((inner, rest)) => (inner, format!("{}.{rest}", self.path(key))),
            None => (span, self.path(key)),
        };
        self.problems.borrow_mut().push(Problem { span, key, refusal });
    }

    fn path(&self, key: &str) -> String {
        if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) }
    }
}

/// Reads a table inside a value: the problems of its keys become one refusal.
pub(super) fn nested<T>(table: &Table, value: &Value, read: impl Fn(&Reader<'_>) -> T) -> Read<T> {
    let problems = Problems::default();
    let reader = Reader::new("", table, value.span.clone(), &problems);
    let result = read(&reader);
    reader.finish();
    match problems.into_inner().into_iter().next() {
        None => Ok(result),
        Some(Problem { span, key, mut refusal }) => {
            refusal.more.inside = Some((span, key));
            Err(refusal)
        }
    }
}

/// The dotted key of an element: the only cell needs no name.
pub(super) fn element_path(key: &str, index: usize, table: &Table) -> String {
    if key == "cell" && table.get("name").is_none() {
        return key.to_owned();
    }
    format!("{key}.{}", element_name(key, index, table))
}

/// Returns the name of an element of an array of tables in dotted keys: its name, a link without
/// one by its ends, anything else by its index.
pub(super) fn element_name(key: &str, index: usize, table: &Table) -> String {
    if let Some(name) = table.text("name") {
        return name.to_owned();
    }
    if key == "cell" {
        return "cell".to_owned();
    }
    match table.get("ends").map(|v| &v.data) {
        Some(Data::List(ends)) if key == "link" && ends.len() == 2 => {
            joined(&ends[0].to_string(), &ends[1].to_string())
        }
        _ => index.to_string(),
    }
}

/// Returns the name of a link without one: by its ends, of a pattern without the star.
pub(super) fn joined(a: &str, b: &str) -> String {
    let [a, b] = [a, b].map(|end| end.strip_suffix('*').unwrap_or(end));
    format!("{a}-{b}")
}

pub(super) fn wrong_type(value: &Value, wanted: &str) -> Refusal {
    Refusal::new(format!("this is {}, but must be {wanted}", value.type_name()))
}

fn as_text<'v>(value: &'v Value, wanted: &str) -> Read<&'v str> {
    match &value.data {
        Data::Text(text) => Ok(text),
        _ => Err(wrong_type(value, wanted)),
    }
}

/// A free text of at most 500 characters.
pub(super) fn text(value: &Value) -> Read<String> {
    let text = as_text(value, "a text in quotes")?;
    if text.chars().count() > 500 {
        return Err(Refusal::new("this text is longer than 500 characters"));
    }
    Ok(text.to_owned())
}

/// A name of limited length: it appears in paths of the sweep and in file names.
pub(super) fn name_up_to(maximum: usize) -> impl Fn(&Value) -> Read<String> {
    move |value| {
        let name = as_text(value, "a name in quotes")?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !starts || name.len() > maximum || !name.chars().all(allowed) {
            let help = format!("a name is a letter, then up to {} of a-z A-Z 0-9 - _", maximum - 1);
            return Err(Refusal::new(format!("{name:?} is not a name")).help(help));
        }
        Ok(name.to_owned())
    }
}

pub(super) fn boolean(value: &Value) -> Read<bool> {
    match value.data {
        Data::Boolean(b) => Ok(b),
        _ => Err(wrong_type(value, "true or false")),
    }
}

/// A whole number in `min..=max`.
pub(super) fn integer(min: u64, max: u64) -> impl Fn(&Value) -> Read<u64> {
    move |value| match value.data {
        Data::Integer(n) => u64::try_from(n)
            .ok()
            .filter(|n| (min..=max).contains(n))
            .ok_or_else(|| Refusal::new(format!("{n} is not in {min}..={max}"))),
        _ => Err(wrong_type(value, &format!("a whole number in {min}..={max}"))),
    }
}

/// A whole number in `min..=max`.
pub(super) fn count(min: u32, max: u32) -> impl Fn(&Value) -> Read<u32> {
    let read = integer(u64::from(min), u64::from(max));
    move |value| read(value).map(|n| u32::try_from(n).unwrap_or(max))
}

/// A number without a unit in `min..=max`.
pub(super) fn real(min: f64, max: f64) -> impl Fn(&Value) -> Read<f64> {
    move |value| {
        let x = match value.data {
            Data::Float(x) => x,
            Data::Integer(n) => n as f64,
            _ => return Err(wrong_type(value, &format!("a number from {min} to {max}"))),
        };
        if (min..=max).contains(&x) {
            return Ok(x);
        }
        Err(Refusal::new(format!("{x} is not from {min} to {max}")))
    }
}

pub(super) fn probability(value: &Value) -> Read<f64> {
    real(0.0, 1.0)(value).map_err(|r| r.help("a probability is a number from 0 to 1"))
}

/// A quantity with its unit. A bare number is parsed too, for the message about its unit.
pub(super) fn quantity<T: FromStr<Err: Display>>(value: &Value) -> Read<T> {
    let number;
    let text = match &value.data {
        Data::Text(text) => text.as_str(),
        Data::Integer(_) | Data::Float(_) => {
            number = value.to_string();
            &number
        }
        _ => return Err(wrong_type(value, "a quantity in quotes, with its unit")),
    };
    text.parse().map_err(|e: T::Err| Refusal::new(e.to_string()))
}

/// A quantity in `min..=max`.
pub(super) fn within<T>(min: T, max: T) -> impl Fn(&Value) -> Read<T>
where
    T: FromStr<Err: Display> + PartialOrd + Display,
{
    move |value| {
        let q = quantity::<T>(value)?;
        if q >= min && q <= max {
            return Ok(q);
        }
        Err(Refusal::new(format!("{q} is not from {min} to {max}")))
    }
}

/// Bytes in `min..=max`, as a number.
pub(super) fn size(min: u32, max: u32) -> impl Fn(&Value) -> Read<u32> {
    let read = within(Bytes(u64::from(min)), Bytes(u64::from(max)));
    move |value| read(value).map(|b| u32::try_from(b.0).unwrap_or(max))
}

/// `word`, or the value that `read` takes.
pub(super) fn or_word<T>(
    word: &'static str,
    read: impl Fn(&Value) -> Read<T>,
) -> impl Fn(&Value) -> Read<Option<T>> {
    move |value| match &value.data {
        Data::Text(text) if text == word => Ok(None),
        _ => read(value).map(Some).map_err(|r| {
            if r.more.help.is_none() { r.help(format!("or write {word:?}")) } else { r }
        }),
    }
}

/// One of the words in a list.
pub(super) fn choice<T: Copy>(list: &[(&'static str, T)]) -> impl Fn(&Value) -> Read<T> {
    move |value| {
        let names: Vec<_> = list.iter().map(|(name, _)| *name).collect();
        let written = match &value.data {
            Data::Text(text) => text.as_str(),
            _ => return Err(wrong_type(value, "a text in quotes").among("", &names)),
        };
        list.iter()
            .find(|(name, _)| *name == written)
            .map(|&(_, choice)| choice)
            .ok_or_else(|| Refusal::new(format!("{written:?} is unknown")).among(written, &names))
    }
}

/// The word of `value` in `list`: the inverse of [`choice`].
pub(super) fn word<T: PartialEq>(list: &[(&'static str, T)], value: &T) -> &'static str {
    list.iter().find(|(_, v)| v == value).map_or("", |(name, _)| name)
}

/// A whole number followed by a word, as in `"100 packets"`.
pub(super) fn counted(unit: &'static str, min: u32, max: u32) -> impl Fn(&Value) -> Read<u32> {
    move |value| {
        let example = format!("such as \"{min} {unit}\"");
        let written = as_text(value, &format!("a text {example}"))?;
        let number = written.trim().strip_suffix(unit).map(str::trim);
        let digits = number.filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let Some(digits) = digits else {
            let message = format!("{written:?} is not a number of {unit}");
            return Err(Refusal::new(message).help(format!("write it {example}")));
        };
        digits
            .parse()
            .ok()
            .filter(|n| (min..=max).contains(n))
            .ok_or_else(|| Refusal::new(format!("{written:?} is not from {min} to {max} {unit}")))
    }
}

/// The bound of a queue, in packets or bytes.
pub(super) fn limit(value: &Value) -> Read<Limit> {
    let written = as_text(value, "a text such as \"100 packets\" or \"64 KiB\"")?;
    if written.trim().ends_with("packets") {
        return counted("packets", 1, 1_000_000)(value).map(Limit::Packets);
    }
    within(Bytes(2304), Bytes(1 << 30))(value)
        .map(Limit::Bytes)
        .map_err(|r| r.help("write \"100 packets\", or a size such as \"64 KiB\""))
}

pub(super) fn show_limit(limit: &Limit) -> String {
    match limit {
        Limit::Packets(n) => format!("{n} packets"),
        Limit::Bytes(bytes) => bytes.to_string(),
    }
}

/// Two coordinates.
pub(super) fn position(value: &Value) -> Read<[Metres; 2]> {
    let Data::List(list) = &value.data else {
        return Err(wrong_type(value, "a list such as [\"0 m\", \"4 m\"]"));
    };
    let [x, y] = list.as_slice() else {
        return Err(Refusal::new(format!("a position has two coordinates, not {}", list.len())));
    };
    let coordinate = within(Metres(-100_000.0), Metres(100_000.0));
    Ok([coordinate(x)?, coordinate(y)?])
}

/// A list of names, or patterns of names; `"*"` stands for all nodes.
pub(super) fn nodes(value: &Value) -> Read<Vec<String>> {
    match &value.data {
        Data::List(list) => list.iter().map(pattern).collect(),
        _ => Err(wrong_type(value, "a list such as [\"pc1\", \"sta*\"]")),
    }
}

/// A name, a name's beginning with a star, or a star for all.
pub(super) fn pattern(value: &Value) -> Read<String> {
    match &value.data {
        Data::Text(text) if text == "*" => Ok(text.clone()),
        _ => end(value),
    }
}

/// Two names, or patterns of names.
pub(super) fn ends(value: &Value) -> Read<[String; 2]> {
    let Data::List(list) = &value.data else {
        return Err(wrong_type(value, "a list of two node names"));
    };
    let [a, b] = list.as_slice() else {
        return Err(Refusal::new(format!("a link has two ends, not {}", list.len())));
    };
    Ok([end(a)?, end(b)?])
}

/// The name of a node, which a member's of a group has a number after; or a name's beginning
/// with a star.
fn end(value: &Value) -> Read<String> {
    let name = name_up_to(44);
    let Data::Text(text) = &value.data else { return name(value) };
    let Some(prefix) = text.strip_suffix('*') else { return name(value) };
    if prefix.is_empty() {
        let help = "write how their names begin, as in \"sta*\"";
        return Err(Refusal::new("\"*\" alone names no group of nodes").help(help));
    }
    let (span, data) = (value.span.clone(), Data::Text(prefix.to_owned()));
    name(&Value { span, data }).map(|prefix| format!("{prefix}*"))
}
