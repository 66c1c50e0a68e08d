//! Lists of the paths of a flow, each by way of a node of its own.

use crate::diagnostic::Refusal;
use crate::keys::{Keyed, Kind, reference, written};
use crate::reader::{self, Read};
use crate::value::{Data, Value};
use serde_json::{Value as Json, json};

/// Paths of a flow.
const MAX_PATHS: usize = 16;

/// Forms in which paths may be written.
pub(crate) const EXAMPLE: &str = "paths = [{ via = \"phone1\" }, { via = \"phone2\" }]";

/// A path, which has a key `via`.
pub(crate) trait Via: Keyed {
    /// The node that it passes.
    fn via(&self) -> &str;

    /// Description of the error.
    fn refused(&self) -> Option<Refusal> {
        None
    }
}

/// A list of paths.
pub(crate) fn paths<P: Via>(context: P::Context) -> Kind<Vec<P>> {
    let write = |paths: &Vec<P>| paths.iter().map(|path| Json::Object(written(path))).collect();
    Kind::new(
        move |value| read(value, &context),
        write,
        |definitions| {
            let items = reference::<P>(definitions);
            json!({ "type": "array", "items": items, "minItems": 1, "maxItems": MAX_PATHS })
        },
    )
}

fn read<P: Via>(value: &Value, context: &P::Context) -> Read<Vec<P>> {
    let Data::List(list) = &value.data else {
        let help = format!("write {EXAMPLE}");
        return Err(reader::wrong_type(value, "a list of tables").help(help));
    };
    if list.is_empty() || list.len() > MAX_PATHS {
        let message = format!("{} paths, not 1 to {MAX_PATHS}", list.len());
        return Err(Refusal::new(message).help(format!("write {EXAMPLE}")));
    }
    let mut paths: Vec<P> = Vec::with_capacity(list.len());
    for value in list {
        let Data::Table(table) = &value.data else {
            return Err(reader::wrong_type(value, "a table such as { via = \"phone1\" }"));
        };
        let next = reader::nested(table, value, |r| P::keys(r, None, context))?;
        if let Some(refusal) = next.refused() {
            return Err(refusal);
        }
        if paths.iter().any(|path| path.via() == next.via()) {
            let message = format!("two paths pass {:?}", next.via());
            return Err(Refusal::new(message).help("each path passes a node of its own"));
        }
        paths.push(next);
    }
    Ok(paths)
}
