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
    if let Some(meant) = candidates.iter().find(|c| is_short_for(&written, c)) {
        return Some(meant.clone());
    }
    let reach = (written.chars().count() / 3).clamp(1, 4);
    let distance = |c: &String| strsim::damerau_levenshtein(&written, &c.to_lowercase());
    let (far, best) = candidates.iter().map(|c| (distance(c), c)).min_by_key(|&(d, _)| d)?;
    (far <= reach).then(|| best.clone())
}

/// Whether a word consists of the initials of the parts of `candidate`, as `ap` of `access-point`.
fn is_short_for(word: &str, candidate: &str) -> bool {
    let initials = candidate.split('-').filter_map(|part| part.chars().next());
    candidate.contains('-') && word.chars().eq(initials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_stand_for_their_words() {
        let kinds = ["access-point", "station", "host"].map(str::to_owned);
        assert_eq!(nearest("ap", &kinds).as_deref(), Some("access-point"));
        assert_eq!(nearest("hots", &kinds).as_deref(), Some("host"));
        assert_eq!(nearest("s", &kinds), None);
    }
}
