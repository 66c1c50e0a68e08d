//! Files in memory, with as much of a file system as run directories need. Directories need not be
//! made. Each thread has files of its own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

thread_local! {
    static FILES: RefCell<BTreeMap<PathBuf, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
}

/// A file that is open for writing at its end.
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
}

impl File {
    /// Opens an empty file, in place of an earlier one.
    pub(crate) fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        FILES.with_borrow_mut(|files| files.insert(path.clone(), Vec::new()));
        Ok(Self { path })
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        FILES.with_borrow_mut(|files| {
            files.get_mut(&self.path).ok_or_else(missing)?.extend_from_slice(bytes);
            Ok(bytes.len())
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Does nothing: a path of memory needs no directory.
#[cfg_attr(not(target_arch = "wasm32"), expect(dead_code, reason = "tests have no use for it"))]
pub(crate) fn create_dir_all(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Gives a file another name, in place of a file that has it.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    FILES.with_borrow_mut(|files| {
        let bytes = files.remove(from).ok_or_else(missing)?;
        files.insert(to.to_owned(), bytes);
        Ok(())
    })
}

/// Removes a file.
pub(crate) fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let removed = FILES.with_borrow_mut(|files| files.remove(path.as_ref()));
    removed.map(drop).ok_or_else(missing)
}

/// The content of a file of text.
pub(crate) fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = FILES.with_borrow(|files| files.get(path.as_ref()).cloned());
    String::from_utf8(bytes.ok_or_else(missing)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The names of the files in a directory.
pub(crate) fn names_in(directory: &Path) -> io::Result<Vec<String>> {
    let inside = |path: &PathBuf| {
        let name = path.strip_prefix(directory).ok()?.to_str()?;
        (!name.contains('/')).then(|| name.to_owned())
    };
    Ok(FILES.with_borrow(|files| files.keys().filter_map(inside).collect()))
}

/// Takes the files of a directory out of memory, by their names.
#[cfg_attr(not(target_arch = "wasm32"), expect(unreachable_pub, reason = "here only tests use it"))]
pub fn take_files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = names_in(directory).unwrap_or_default();
    FILES.with_borrow_mut(|files| {
        let mut take = |name: String| Some((name.clone(), files.remove(&directory.join(name))?));
        names.into_iter().filter_map(&mut take).collect()
    })
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_last_name() {
        let directory = Path::new("run");
        let (old, new) = (directory.join("a.partial"), directory.join("a"));
        let mut file = File::create(&old).expect("it opens");
        file.write_all(b"one").expect("it is written");
        rename(&old, &new).expect("it is there");
        assert!(remove_file(&old).is_err());
        File::create(Path::new("run/deeper/b")).expect("it opens");
        assert_eq!(names_in(directory).expect("names"), ["a"]);
        assert_eq!(read_to_string(&new).expect("a text"), "one");
        assert_eq!(take_files(directory), BTreeMap::from([("a".to_owned(), b"one".to_vec())]));
        assert_eq!(names_in(directory).expect("names"), [""; 0]);
    }

    #[test]
    fn a_removed_file_takes_no_bytes() {
        let path = Path::new("gone");
        let mut file = File::create(path).expect("it opens");
        remove_file(path).expect("it is there");
        assert!(file.write_all(b"late").is_err());
    }
}
