//! What a data frame of a capture carries.

use crate::datagram::{self, Datagram};
use crate::{dccp, soc};

/// The payload of a data frame or of a subframe of an A-MSDU: a datagram, a report of a Strength
/// of Connection, or the one behind the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Payload<'a> {
    /// A report; the frame's type is then [`soc::ETHER_TYPE`].
    pub report: Option<[u8; soc::LEN]>,
    /// A datagram.
    pub datagram: Option<Datagram>,
    /// The options of a DCCP datagram; without them, padding stands for them.
    pub options: Option<&'a dccp::Options>,
}

impl From<Datagram> for Payload<'_> {
    fn from(datagram: Datagram) -> Self {
        Self { report: None, datagram: Some(datagram), options: None }
    }
}

impl Payload<'_> {
    /// Appends it; after an error there is less of it than all.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), datagram::Error> {
        out.extend(self.report.iter().flatten());
        match (self.datagram, self.options) {
            (Some(datagram), Some(options)) => datagram.write_with_options(options, out),
            (Some(datagram), None) => datagram.write(out),
            (None, _) => Ok(()),
        }
    }
}
