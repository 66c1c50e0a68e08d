//! A claim and how it is judged.

use serde_json::{Map, Value, json};

/// A condition on one measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Greater than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// At least this.
    AtLeast(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::Above(limit) => value > limit,
            Self::Below(limit) => value < limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Above(limit) => format!("> {limit}"),
            Self::Below(limit) => format!("< {limit}"),
            Self::AtLeast(limit) => format!(">= {limit}"),
        }
    }
}

/// A named measured value and the condition on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test(pub &'static str, pub Bound);

impl Test {
    /// Whether the value is there, is a number, and meets the condition.
    pub fn passes(&self, measured: &Map<String, Value>) -> bool {
        let Self(key, bound) = self;
        measured.get(*key).and_then(Value::as_f64).is_some_and(|value| bound.holds(value))
    }
}

/// A claim of a paper with its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its identifier, such as `ACK-1`.
    pub id: &'static str,
    /// What the paper claims.
    pub statement: &'static str,
    /// When it counts as holding: generated from the tests that were applied.
    pub criterion: String,
    /// The verdict.
    pub holds: bool,
    /// What was measured.
    pub measured: Map<String, Value>,
    /// Why it came out so, in numbers.
    pub note: String,
}

impl Claim {
    /// Applies `tests` to `measured`: the claim holds if all do. A value that is missing or not
    /// a number fails its test. `meaning` explains the names of the values.
    pub fn judge(
        id: &'static str,
        statement: &'static str,
        meaning: &str,
        tests: &[Test],
        measured: Map<String, Value>,
        note: String,
    ) -> Self {
        let holds = !tests.is_empty() && tests.iter().all(|test| test.passes(&measured));
        let conditions: Vec<String> =
            tests.iter().map(|Test(key, bound)| format!("{key} {}", bound.text())).collect();
        let criterion = format!("{}. {meaning}", conditions.join(" and "));
        Self { id, statement, criterion, holds, measured, note }
    }

    /// As `reproduce --json` prints it.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "holds": self.holds,
            "statement": self.statement,
            "measured": self.measured,
            "criterion": self.criterion,
            "note": self.note,
        })
    }
}
