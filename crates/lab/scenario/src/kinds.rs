//! Kinds of values that keys have.

use crate::diagnostic::Refusal;
use crate::keys::Kind;
use crate::limits::{MICROSECOND, SECOND};
use crate::reader::{self, Read};
use crate::value::Value;
use core::fmt::Display;
use core::str::FromStr;
use fairwave_queue::Limit;
use fairwave_units::{Bytes, Dbm, Duration, Metres};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::rc::Rc;

fn range(kind: &str, min: impl Display, max: impl Display) -> Json {
    json!({ "type": kind, "x-range": format!("From {min} to {max}") })
}

/// The schema of a number in `min..=max`.
fn bounded(kind: &str, min: impl Display + Serialize, max: impl Display + Serialize) -> Json {
    let mut schema = range(kind, &min, &max);
    (schema["minimum"], schema["maximum"]) = (json!(min), json!(max));
    schema
}

/// A quantity with its unit, in `min..=max`.
pub(crate) fn within<T>(min: T, max: T) -> Kind<T>
where
    T: FromStr<Err: Display> + PartialOrd + Display + Copy + 'static,
{
    Kind::new(
        reader::within(min, max),
        |value| json!(value.to_string()),
        move |_| {
            let mut schema = range("string", min, max);
            schema["x-unit"] = json!(units::<T>());
            schema
        },
    )
}

/// The tick of a clock, or "off" for one that is exact.
pub(crate) fn ticks() -> Kind<Option<Duration>> {
    within(MICROSECOND, SECOND).or_word("off")
}

/// A quantity with its unit, in whatever range.
pub(crate) fn quantity<T>() -> Kind<T>
where
    T: FromStr<Err: Display> + Display + Clone + 'static,
{
    let schema = |_: &_| json!({ "type": "string", "x-unit": units::<T>() });
    Kind::new(reader::quantity, |value: &T| json!(value.to_string()), schema)
}

/// The units of a quantity, as its parser names them if none is written.
fn units<T: FromStr<Err: Display>>() -> String {
    let refusal = "1".parse::<T>().err().map(|error| error.to_string()).unwrap_or_default();
    let named = refusal.split_once("one of ").map_or("", |(_, named)| named);
    named.split_once(", as in").map_or(named, |(units, _)| units).to_owned()
}

/// A size in bytes that is kept as a number, in `min..=max`.
pub(crate) fn size(min: u32, max: u32) -> Kind<u32> {
    let bytes = |bytes: u32| Bytes(u64::from(bytes));
    within(bytes(min), bytes(max))
        .map(move |bytes| u32::try_from(bytes.0).unwrap_or(max), move |size| bytes(*size))
}

/// The bound of a queue, in packets or bytes.
pub(crate) fn bounds() -> Kind<Limit> {
    let schema = |_: &_| {
        let unit = format!("packets, {}", units::<Bytes>());
        json!({ "type": "string", "x-unit": unit })
    };
    Kind::new(reader::limit, |limit| json!(reader::show_limit(limit)), schema)
}

/// A whole number in `min..=max`.
pub(crate) fn integer(min: u64, max: u64) -> Kind<u64> {
    Kind::new(reader::integer(min, max), |n| json!(n), move |_| bounded("integer", min, max))
}

/// A whole number in `min..=max`.
pub(crate) fn count(min: u32, max: u32) -> Kind<u32> {
    integer(min.into(), max.into()).map(move |n| u32::try_from(n).unwrap_or(max), |n| u64::from(*n))
}

/// A number without a unit in `min..=max`.
pub(crate) fn real(min: f64, max: f64) -> Kind<f64> {
    Kind::new(reader::real(min, max), |x| json!(x), move |_| bounded("number", min, max))
}

/// A number from 0 to 1.
pub(crate) fn probability() -> Kind<f64> {
    Kind::new(reader::probability, |x| json!(x), |_| bounded("number", 0, 1))
}

/// A whole number followed by a word, as in `"100 packets"`.
pub(crate) fn counted(unit: &'static str, min: u32, max: u32) -> Kind<u32> {
    let write = move |n: &u32| json!(format!("{n} {unit}"));
    Kind::new(reader::counted(unit, min, max), write, move |_| {
        let mut schema = range("string", min, max);
        schema["x-unit"] = json!(unit);
        schema
    })
}

/// True or false.
pub(crate) fn boolean() -> Kind<bool> {
    Kind::new(reader::boolean, |flag| json!(flag), |_| json!({ "type": "boolean" }))
}

/// A free text.
pub(crate) fn text() -> Kind<String> {
    Kind::new(reader::text, |text| json!(text), |_| json!({ "type": "string" }))
}

/// A name of at most this number of characters.
pub(crate) fn name(maximum: usize) -> Kind<String> {
    Kind::new(reader::name_up_to(maximum), |text| json!(text), |_| json!({ "type": "string" }))
}

/// One of the words in a list.
pub(crate) fn choice<T>(list: &'static [(&'static str, T)]) -> Kind<T>
where
    T: Copy + PartialEq + Sync + 'static,
{
    let write = move |value: &T| json!(reader::word(list, value));
    Kind::new(reader::choice(list), write, |_| {
        let words: Vec<&str> = list.iter().map(|(word, _)| *word).collect();
        json!({ "type": "string", "enum": words })
    })
}

/// One of several names; `unknown` says that another is none.
pub(crate) fn named<S>(names: Vec<S>, unknown: impl Fn(&str) -> String + 'static) -> Kind<String>
where
    S: AsRef<str> + Serialize + 'static,
{
    let names = Rc::new(names);
    let listed = Rc::clone(&names);
    let read = move |value: &Value| -> Read<String> {
        let name = reader::text(value)?;
        if names.iter().any(|known| known.as_ref() == name) {
            return Ok(name);
        }
        Err(Refusal::new(unknown(&name)).among(&name, &names))
    };
    Kind::new(
        read,
        |name| json!(name),
        move |_| json!({ "type": "string", "enum": listed.as_slice() }),
    )
}

/// Two coordinates.
pub(crate) fn position() -> Kind<[Metres; 2]> {
    let write = |place: &[Metres; 2]| json!(place.map(|metres| metres.to_string()));
    let schema = |_: &_| {
        let item = json!({ "type": "string", "x-unit": units::<Metres>() });
        json!({ "type": "array", "items": item, "minItems": 2, "maxItems": 2 })
    };
    Kind::new(reader::position, write, schema)
}

/// A power level.
pub(crate) fn level() -> Kind<Dbm> {
    within(Dbm(-150.0), Dbm(60.0))
}

/// A list that `read` reads and `item` writes, one of its elements described by `items`.
pub(crate) fn list<T: Clone + 'static>(
    read: impl Fn(&Value) -> Read<Vec<T>> + 'static,
    item: impl Fn(&T) -> Json + 'static,
    items: impl Fn() -> Json + 'static,
) -> Kind<Vec<T>> {
    let write = move |list: &Vec<T>| list.iter().map(&item).collect::<Json>();
    Kind::new(read, write, move |_| json!({ "type": "array", "items": items() }))
}

/// A name of a node, or a pattern of names.
pub(crate) fn pattern() -> Kind<String> {
    Kind::new(reader::pattern, |name| json!(name), |_| json!({ "type": "string" }))
}

/// A list of names of nodes, or of patterns of names.
pub(crate) fn nodes() -> Kind<Vec<String>> {
    list(reader::nodes, |name| json!(name), || json!({ "type": "string" }))
}
