//! Comparison of two run directories byte by byte.

use crate::shell::Outcome;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Result of a comparison.
#[derive(Debug)]
pub struct Compared {
    /// Number of files on the left.
    pub files: usize,
    /// A line for each file that differs or is on one side only.
    pub differences: Vec<String>,
}

/// The part of a file that is compared.
pub type View<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

/// Fails with the first file that differs, or is on one side only.
///
/// # Errors
/// With that file; or if a directory cannot be read, or the left one is empty.
pub fn same(left: &Path, right: &Path) -> Outcome {
    let compared = compare(left, right, [&<[u8]>::to_vec, &<[u8]>::to_vec])?;
    match compared.differences.first() {
        Some(difference) => {
            Err(format!("{} and {}: {difference}", left.display(), right.display()))
        }
        None => {
            println!("{} files are the same", compared.files);
            Ok(())
        }
    }
}

/// Compares the files of two directories, as the left and the right view show them.
///
/// # Errors
/// If a directory cannot be read, or the left one is empty.
pub fn compare(left: &Path, right: &Path, views: [View<'_>; 2]) -> Result<Compared, String> {
    let (ours, theirs) = (files(left)?, files(right)?);
    if ours.is_empty() {
        return Err(format!("{} holds no files: nothing was compared", left.display()));
    }
    let mut differences = Vec::new();
    for file in &ours {
        if !theirs.contains(file) {
            differences.push(format!("{} is on the left only", file.display()));
            continue;
        }
        let (a, b) = (read(&left.join(file))?, read(&right.join(file))?);
        // Most files are the same as they are, and need not be taken apart.
        if a == b {
            continue;
        }
        if let Some(at) = first_difference(&views[0](&a), &views[1](&b)) {
            differences.push(format!("{} differs from byte {at} on", file.display()));
        }
    }
    let more = theirs.iter().filter(|file| !ours.contains(file));
    differences.extend(more.map(|file| format!("{} is on the right only", file.display())));
    Ok(Compared { files: ours.len(), differences })
}

/// Position of the first difference between two byte strings, if there is one.
fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    (common < a.len().max(b.len())).then_some(common)
}

/// Pages contain the time that their runs took, so they never are the same.
const PAGE: &str = "report.html";

/// Paths below `top`, relative and sorted.
fn files(top: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    collect(top, top, &mut found).map_err(|error| format!("{}: {error}", top.display()))?;
    found.sort();
    Ok(found)
}

fn collect(top: &Path, directory: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(top, &path, found)?;
        } else if let Ok(relative) = path.strip_prefix(top).map(Path::to_path_buf)
            && relative != Path::new(PAGE)
        {
            found.push(relative);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_wherever_it_is() {
        assert_eq!(first_difference(b"same", b"same"), None);
        assert_eq!(first_difference(b"some", b"same"), Some(1));
        assert_eq!(first_difference(b"same", b"same and more"), Some(4));
        assert_eq!(first_difference(b"", b"x"), Some(0));
    }

    #[test]
    fn directories_are_compared_in_both_directions() {
        let top = std::env::temp_dir().join(format!("fairwave-compare-{}", std::process::id()));
        let (left, right) = (top.join("left"), top.join("right"));
        for side in [&left, &right] {
            fs::create_dir_all(side.join("flows")).unwrap();
            fs::write(side.join("flows/one"), "1").unwrap();
        }
        fs::write(right.join(PAGE), "in 3 s").unwrap();
        assert_eq!(same(&left, &right), Ok(()));
        fs::write(right.join("more"), "").unwrap();
        assert!(same(&left, &right).is_err_and(|why| why.contains("more is on the right only")));
        assert!(same(&right, &left).is_err_and(|why| why.contains("more is on the left only")));
        fs::write(right.join("flows/one"), "2").unwrap();
        let whole: View<'_> = &<[u8]>::to_vec;
        let all = compare(&left, &right, [whole, whole]).unwrap().differences;
        assert_eq!(all, ["flows/one differs from byte 0 on", "more is on the right only"]);
        fs::remove_dir_all(top).unwrap();
    }
}
