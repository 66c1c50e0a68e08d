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

impl Original {
    /// One that figures of ours show, compared by claims.
    pub const fn drawn(
        name: &'static str,
        content: &'static str,
        figures: &'static [&'static str],
        claims: &'static [&'static str],
    ) -> Self {
        Self { name, content, counterpart: Counterpart::Drawn { figures, claims } }
    }

    /// One that files of the repository define.
    pub const fn defined(
        name: &'static str,
        content: &'static str,
        files: &'static [&'static str],
    ) -> Self {
        Self { name, content, counterpart: Counterpart::Defined(files) }
    }

    /// One whose numbers claims contain.
    pub const fn measured(
        name: &'static str,
        content: &'static str,
        claims: &'static [&'static str],
    ) -> Self {
        Self { name, content, counterpart: Counterpart::Measured(claims) }
    }

    /// One that has no counterpart, for the reason `why`.
    pub const fn missing(name: &'static str, content: &'static str, why: &'static str) -> Self {
        Self { name, content, counterpart: Counterpart::Missing(why) }
    }
}
