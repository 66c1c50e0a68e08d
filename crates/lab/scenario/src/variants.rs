//! Tables of which one key selects one of several sets of keys.

use crate::described::Described;
use crate::reader::{self, Read, Reader};
use crate::value::Value;
use serde_json::json;

/// The word of a table that is of one of several sorts: of its own, or else the usual one.
pub(crate) enum Usual {
    /// This word where none is written.
    Word(&'static str),
    /// A word must be written, as in this example.
    Example(&'static str),
}

impl Usual {
    /// The word under `tag`, if it is one of `words`.
    pub(crate) fn read(
        &self,
        r: &Reader<'_>,
        tag: &'static str,
        words: &[&'static str],
    ) -> Option<&'static str> {
        let read = |value: &Value| -> Read<&'static str> {
            let list: Vec<(&'static str, &'static str)> = words.iter().map(|w| (*w, *w)).collect();
            reader::choice(&list)(value)
        };
        match self {
            Self::Word(word) if !r.has(tag) => {
                r.know(&[tag]);
                Some(word)
            }
            Self::Word(_) => r.optional(tag, read),
            Self::Example(example) => r.required(tag, example, read),
        }
    }

    /// The schema of the word of one of the sorts.
    pub(crate) fn describe(&self, described: &Described<'_>, tag: &'static str, word: &str) {
        let is_usual = matches!(self, Self::Word(usual) if *usual == word);
        described.add(tag, json!({ "const": word }), !is_usual);
    }
}

/// The keys of all sorts but those of the sort `own`.
pub(crate) fn others(sets: &[Vec<&'static str>], own: Option<usize>) -> Vec<&'static str> {
    let own = own.map_or(&[][..], |own| &sets[own]);
    sets.iter().flatten().copied().filter(|key| !own.contains(key)).collect()
}

/// Declares a table of which one key, the tag, selects one of several sets of keys.
///
/// A line is a sort of table: its sentence, the set of keys, its word, why the keys of the others
/// are refused, and the context of its keys.
macro_rules! variants {
    (
        $(#[doc = $about:literal])+
        $vis:vis enum $table:ident by $tag:literal, $usual:expr, |$r:ident|
        $(($context:ident : $Context:ty = $default:expr))? {
            $(
                $(#[doc = $doc:literal])+
                $variant:ident($Keys:ty) = $word:literal, $why:expr, $given:expr;
            )+
        }
        $(as $Trait:path;)?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $table {
            $($(#[doc = $doc])+ $variant($Keys),)+
        }

        impl $table {
            /// The words of its sorts.
            pub(crate) const WORDS: &'static [&'static str] = &[$($word),+];

            /// The keys of each sort.
            fn sets() -> &'static [Vec<&'static str>] {
                static SETS: std::sync::OnceLock<Vec<Vec<&'static str>>> =
                    std::sync::OnceLock::new();
                SETS.get_or_init(|| vec![$($crate::keys::names::<$Keys>()),+])
            }
        }

        variants!(@inner [$($Trait)?] $table $($variant)+);

        impl $crate::keys::Keyed for $table {
            const NAME: &'static str = stringify!($table);
            const ABOUT: &'static str = concat!($($about, "\n"),+);
            type Context = $crate::keys::keys!(@type $($Context)?);

            fn usual() -> Self::Context {
                $crate::keys::keys!(@usual $($default)?)
            }

            fn keys(
                $r: &$crate::reader::Reader<'_>,
                this: Option<&Self>,
                context: &Self::Context,
            ) -> Self {
                let _ = context;
                use $crate::reader::Mode;
                $(let $context = context;)?
                match ($r.mode(), this) {
                    $((Mode::Write(written), Some(Self::$variant(keys))) => {
                        written.borrow_mut().insert($tag.to_owned(), serde_json::json!($word));
                        let keys = <$Keys as $crate::keys::Keyed>::keys($r, Some(keys), &$given);
                        return Self::$variant(keys);
                    })+
                    (Mode::Describe(described), _) => {
                        $(
                            let variant = $crate::keys::describe(described.definitions, |r| {
                                if let Mode::Describe(described) = r.mode() {
                                    $usual.describe(described, $tag, $word);
                                }
                                <$Keys as $crate::keys::Keyed>::keys(r, None, &$given);
                            });
                            described.add_variant(variant, concat!($($doc, "\n"),+));
                        )+
                    }
                    (Mode::Name(names), _) => {
                        $(
                            names.borrow_mut().push($tag);
                            <$Keys as $crate::keys::Keyed>::keys($r, None, &$given);
                        )+
                    }
                    _ => {
                        let word = $usual.read($r, $tag, Self::WORDS);
                        let own = Self::WORDS.iter().position(|known| word == Some(*known));
                        let others = $crate::variants::others(Self::sets(), own);
                        match word {
                            $(Some($word) => {
                                $r.meaningless(&others, $why);
                                let keys = <$Keys as $crate::keys::Keyed>::keys($r, None, &$given);
                                return Self::$variant(keys);
                            })+
                            _ => $r.pass(&others),
                        }
                    }
                }
                $crate::variants::first!($(Self::$variant, $Keys;)+)
            }
        }
    };
    (@inner [] $($rest:ident)+) => {};
    (@inner [$Trait:path] $table:ident $($variant:ident)+) => {
        impl $table {
            /// Operations common to all sorts.
            fn inner(&self) -> &dyn $Trait {
                match self { $(Self::$variant(keys) => keys,)+ }
            }
        }
    };
}
pub(crate) use variants;

/// The first sort of a table with its defaults.
macro_rules! first {
    ($variant:path, $Keys:ty; $($rest:tt)*) => {
        $variant($crate::keys::defaults::<$Keys>())
    };
}
pub(crate) use first;
