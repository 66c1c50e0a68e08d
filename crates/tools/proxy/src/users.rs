//! Users of the proxy and their passwords, which are read from a file.

use crate::error::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use subtle::ConstantTimeEq;

/// Maximum length of a name or a password in bytes (RFC 1929 section 2).
const MAX_BYTES: usize = 255;

/// Users and their passwords.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Users(BTreeMap<String, String>);

impl fmt::Debug for Users {
    /// Shows the names alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Users {
    /// Reads a file of users.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not valid.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text =
            fs::read_to_string(file).map_err(|why| Error::File { file: file.into(), why })?;
        Self::parse(&text).map_err(|why| Error::NotValid { file: file.into(), why })
    }

    /// Parses lines of the form `NAME:PASSWORD`. Empty lines, and lines that begin with `#`, are
    /// ignored. A password may contain colons.
    ///
    /// # Errors
    ///
    /// Number of the line, and the fault. The message contains no password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut users = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let fault = |why: &str| format!("line {}: {why}", number + 1);
            let (name, password) =
                line.split_once(':').ok_or_else(|| fault("expected NAME:PASSWORD"))?;
            let fits = |text: &str| (1..=MAX_BYTES).contains(&text.len());
            if !fits(name) || !fits(password) {
                return Err(fault("a name and a password have 1 to 255 bytes each"));
            }
            if users.insert(name.to_owned(), password.to_owned()).is_some() {
                return Err(fault(&format!("there is another password for `{name}`")));
            }
        }
        if users.is_empty() { Err("it names no user".to_owned()) } else { Ok(Self(users)) }
    }

    /// Whether this is the user's password. The time of the comparison does not depend on the place
    /// of the first difference.
    pub(crate) fn have(&self, name: &str, password: &str) -> bool {
        let known = self.0.get(name).map_or("", String::as_str);
        let is_same: bool = known.as_bytes().ct_eq(password.as_bytes()).into();
        is_same && !known.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_their_own_passwords() {
        let users = Users::parse("# of the lab\n\nann:s3cret:with colon\nben: x\n").expect("valid");
        assert!(users.have("ann", "s3cret:with colon") && users.have("ben", " x"));
        for (name, password) in [("ann", " x"), ("ann", ""), ("eve", ""), ("", ""), ("ben", "x")] {
            assert!(!users.have(name, password), "{name}:{password}");
        }
        assert_eq!(format!("{users:?}"), "{\"ann\", \"ben\"}");
    }

    #[test]
    fn faults_name_their_line_and_no_password() {
        let long = format!("ann:{}\n", "p".repeat(256));
        for (text, reported) in [
            ("ann:a\nsecret\n", "line 2: expected NAME:PASSWORD"),
            (":secret\n", "line 1: a name and a password have"),
            (long.as_str(), "line 1: a name and a password have"),
            ("ann:a\nann:b\n", "line 2: there is another password for `ann`"),
            ("# none\n", "it names no user"),
        ] {
            let error = Users::parse(text).expect_err(text);
            assert!(error.starts_with(reported) && !error.contains("secret"), "{error}");
        }
    }
}
