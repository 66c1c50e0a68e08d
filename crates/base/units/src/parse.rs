//! Reading and writing quantities with their units, without losing a digit.

use core::fmt;

/// A unit as written, and how many base units it is.
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) factor: u64,
}

/// Reason for which a text is not the quantity asked for. The message names the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {what}: {why}")]
pub struct ParseQuantityError {
    text: String,
    what: &'static str,
    why: String,
}

/// Splits `"2.5 ms"` into `("2.5", "ms")`.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+' || c == '_'))
        .unwrap_or(text.len());
    (text[..end].trim(), text[end..].trim())
}

/// Examples, separated by "or", in quotation marks.
fn quoted(examples: &str) -> String {
    examples.split(" or ").map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" or ")
}

fn names(units: &[Unit]) -> String {
    units.iter().map(|u| u.name).collect::<Vec<_>>().join(", ")
}

/// An unsigned integer number of base units: refuses a value that would have to be rounded.
pub(crate) fn integer(
    text: &str,
    what: &'static str,
    units: &[Unit],
    example: &str,
) -> Result<u64, ParseQuantityError> {
    let fail = |why: String| ParseQuantityError { text: text.to_owned(), what, why };
    let (number, unit) = split(text);
    let example = quoted(example);
    if number.is_empty() {
        return Err(fail(format!("it starts with no number; write it as {example}")));
    }
    if unit.is_empty() {
        return Err(fail(format!(
            "it has no unit; write one of {}, as in {example}",
            names(units)
        )));
    }
    let Some(unit) = units.iter().find(|u| u.name == unit) else {
        return Err(fail(format!("{unit:?} is not a unit here; use one of {}", names(units))));
    };
    scaled(number, unit.factor).map_err(|why| fail(why.to_owned()))
}

/// `number * factor` in exact integer arithmetic.
fn scaled(number: &str, factor: u64) -> Result<u64, &'static str> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 18 {
        return Err("the number must be digits, with at most one decimal point");
    }
    let too_large = "it is too large";
    let base = 10u128.pow(fraction.len() as u32);
    let value: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large)?;
    let product = value.checked_mul(u128::from(factor)).ok_or(too_large)?;
    if product % base != 0 {
        return Err("it is finer than the smallest unit; round it");
    }
    u64::try_from(product / base).map_err(|_| too_large)
}

/// A real number with one of the unit names in `units`; the first is the one printed.
pub(crate) fn real(
    text: &str,
    what: &'static str,
    units: &[(&str, f64)],
    example: &str,
) -> Result<f64, ParseQuantityError> {
    let fail = |why: String| ParseQuantityError { text: text.to_owned(), what, why };
    let (number, unit) = split(text);
    let listed = units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let Some((_, factor)) = units.iter().find(|u| u.0 == unit) else {
        return Err(fail(format!("write a number and one of {listed}, as in {example:?}")));
    };
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value * factor),
        _ => Err(fail(format!("{number:?} is not a number; write it as {example:?}"))),
    }
}

/// Writes `value` with the largest unit that leaves a whole number.
pub(crate) fn display_integer(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(&str, u64)],
) -> fmt::Result {
    let exact = |&&(_, factor): &&(&str, u64)| value != 0 && value.is_multiple_of(factor);
    let (name, factor) = units.iter().find(exact).unwrap_or(&units[0]);
    write!(f, "{} {name}", value / factor)
}

/// Writes a real number with its unit.
pub(crate) fn display_real(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    write!(f, "{value} {unit}")
}
