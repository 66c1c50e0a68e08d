//! Axes of a sweep: one key, several keys that change together, or named variants.

use crate::diagnostic::{Problem, Refusal};
use crate::value::{Data, Span, Value};

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
        let steps: Result<Vec<Step>, _> = match name {
            VARIANT => values.into_iter().map(variant).collect(),
            _ => values.into_iter().map(|value| step(&keys, value)).collect(),
        };
        let steps = steps.map_err(fail)?;
        if keys.iter().enumerate().any(|(i, key)| keys[..i].contains(key)) {
            return Err(fail((span, Refusal::new("this names a key twice"))));
        }
        let sets = steps.iter().flat_map(|step| &step.sets).map(|(key, _)| key.clone());
        let keys = keys.into_iter().chain(sets).collect();
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

    /// Leaves the one step that `value` stands for; of variants, each that a list names.
    pub(super) fn fix(&mut self, span: Span, value: Value) -> Result<(), Problem> {
        let fail = |(span, refusal)| Problem { span, key: self.name.clone(), refusal };
        if self.name != VARIANT {
            let step = step(&keys_of(&self.name), value).map_err(fail)?;
            (self.span, self.steps) = (span, vec![step]);
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

    /// Reason for which a part of it cannot be set alone.
    pub(super) fn is_joint(&self) -> Refusal {
        if self.name == VARIANT {
            let help = "pick a variant by its name, or write the scenario without them";
            return Refusal::new("the variants of the sweep change this key").help(help);
        }
        let help = format!("name all of its keys: \"{}\"", self.name);
        Refusal::new("the sweep changes this key together with others").help(help)
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
}

/// The keys that the name of an axis lists.
fn keys_of(name: &str) -> Vec<String> {
    name.split(',').map(|key| key.trim().to_owned()).collect()
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
