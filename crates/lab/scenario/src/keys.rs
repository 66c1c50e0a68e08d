//! Keys of tables, each declared once: name, sentence, type, range and default.
//!
//! [`keys!`] makes a table of its keys. One function of the table, [`Keyed::keys`], goes through
//! them in order and is used three ways: to read a table of a file, to write one with every
//! default, and to describe it for the JSON schema, from which the reference page and
//! `fairwave explain` come.

use crate::described::{Definitions, Described, sentence};
use crate::reader::{self, Mode, Problems, Read, Reader};
use crate::value::{Data, Table, Value};
use core::cell::RefCell;
use serde_json::{Map, Value as Json, json};

type ReadBy<T> = Box<dyn Fn(&Value) -> Read<T>>;
type WriteBy<T, W> = Box<dyn Fn(&T) -> W>;
type DescribeBy = Box<dyn Fn(&Definitions) -> Json>;

/// Form of a key's values: how they are read, written and described.
pub(crate) struct Kind<T> {
    read: ReadBy<T>,
    write: WriteBy<T, Json>,
    schema: DescribeBy,
}

impl<T: Clone + 'static> Kind<T> {
    /// Values that `schema` describes, which may define tables. Reading a file asks for no schema.
    pub(crate) fn new(
        read: impl Fn(&Value) -> Read<T> + 'static,
        write: impl Fn(&T) -> Json + 'static,
        schema: impl Fn(&Definitions) -> Json + 'static,
    ) -> Self {
        Self { read: Box::new(read), write: Box::new(write), schema: Box::new(schema) }
    }

    /// Reads a value.
    pub(crate) fn read(&self, value: &Value) -> Read<T> {
        (self.read)(value)
    }

    /// The same values, described by `schema`.
    pub(crate) fn described(self, schema: impl Fn(&Definitions) -> Json + 'static) -> Self {
        Self { schema: Box::new(schema), ..self }
    }

    /// The same values, of which `check` refuses some.
    pub(crate) fn checked(self, check: impl Fn(T) -> Read<T> + 'static) -> Self {
        let Self { read, write, schema } = self;
        Self { read: Box::new(move |value| check(read(value)?)), write, schema }
    }

    /// Another type made of the same values.
    pub(crate) fn map<U: Clone + 'static>(
        self,
        into: impl Fn(T) -> U + 'static,
        from: impl Fn(&U) -> T + 'static,
    ) -> Kind<U> {
        let Self { read, write, schema } = self;
        Kind {
            read: Box::new(move |value| read(value).map(&into)),
            write: Box::new(move |value| write(&from(value))),
            schema,
        }
    }

    /// Behind a pointer, which keeps its holder small.
    pub(crate) fn boxed(self) -> Kind<Box<T>> {
        self.map(Box::new, |value| (**value).clone())
    }

    /// `word` for none, or a value.
    pub(crate) fn or_word(self, word: &'static str) -> Kind<Option<T>> {
        let Self { read, write, schema } = self;
        Kind {
            read: Box::new(reader::or_word(word, read)),
            write: Box::new(move |value| value.as_ref().map_or_else(|| json!(word), &write)),
            schema: Box::new(move |definitions| {
                either(&json!({ "const": word }), &schema(definitions))
            }),
        }
    }

    /// A key that is `default` where it is not written.
    pub(crate) fn or(self, default: T) -> Entry<T> {
        let Self { read, write, schema } = self;
        let write = Box::new(move |value: &T| Some(write(value)));
        Entry {
            read,
            write,
            schema,
            absent: default,
            example: None,
            phrase: None,
            refused: None,
            is_conditional: false,
            is_hidden: false,
        }
    }

    /// A key that must be written, as in `example`.
    pub(crate) fn required(self, example: impl Into<String>) -> Entry<T>
    where
        T: Default,
    {
        Entry { example: Some(example.into()), ..self.or(T::default()) }
    }

    /// A key without a default.
    pub(crate) fn optional(self) -> Entry<Option<T>> {
        let Self { read, write, schema } = self;
        Entry {
            read: Box::new(move |value| read(value).map(Some)),
            write: Box::new(move |value: &Option<T>| value.as_ref().map(&write)),
            schema,
            absent: None,
            example: None,
            phrase: None,
            refused: None,
            is_conditional: false,
            is_hidden: false,
        }
    }
}

/// Values of two sorts, of which the second has the range.
fn either(word: &Json, other: &Json) -> Json {
    let range = other.get("x-range").cloned();
    let mut both = json!({ "anyOf": [word, other] });
    if let Some(range) = range {
        both["x-range"] = range;
    }
    both
}

/// A key of a table: its values, and its default.
pub(crate) struct Entry<T> {
    read: ReadBy<T>,
    write: WriteBy<T, Option<Json>>,
    schema: DescribeBy,
    absent: T,
    /// Forms in which it may be written, where it must be written.
    example: Option<String>,
    /// Its default, in words.
    phrase: Option<&'static str>,
    /// Reason for which it has no meaning here, and its substitute.
    refused: Option<(String, T)>,
    /// Whether there are conditions under which it means nothing.
    is_conditional: bool,
    /// Whether it does not exist here.
    is_hidden: bool,
}

impl<T: Clone + 'static> Entry<T> {
    /// A key that must be written, as in `example`; the default stands for one that is not.
    pub(crate) fn needs(self, example: impl Into<String>) -> Self {
        Self { example: Some(example.into()), ..self }
    }

    /// States the default in words, where it depends on other keys.
    pub(crate) fn phrase(self, phrase: &'static str) -> Self {
        Self { phrase: Some(phrase), ..self }
    }

    /// Another value for a key that is not written.
    pub(crate) fn absent(self, absent: T) -> Self {
        Self { absent, ..self }
    }

    /// A key that is left out where it has its default.
    pub(crate) fn terse(self) -> Self
    where
        T: PartialEq,
    {
        let (write, absent) = (self.write, self.absent.clone());
        let write = Box::new(move |value: &T| if *value == absent { None } else { write(value) });
        Self { write, ..self }
    }

    /// A key that is no key here if `is_hidden`.
    pub(crate) fn hidden_if(self, is_hidden: bool) -> Self {
        Self { is_hidden, ..self }
    }

    /// A key that `read` reads, because another one may stand for it: `name`, which `schema`
    /// describes.
    pub(crate) fn or_key<F: FnOnce(&Reader<'_>) -> T>(
        self,
        name: &'static str,
        schema: Json,
        read: F,
    ) -> Either<T, F> {
        Either { entry: self, name, schema, read }
    }

    /// A key that has a meaning only if `holds`; otherwise it is refused for the reason `why`, and
    /// `otherwise` stands for it.
    pub(crate) fn only_if(self, holds: bool, why: impl Into<String>, otherwise: T) -> Self {
        let refused = (!holds).then(|| (why.into(), otherwise));
        Self { refused, is_conditional: true, ..self }
    }

    /// The same with `None` for a refused value.
    pub(crate) fn when(self, holds: bool, why: impl Into<String>) -> Entry<Option<T>> {
        let Self { read, write, schema, absent, example, phrase, is_hidden, .. } = self;
        let entry = Entry {
            read: Box::new(move |value| read(value).map(Some)),
            write: Box::new(move |value: &Option<T>| value.as_ref().and_then(&write)),
            schema,
            absent: Some(absent),
            example,
            phrase,
            refused: None,
            is_conditional: true,
            is_hidden,
        };
        entry.only_if(holds, why, None)
    }
}

/// Substitute for a field in [`keys!`].
pub(crate) trait Part<T> {
    /// Reads, writes or describes it as key `name` of the table that `r` goes through.
    fn go(self, r: &Reader<'_>, name: &'static str, about: &str, this: Option<&T>) -> T;
}

impl<T: Clone + 'static> Part<T> for Entry<T> {
    fn go(self, r: &Reader<'_>, name: &'static str, about: &str, this: Option<&T>) -> T {
        match (r.mode(), this) {
            (Mode::Read | Mode::Describe(_) | Mode::Name(_), _) if self.is_hidden => self.absent,
            (Mode::Write(written), Some(value)) => {
                if let Some(json) = (self.write)(value) {
                    written.borrow_mut().insert(name.to_owned(), json);
                }
                value.clone()
            }
            (Mode::Describe(described), _) => {
                let schema = self.describe(about, described.definitions);
                described.add(name, schema, self.example.is_some() && !self.is_conditional);
                self.absent
            }
            (Mode::Name(names), _) => {
                names.borrow_mut().push(name);
                self.absent
            }
            _ => self.take(r, name),
        }
    }
}

/// A key that another one may stand for.
pub(crate) struct Either<T, F> {
    entry: Entry<T>,
    name: &'static str,
    schema: Json,
    read: F,
}

impl<T: Clone + 'static, F: FnOnce(&Reader<'_>) -> T> Part<T> for Either<T, F> {
    fn go(self, r: &Reader<'_>, name: &'static str, about: &str, this: Option<&T>) -> T {
        match r.mode() {
            Mode::Read => (self.read)(r),
            Mode::Write(_) => self.entry.go(r, name, about, this),
            Mode::Describe(described) => {
                let mut schema = self.entry.describe(about, described.definitions);
                schema["description"] =
                    json!(format!("{} Or write `{}`.", sentence(about), self.name));
                described.add(name, schema, false);
                described.add(self.name, self.schema, false);
                self.entry.absent
            }
            Mode::Name(names) => {
                names.borrow_mut().extend([name, self.name]);
                self.entry.absent
            }
        }
    }
}

impl<T: Clone + 'static> Entry<T> {
    fn take(self, r: &Reader<'_>, name: &'static str) -> T {
        if let Some((why, otherwise)) = self.refused {
            r.meaningless(&[name], &why);
            return otherwise;
        }
        match self.example {
            Some(example) => r.required(name, &example, self.read),
            None => r.optional(name, self.read),
        }
        .unwrap_or(self.absent)
    }

    fn describe(&self, about: &str, definitions: &Definitions) -> Json {
        let mut schema = (self.schema)(definitions);
        let mut about = sentence(about);
        if let Some(range) = schema.get("x-range").and_then(Json::as_str) {
            about += &format!(" {range}.");
        }
        let default = match (self.phrase, &self.example) {
            (Some(phrase), _) => Some(phrase.to_owned()),
            (None, Some(example)) => {
                schema["examples"] = json!([example]);
                None
            }
            (None, None) => (self.write)(&self.absent).map(|default| {
                schema["default"] = default.clone();
                inline(&default)
            }),
        };
        let words = if self.example.is_some() {
            let where_known = if self.is_conditional { " where it has a meaning" } else { "" };
            format!("Required{where_known}.")
        } else {
            format!("Default: {}.", default.unwrap_or_else(|| "none".to_owned()))
        };
        schema["description"] = json!(format!("{about} {words}"));
        schema
    }
}

/// The keys of another table, beside those of the one that it is part of.
pub(crate) struct Flat<T: Keyed>(pub(crate) T::Context);

impl<T: Keyed> Part<T> for Flat<T> {
    fn go(self, r: &Reader<'_>, _: &'static str, _: &str, this: Option<&T>) -> T {
        T::keys(r, this, &self.0)
    }
}

/// A table with keys.
pub(crate) trait Keyed: Clone + 'static {
    /// Name in the schema.
    const NAME: &'static str;
    /// Description in a sentence.
    const ABOUT: &'static str;
    /// Inputs of its defaults beside its own keys.
    type Context: 'static;

    /// The context of the defaults in the documentation.
    fn usual() -> Self::Context;

    /// Reads a table inside another one; `help` is for a file with something else there.
    fn nested(value: &Value, context: &Self::Context, help: &str) -> Read<Self> {
        match &value.data {
            Data::Table(table) => reader::nested(table, value, |r| Self::keys(r, None, context)),
            _ if help.is_empty() => Err(reader::wrong_type(value, "a table")),
            _ => Err(reader::wrong_type(value, "a table").help(help)),
        }
    }

    /// Goes through the keys: reads them by `r`, or writes those of `this`, or describes them.
    fn keys(r: &Reader<'_>, this: Option<&Self>, context: &Self::Context) -> Self;
}

/// A table as it is written, with every default.
pub(crate) fn written<T: Keyed>(this: &T) -> Map<String, Json> {
    let (table, problems) = (Table::default(), Problems::default());
    let map = RefCell::default();
    let reader = Reader::new("", &table, 0..0, &problems).going(Mode::Write(&map));
    T::keys(&reader, Some(this), &T::usual());
    drop(reader);
    map.into_inner()
}

/// The schema of a table.
pub(crate) fn schema<T: Keyed>(definitions: &Definitions) -> Json {
    describe(definitions, |r| {
        T::keys(r, None, &T::usual());
    })
    .schema(T::ABOUT, false)
}

/// Describes the keys that `go` goes through.
pub(crate) fn describe<'a>(
    definitions: &'a Definitions,
    go: impl FnOnce(&Reader<'_>),
) -> Described<'a> {
    let (table, problems) = (Table::default(), Problems::default());
    let described = Described::new(definitions);
    go(&Reader::new("", &table, 0..0, &problems).going(Mode::Describe(&described)));
    described
}

/// Returns the names of the keys that `go` goes through, and its result.
///
/// Reading asks for them with every file, so they cost nothing of a schema's cost.
pub(crate) fn listed<T>(go: impl FnOnce(&Reader<'_>) -> T) -> (Vec<&'static str>, T) {
    let (table, problems) = (Table::default(), Problems::default());
    let names = RefCell::default();
    let made = go(&Reader::new("", &table, 0..0, &problems).going(Mode::Name(&names)));
    (names.into_inner(), made)
}

/// The names of its keys.
pub(crate) fn names<T: Keyed>() -> Vec<&'static str> {
    listed(|r| T::keys(r, None, &T::usual())).0
}

/// A table inside another one, with the context that its defaults depend on.
pub(crate) fn table_in<T: Keyed>(context: T::Context, help: &'static str) -> Kind<T> {
    let read = move |value: &Value| T::nested(value, &context, help);
    Kind::new(read, |this| Json::Object(written(this)), reference::<T>)
}

/// A table inside another one.
pub(crate) fn table<T: Keyed>(help: &'static str) -> Kind<T> {
    table_in(T::usual(), help)
}

/// Returns the place of the schema of a table, which is defined if it was not.
pub(crate) fn reference<T: Keyed>(definitions: &Definitions) -> Json {
    if !definitions.borrow().contains_key(T::NAME) {
        let schema = schema::<T>(definitions);
        definitions.borrow_mut().insert(T::NAME.to_owned(), schema);
    }
    json!({ "$ref": format!("#/$defs/{}", T::NAME) })
}

/// A value as TOML writes it in one line.
pub(crate) fn inline(value: &Json) -> String {
    match value {
        Json::Array(list) => {
            format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Json::Object(map) if map.is_empty() => "{}".to_owned(),
        Json::Object(map) => {
            let entry = |(key, value): (&String, &Json)| format!("{key} = {}", inline(value));
            format!("{{ {} }}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Declares a table: a struct of its keys, in the order in which they are read and written.
///
/// `|r| (context: Type = usual)` names the reader and the context on which defaults depend. An
/// expression may use the keys before it, and variables of the `let` lines. `check` runs after all
/// keys have been read. With `for` in place of `struct` the struct is declared elsewhere; `..` at
/// the end gives its fields that have no key.
macro_rules! keys {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $table:ident $([$($derive:ident),+])?
        |$r:ident| $(($context:ident : $Context:ty = $usual:expr))? {
            $(let $early:pat = $value:expr;)*
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(as $name:literal)? : $type:ty = $entry:expr;
            )*
        }
        $(check $check:expr;)?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq $(, $($derive),+)?)]
        $vis struct $table {
            $($(#[doc = $doc])+ $vis $field: $type,)*
        }

        $crate::keys::keys! {
            $(#[doc = $about])+
            for $table |$r| $(($context: $Context = $usual))? {
                $(let $early = $value;)*
                $(
                    $(#[doc = $doc])+
                    $field $(as $name)? : $type = $entry;
                )*
            }
            $(check $check;)?
        }
    };
    (
        $(#[doc = $about:literal])+
        for $table:ident |$r:ident| $(($context:ident : $Context:ty = $usual:expr))? {
            $(let $early:pat = $value:expr;)*
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(as $name:literal)? : $type:ty = $entry:expr;
            )*
            $(..$rest:expr)?
        }
        $(check $check:expr;)?
    ) => {
        impl $crate::keys::Keyed for $table {
            const NAME: &'static str = stringify!($table);
            const ABOUT: &'static str = concat!($($about, "\n"),+);
            type Context = $crate::keys::keys!(@type $($Context)?);

            fn usual() -> Self::Context {
                $crate::keys::keys!(@usual $($usual)?)
            }

            fn keys(
                $r: &$crate::reader::Reader<'_>,
                this: Option<&Self>,
                context: &Self::Context,
            ) -> Self {
                let (_, _) = (this, context);
                $(let $context = context;)?
                $(let $early = $value;)*
                $(
                    let $field: $type = $crate::keys::Part::go(
                        $entry,
                        $r,
                        $crate::keys::keys!(@name $field $($name)?),
                        concat!($($doc, "\n"),+),
                        this.map(|this| &this.$field),
                    );
                )*
                let table = Self { $($field,)* $(..$rest)? };
                $(if $r.is_reading() {
                    let check: fn(&Self, &$crate::reader::Reader<'_>) = $check;
                    check(&table, $r);
                })?
                table
            }
        }
    };
    (@type) => { () };
    (@type $Context:ty) => { $Context };
    (@usual) => { () };
    (@usual $usual:expr) => { $usual };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}
pub(crate) use keys;

/// A table with its defaults, which stands for one that could not be read.
pub(crate) fn defaults<T: Keyed>() -> T {
    listed(|r| T::keys(r, None, &T::usual())).1
}
