//! Figures and tables of a paper, and our counterparts.

/// A figure or table of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Original {
    /// Its name in the paper, such as `Fig. 2`.
    pub name: &'static str,
    /// Its content.
    pub content: &'static str,
    /// Our counterpart.
    pub counterpart: Counterpart,
}

/// Counterpart of a figure or table of a paper.
#[derive(Clone, Copy, Debug)]
pub enum Counterpart {
    /// Figures of ours.
    Drawn {
        /// Identifiers of the figures.
        figures: &'static [&'static str],
        /// Claims that compare them with the paper's.
        claims: &'static [&'static str],
    },
    /// Numbers that the note or the measurements of these claims contain.
    Measured(&'static [&'static str]),
    /// Files of the repository that define the same: set-ups, formats, algorithms.
    Defined(&'static [&'static str]),
    /// None, for a reason in a clause.
    Missing(&'static str),
}
