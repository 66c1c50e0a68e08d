//! Files of run directories whose columns and keys have other names since a commit.
//!
//! Text is searched for whole words. A Parquet file ends with a footer that has the names of its
//! columns, each behind its length; the data before the footer has none, and stays as it is.

/// Old names with their new ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renamed(Vec<(String, String)>);

/// Beginning and end of a Parquet file.
const MAGIC: &[u8] = b"PAR1";
/// The end of the key of a column's description, and the type of the value behind it.
const DESCRIPTION: &[u8] = b".description\x18";
/// Endings of names in a footer: the column's own, and the keys of its metadata.
const ENDINGS: [&str; 3] = ["", ".description", ".unit"];

impl Renamed {
    /// Reads texts of the form OLD=NEW.
    pub(crate) fn parse(texts: &[String]) -> Result<Self, String> {
        let pair = |text: &String| {
            let parts = text.split_once('=').filter(|(old, new)| is_name(old) && is_name(new));
            let parts = parts.map(|(old, new)| (old.to_owned(), new.to_owned()));
            parts.ok_or(format!("--renamed {text}: not of the form OLD=NEW"))
        };
        texts.iter().map(pair).collect::<Result<_, _>>().map(Self)
    }

    /// A file of the old commit, as the new one would have written it.
    pub(crate) fn in_base(&self, bytes: &[u8]) -> Vec<u8> {
        if let Some((data, footer)) = parquet(bytes) {
            let renamed = self.0.iter().fold(footer.to_vec(), |footer, (old, new)| {
                ENDINGS.iter().fold(footer, |footer, ending| {
                    let [old, new] = [old, new].map(|name| counted(&format!("{name}{ending}")));
                    replaced(&footer, &old, &new)
                })
            });
            return [data, &without_descriptions(&renamed)].concat();
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => self.in_text(text).into_bytes(),
            Err(_) => bytes.to_vec(),
        }
    }

    /// A file of the new commit without the parts that [`Renamed::in_base`] leaves out.
    pub(crate) fn in_tree(&self, bytes: &[u8]) -> Vec<u8> {
        match parquet(bytes) {
            Some((data, footer)) => [data, &without_descriptions(footer)].concat(),
            None => bytes.to_vec(),
        }
    }

    fn in_text(&self, text: &str) -> String {
        let ends = |c: char| !(c.is_alphanumeric() || c == '_');
        text.split_inclusive(ends)
            .map(|part| {
                let word = part.trim_end_matches(ends);
                match self.0.iter().find(|(old, _)| old == word) {
                    Some((_, new)) => part.replacen(word, new, 1),
                    None => part.to_owned(),
                }
            })
            .collect()
    }
}

/// Data and footer of a Parquet file, without the footer's length, which names change.
fn parquet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = bytes.strip_prefix(MAGIC)?.strip_suffix(MAGIC)?;
    let (inside, length) = inside.split_last_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    inside.split_at_checked(inside.len().checked_sub(length)?)
}

/// A string as the footer has it. Its length is one byte, as for all names below 128 letters.
fn counted(name: &str) -> Vec<u8> {
    [&[name.len() as u8], name.as_bytes()].concat()
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(old.len()).position(|part| part == old) {
        made.extend_from_slice(&rest[..at]);
        made.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    made.extend_from_slice(rest);
    made
}

/// A footer without the sentences that describe its columns, which are prose and no results.
fn without_descriptions(footer: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(footer.len());
    let mut rest = footer;
    while let Some(at) = rest.windows(DESCRIPTION.len()).position(|part| part == DESCRIPTION) {
        let (before, behind) = rest.split_at(at + DESCRIPTION.len());
        made.extend_from_slice(before);
        // The length is a little-endian number in groups of seven bits.
        let bytes = behind.iter().take_while(|byte| **byte >= 0x80).count() + 1;
        let groups = behind.iter().take(bytes).enumerate();
        let length: usize = groups.map(|(i, byte)| usize::from(byte & 0x7f) << (7 * i)).sum();
        rest = behind.get(bytes + length..).unwrap_or_default();
    }
    made.extend_from_slice(rest);
    made
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed() -> Renamed {
        Renamed::parse(&["mdb=depth_bytes".to_owned()]).unwrap()
    }

    /// A file with this data, and a footer with a column and its description.
    fn file(data: &str, column: &str, description: &str) -> Vec<u8> {
        let key = counted(&format!("{column}.description"));
        let footer = [&counted(column)[..], &key, b"\x18", &counted(description)].concat();
        let length = (footer.len() as u32).to_le_bytes();
        [MAGIC, data.as_bytes(), &footer, &length, MAGIC].concat()
    }

    #[test]
    fn whole_words_of_text_are_renamed() {
        let text = renamed().in_base(b"mdb = 3, mdb_x = 4\n");
        assert_eq!(String::from_utf8(text).unwrap(), "depth_bytes = 3, mdb_x = 4\n");
        assert!(Renamed::parse(&["mdb".to_owned()]).is_err());
        assert!(Renamed::parse(&["=a".to_owned()]).is_err());
    }

    #[test]
    fn columns_are_renamed_and_descriptions_left_out() {
        let base = file("mdb 1", "mdb", "What it is.");
        let tree = file("mdb 1", "depth_bytes", &"A depth in bytes. ".repeat(9));
        let names = renamed();
        assert_eq!(names.in_base(&base), names.in_tree(&tree));
        assert_ne!(names.in_base(&file("mdb 2", "mdb", "")), names.in_tree(&tree), "other data");
        assert_ne!(names.in_base(&file("mdb 1", "mdc", "")), names.in_tree(&tree), "another name");
    }
}
