//! The word that a slip of the pen was meant to be.

/// Whatever is longer is no slip of a word.
const MAX_BYTES: usize = 200;

/// The candidate that `written` is a slip of, if one is near enough.
pub(crate) fn nearest(written: &str, candidates: &[String]) -> Option<String> {
    // The distance takes time and memory in proportion to both lengths.
    if written.len() > MAX_BYTES {
        return None;
    }
    let written = written.to_lowercase();
    let reach = (written.chars().count() / 3).clamp(1, 4);
    let distance = |c: &String| strsim::damerau_levenshtein(&written, &c.to_lowercase());
    let (far, best) = candidates.iter().map(|c| (distance(c), c)).min_by_key(|&(d, _)| d)?;
    (far <= reach).then(|| best.clone())
}
