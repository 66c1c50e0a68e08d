//! Dotted keys, by which sweeps and `--set` address a value: `node.sta.count`.

use super::diagnostic::{Problem, Refusal};
use super::limits::MAX_PARTS;
use super::reader::element_name;
use super::value::{Data, Span, Table, Value};

/// Tables that are lists, whose elements are addressed by name.
const LISTS: [&str; 4] = ["cell", "node", "link", "flow"];

/// Sets the value that `path` addresses. Reading the result shows whether the key exists.
pub(crate) fn set(root: &mut Table, path: &str, at: Span, value: Value) -> Result<(), Problem> {
    let fail = |refusal: Refusal| Problem { span: at.clone(), key: path.to_owned(), refusal };
    let segments: Vec<&str> = path.split('.').map(str::trim).collect();
    if segments.iter().any(|s| s.is_empty()) {
        return Err(fail(Refusal::new("a dotted key has an empty part")));
    }
    if segments.len() > MAX_PARTS {
        let message = format!("a dotted key of {} parts", segments.len());
        return Err(fail(Refusal::new(message).help(format!("no key has more than {MAX_PARTS}"))));
    }
    let (table, rest) = descend(root, &segments, &at).map_err(&fail)?;
    let Some((last, inner)) = rest.split_last() else {
        let help = "name one of its keys, as in node.sta.count";
        return Err(fail(Refusal::new("this is a table, not a value").help(help)));
    };
    let mut table = table;
    let mut inner = inner.iter().peekable();
    while let Some(segment) = inner.next() {
        let number = inner.peek().and_then(|next| next.parse::<usize>().ok());
        table = match number {
            Some(number) => {
                inner.next();
                element(table, segment, number).map_err(&fail)?
            }
            None => subtable(table, segment, &at).map_err(&fail)?,
        };
    }
    if let Some(Value { data: Data::Table(_), .. }) = table.get(last)
        && ["record", "tcp"].contains(last)
    {
        return Err(fail(
            Refusal::new("this is a table, not a value").help("name one of its keys"),
        ));
    }
    table.insert(last, at.clone(), value);
    Ok(())
}

/// Enters the element that a path into a list begins with; returns the rest of the path.
fn descend<'t, 's>(
    root: &'t mut Table,
    segments: &'s [&'s str],
    at: &Span,
) -> Result<(&'t mut Table, &'s [&'s str]), Refusal> {
    let key = segments[0];
    if !LISTS.contains(&key) {
        return Ok((root, segments));
    }
    if key == "cell" && root.get(key).is_none() {
        let data = Data::Table(Table::default());
        root.insert(key, at.clone(), Value { span: at.clone(), data });
    }
    let named = segments.get(1).copied();
    let elements: &mut [Value] = match root.get_mut(key) {
        Some(Value { data: Data::List(list), .. }) => list,
        Some(value) => core::slice::from_mut(value),
        None => &mut [],
    };
    let names: Vec<String> = elements.iter().enumerate().map(|(i, v)| called(key, i, v)).collect();
    let found = names.iter().position(|n| Some(n.as_str()) == named);
    // The only cell needs no name.
    let (index, rest) = match (found, key, names.len()) {
        (Some(index), ..) => (index, &segments[2..]),
        (None, "cell", 1) => (0, &segments[1..]),
        _ => return Err(not_named(key, named, &names)),
    };
    match &mut elements[index].data {
        Data::Table(table) => Ok((table, rest)),
        _ => Err(Refusal::new(format!("{key} is not a table"))),
    }
}

/// Reason for which the path into a list of tables leads to none of those that have `names`.
fn not_named(key: &str, named: Option<&str>, names: &[String]) -> Refusal {
    match (named, names) {
        (Some(written), _) => {
            Refusal::new(format!("there is no {key} called {written:?}")).among(written, names)
        }
        (None, [first, ..]) => Refusal::new("this is a list of tables, not a value")
            .help(format!("name one of them and one of its keys, as in {key}.{first}.name")),
        (None, []) => Refusal::new(format!("there is no {key} in the file")),
    }
}

fn called(key: &str, index: usize, value: &Value) -> String {
    match &value.data {
        Data::Table(table) => element_name(key, index, table),
        _ => index.to_string(),
    }
}

/// The table with this number, counted from 0, in the list called `key`.
fn element<'t>(table: &'t mut Table, key: &str, number: usize) -> Result<&'t mut Table, Refusal> {
    let Some(Value { data: Data::List(list), .. }) = table.get_mut(key) else {
        return Err(Refusal::new(format!("{key:?} is not a list here")));
    };
    let len = list.len();
    match list.get_mut(number).map(|value| &mut value.data) {
        Some(Data::Table(inner)) => Ok(inner),
        Some(_) => Err(Refusal::new(format!("number {number} of {key:?} is not a table"))),
        None => {
            let message = format!("{key:?} has {len} entries, of which the first has number 0");
            Err(Refusal::new(message))
        }
    }
}

fn subtable<'t>(table: &'t mut Table, key: &str, at: &Span) -> Result<&'t mut Table, Refusal> {
    if table.get(key).is_none() {
        let data = Data::Table(Table::default());
        table.insert(key, at.clone(), Value { span: at.clone(), data });
    }
    match table.get_mut(key).map(|v| &mut v.data) {
        Some(Data::Table(inner)) => Ok(inner),
        Some(_) | None => Err(Refusal::new(format!("{key:?} is not a table here"))
            .help("make it a table in the file, or set all of it")),
    }
}
