//! Axes of a sweep: one key, several keys that change together, or named variants.

use crate::diagnostic::{Problem, Refusal};
use crate::value::{Data, Span, Value};
use std::collections::BTreeSet;

/// The name of the axis whose values are variants.
pub(super) const VARIANT: &str = "variant";

/// One axis of a sweep.
pub(super) struct Axis {
    /// The name that the sweep gives it.
    name: String,
    /// Every key that it changes.
    keys: Vec<String>,
    pub(super) span: Span,
    pub(super) steps: Vec<Step>,
}

/// One value of an axis.
pub(super) struct Step {
    /// Distinguishing keys with their values, as text.
    pub(super) labels: Vec<(String, String)>,
    /// Settings that it makes.
    pub(super) sets: Vec<(String, Value)>,
}

impl Axis {
    /// Reads the axis `name` with the `values` of its steps.
    pub(super) fn read(name: &str, span: Span, values: Vec<Value>) -> Result<Self, Problem> {
        let fail = |(span, refusal)| Problem { span, key: format!("sweep.{name}"), refusal };
        let keys = keys_of(name);
        let steps = match name {
            VARIANT => steps(values, variant),
            _ => steps(values, |value| step(&keys, value)),
        };
        let steps = steps.map_err(fail)?;
        if keys.iter().enumerate().any(|(i, key)| keys[..i].contains(key)) {
            return Err(fail((span, Refusal::new("this names a key twice"))));
        }
        let mut keys = keys;
        for (key, _) in steps.iter().flat_map(|step| &step.sets) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        Ok(Self { name: keys_of(name).join(", "), keys, span, steps })
    }

    /// Whether both change some key.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.keys.iter().any(|key| other.keys.contains(key))
    }

    /// Returns whether it has the name, or changes a key of those that `name` lists.
    pub(super) fn answers_to(&self, name: &str) -> bool {
        keys_of(name).iter().any(|key| self.keys.contains(key))
    }

    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == keys_of(name).join(", ")
    }

    /// Form of a step in `--set`: a key with its value, several with a list, or the variant.
    pub(super) fn pick(&self, step: &Step) -> String {
        let name = &self.name;
        if name == VARIANT {
            return format!("{VARIANT}={}", step.labels[0].1);
        }
        match step.sets.as_slice() {
            [(_, Value { data: Data::Text(text), .. })] => format!("{name}={text}"),
            [(_, value)] => format!("{name}={}", value.to_toml()),
            values => {
                let values: Vec<_> = values.iter().map(|(_, value)| value.to_toml()).collect();
                format!("{name}=[{}]", values.join(", "))
            }
        }
    }

    /// Leaves the steps that `value` stands for, or replaces them by these: one, or a list of
    /// several. Of variants it leaves those that it names, in the order of the file.
    pub(super) fn fix(&mut self, span: Span, value: Value) -> Result<(), Problem> {
        let fail = |(span, refusal)| Problem { span, key: self.name.clone(), refusal };
        if self.name != VARIANT {
            let keys = keys_of(&self.name);
            let steps = steps(self.values(&keys, value), |value| step(&keys, value));
            (self.span, self.steps) = (span, steps.map_err(fail)?);
            return Ok(());
        }
        let wanted = match value.data {
            Data::List(names) if !names.is_empty() => names,
            _ => vec![value],
        };
        for value in &wanted {
            let name = value.to_string();
            if !self.steps.iter().any(|step| step.is_variant(&name)) {
                let names: Vec<&str> = self.steps.iter().map(|s| s.labels[0].1.as_str()).collect();
                let refusal = Refusal::new(format!("there is no variant called {name}"));
                return Err(fail((value.span.clone(), refusal.among(&name, &names))));
            }
        }
        self.steps.retain(|step| wanted.iter().any(|value| step.is_variant(&value.to_string())));
        // What only the others change is free to be set.
        let steps = &self.steps;
        self.keys.retain(|key| key == VARIANT || steps.iter().any(|step| step.changes(key)));
        Ok(())
    }

    /// The values of steps that `value` stands for: its elements, if it is a list of values where
    /// the axis has none that are lists, else `value` itself.
    pub(super) fn values(&self, keys: &[String], value: Value) -> Vec<Value> {
        let mut sets = self.steps.iter().flat_map(|step| &step.sets);
        let has_lists =
            sets.any(|(key, value)| keys.contains(key) && matches!(value.data, Data::List(_)));
        let is_step = |value: &Value| match &value.data {
            Data::List(values) => keys.len() == 1 || keys.len() == values.len(),
            _ => keys.len() == 1,
        };
        match value.data {
            Data::List(values)
                if !has_lists && !values.is_empty() && values.iter().all(is_step) =>
            {
                values
            }
            _ => vec![value],
        }
    }

    /// Gives `key`, one of several that it changes together, these values. Values that some of its
    /// steps have leave these steps. Other values take the key out of the axis, whose remaining
    /// keys keep their steps; they are returned.
    pub(super) fn fix_part(
        &mut self,
        key: &str,
        span: &Span,
        values: Vec<Value>,
    ) -> Result<Vec<Value>, Problem> {
        let refused = |span: &Span, refusal| {
            Err(Problem { span: span.clone(), key: key.to_owned(), refusal })
        };
        if !self.keys_are_apart() {
            return refused(span, self.is_joint());
        }
        let is_there = |value: &Value| self.steps.iter().any(|step| step.has(key, value));
        match values.iter().find(|value| !is_there(value)) {
            None => {
                self.steps.retain(|step| values.iter().any(|value| step.has(key, value)));
                Ok(Vec::new())
            }
            Some(unknown) if values.iter().any(is_there) => {
                let text = format!("the sweep has no {unknown} here, but others of these values");
                refused(&unknown.span, Refusal::new(text).help(self.name_all()))
            }
            Some(_) => {
                self.take_out(key);
                Ok(values)
            }
        }
    }

    /// Whether each of its keys has a value in each step, as those of variants have not.
    pub(super) fn keys_are_apart(&self) -> bool {
        self.name != VARIANT
    }

    /// Leaves the other keys, with each of their combinations once.
    fn take_out(&mut self, key: &str) {
        self.keys.retain(|known| known != key);
        self.name = self.keys.join(", ");
        let mut steps: Vec<Step> = Vec::new();
        for mut step in std::mem::take(&mut self.steps) {
            step.sets.retain(|(known, _)| known != key);
            step.labels.retain(|(known, _)| known != key);
            if !steps.iter().any(|other| other.labels == step.labels) {
                steps.push(step);
            }
        }
        self.steps = steps;
    }

    /// Whether it changes `key` together with others.
    pub(super) fn has_part(&self, key: &str) -> bool {
        self.keys.len() > 1 && self.keys.iter().any(|known| known == key.trim())
    }

    /// Whether all keys that it changes are among those of `other`.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.keys.iter().all(|key| other.keys.contains(key))
    }

    /// Reason for which a part of it cannot be set alone.
    pub(super) fn is_joint(&self) -> Refusal {
        if self.name == VARIANT {
            let help = "pick a variant by its name, or write the scenario without them";
            return Refusal::new("the variants of the sweep change this key").help(help);
        }
        Refusal::new("the sweep changes this key together with others").help(self.name_all())
    }

    fn name_all(&self) -> String {
        format!("name all of its keys: \"{}\"", self.name)
    }
}

impl Step {
    /// Whether it is the variant of this name.
    fn is_variant(&self, name: &str) -> bool {
        self.labels[0].1 == name
    }

    fn changes(&self, key: &str) -> bool {
        self.sets.iter().any(|(changed, _)| changed == key)
    }

    /// Whether it sets `key` to `value`. Blanks do not matter: `10 ms` is `10ms`.
    fn has(&self, key: &str, value: &Value) -> bool {
        let text = |value: &Value| value.to_string().replace(' ', "");
        self.sets.iter().any(|(set, own)| set == key && text(own) == text(value))
    }
}

/// The keys that the name of an axis lists.
fn keys_of(name: &str) -> Vec<String> {
    name.split(',').map(|key| key.trim().to_owned()).collect()
}

/// A step of each value. No two are equal: they would be points with one run directory.
fn steps(
    values: Vec<Value>,
    read: impl Fn(Value) -> Result<Step, (Span, Refusal)>,
) -> Result<Vec<Step>, (Span, Refusal)> {
    let (mut steps, mut known) = (Vec::new(), BTreeSet::new());
    for value in values {
        let span = value.span.clone();
        let step = read(value)?;
        if !known.insert(step.labels.clone()) {
            let refusal = Refusal::new("this value is there twice");
            return Err((span, refusal.help("leave it out; sweep.seeds repeats runs")));
        }
        steps.push(step);
    }
    Ok(steps)
}

/// One step of plain keys: the value itself, or a list of one for each of several.
fn step(keys: &[String], value: Value) -> Result<Step, (Span, Refusal)> {
    let values = match value.data {
        _ if keys.len() == 1 => vec![value],
        Data::List(values) if values.len() == keys.len() => values,
        _ => {
            let why = format!("each value must be a list of {}, one for each key", keys.len());
            let help = format!("write [[{}], ...]", vec!["..."; keys.len()].join(", "));
            return Err((value.span, Refusal::new(why).help(help)));
        }
    };
    let sets: Vec<(String, Value)> = keys.iter().cloned().zip(values).collect();
    let labels = sets.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
    Ok(Step { labels, sets })
}

/// One variant: a table with a name and the keys that it sets.
fn variant(value: Value) -> Result<Step, (Span, Refusal)> {
    let help = "write { name = \"...\", \"tcp.sack\" = false }";
    let fail = |span, why: &str| Err((span, Refusal::new(why).help(help)));
    let span = value.span.clone();
    let Data::Table(mut table) = value.data else {
        return fail(span, "a variant is a table");
    };
    let name = match table.take("name").map(|entry| entry.value) {
        Some(name) if matches!(name.data, Data::Text(_)) => name.to_string(),
        _ => return fail(span, "a variant needs a name"),
    };
    let sets = table.0.into_iter().map(|entry| (entry.key, entry.value)).collect();
    Ok(Step { labels: vec![(VARIANT.to_owned(), name)], sets })
}
