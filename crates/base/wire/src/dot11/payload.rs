//! Payload of a data frame in a capture.

use crate::datagram::{self, Contents, Datagram};
use crate::soc;

/// The payload of a data frame or of a subframe of an A-MSDU: a datagram, a report of a Strength
/// of Connection, or the one behind the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Payload<'a> {
    /// A report; the frame's type is then [`soc::ETHER_TYPE`].
    pub report: Option<soc::Written>,
    /// A datagram.
    pub datagram: Option<Datagram>,
    /// Contents of the datagram; without them, padding stands for options, and the pattern for
    /// payload.
    pub contents: Option<&'a Contents>,
}

impl From<Datagram> for Payload<'_> {
    fn from(datagram: Datagram) -> Self {
        Self { report: None, datagram: Some(datagram), contents: None }
    }
}

impl Payload<'_> {
    /// Appends it; after an error there is less of it than all.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), datagram::Error> {
        out.extend(self.report.iter().flat_map(|report| report.iter()));
        self.datagram.map_or(Ok(()), |datagram| datagram.write_with(self.contents, out))
    }
}
