//! The congestion control algorithms that a matrix runs.

use super::competing::Competing;
use crate::emulation::fit::{absent, available_congestion_controls};
use std::io;

/// Reason why algorithms cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum AlgorithmError {
    /// The kernel does not list its algorithms.
    #[error(transparent)]
    Unlisted(#[from] io::Error),
    /// The kernel lacks some of them: each with a remedy, then those that it has.
    #[error("{0}")]
    Absent(String),
}

/// The algorithms to run: those `asked` for, or all that the kernel has.
///
/// # Errors
///
/// Names the algorithms that the kernel lacks, those of `competitors` included.
pub fn algorithms(
    requested: &[String],
    competitors: &[Competing],
) -> Result<Vec<String>, AlgorithmError> {
    let known = available_congestion_controls()?;
    let beside = competitors.iter().filter_map(|competing| match competing {
        Competing::Beside(name) => Some(name),
        Competing::Alone | Competing::Many(_) => None,
    });
    let wanted: Vec<String> = requested.iter().chain(beside).cloned().collect();
    let lacks = absent(&wanted)?;
    if !lacks.is_empty() {
        let (known, lacks) = (known.join(", "), lacks.join("; "));
        return Err(AlgorithmError::Absent(format!("{lacks}; available are {known}")));
    }
    Ok(if requested.is_empty() { known } else { requested.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_algorithms_are_named_with_a_remedy() {
        let names = ["fw_nobodys", "reno", "nobodys"].map(str::to_owned);
        let text = algorithms(&names, &[]).expect_err("they are refused").to_string();
        assert!(text.contains("`fairwave cc load fw_nobodys`"), "{text}");
        let remedy = "`modprobe tcp_nobodys`";
        assert!(text.contains(remedy) && text.contains("available are"), "{text}");
    }
}
