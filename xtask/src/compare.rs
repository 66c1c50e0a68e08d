//! Comparison of two run directories byte by byte.

use crate::shell::Outcome;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Fails with the first file that differs, or is on one side only.
pub(crate) fn same(left: &Path, right: &Path) -> Outcome {
    let (ours, theirs) = (files(left)?, files(right)?);
    if ours.is_empty() {
        return Err(format!("{} holds no files: nothing was compared", left.display()));
    }
    let one_sided = ours.iter().find(|f| !theirs.contains(f));
    if let Some(file) = one_sided.or_else(|| theirs.iter().find(|f| !ours.contains(f))) {
        return Err(format!(
            "{} is in one only of {} and {}",
            file.display(),
            left.display(),
            right.display()
        ));
    }
    for file in &ours {
        let (a, b) = (read(&left.join(file))?, read(&right.join(file))?);
        if let Some(at) = first_difference(&a, &b) {
            return Err(format!(
                "{} and {} differ from byte {at} on",
                left.join(file).display(),
                right.join(file).display()
            ));
        }
    }
    println!("{} files are the same", ours.len());
    Ok(())
}

/// Position of the first difference between two byte strings, if there is one.
fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    (common < a.len().max(b.len())).then_some(common)
}

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
        } else if let Ok(relative) = path.strip_prefix(top) {
            found.push(relative.to_path_buf());
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
        assert_eq!(same(&left, &right), Ok(()));
        fs::write(right.join("more"), "").unwrap();
        assert!(same(&left, &right).is_err_and(|why| why.contains("one only")));
        assert!(same(&right, &left).is_err_and(|why| why.contains("one only")));
        fs::remove_file(right.join("more")).unwrap();
        fs::write(right.join("flows/one"), "2").unwrap();
        assert!(same(&left, &right).is_err_and(|why| why.contains("byte 0")));
        fs::remove_dir_all(top).unwrap();
    }
}
