//! An interface by its number.

use crate::Error;
use crate::netlink::Netlink;

/// An interface that was changed. Its number finds it again under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its name at the change, for messages.
    pub interface: String,
    /// Its number, which the kernel gives to no other one.
    pub index: u32,
}

impl Place {
    /// The interface that has this name now.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(interface: &str) -> Result<Self, Error> {
        let index = Netlink::open().and_then(|netlink| netlink.index(interface));
        let index = index.map_err(Error::at(format!("interface `{interface}`")))?;
        Ok(Self { interface: interface.to_owned(), index })
    }

    pub(crate) fn words(&self) -> String {
        format!("{}\t{}", self.interface, self.index)
    }

    pub(crate) fn parse(interface: &str, index: &str) -> Option<Self> {
        Some(Self { interface: interface.to_owned(), index: index.parse().ok()? })
    }
}
