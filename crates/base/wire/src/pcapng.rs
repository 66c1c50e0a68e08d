//! Capture files (draft-ietf-opsawg-pcapng): packets with nanosecond times and comments.
//!
//! A [`Writer`] goes over any `std::io::Write`, so that this crate opens no file; a [`Reader`]
//! goes over bytes and says where a damaged file broke.

use fairwave_units::Instant;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriteError, PcapNgWriter};
use pcap_file::{DataLink, Endianness};
use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;
use thiserror::Error;

mod reader;

pub use reader::{Packet, Reader};

/// First header of the packets of an interface (the registry at tcpdump.org/linktypes.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// An IP header.
    RawIp,
    /// A radiotap header.
    Radiotap,
    /// Something that Fairwave does not speak, by its number.
    Other(u16),
}

impl LinkType {
    /// Its number in the registry.
    pub const fn number(self) -> u16 {
        match self {
            Self::Ethernet => 1,
            Self::RawIp => 101,
            Self::Radiotap => 127,
            Self::Other(number) => number,
        }
    }

    /// The link type of this number.
    pub const fn from_number(number: u16) -> Self {
        match number {
            1 => Self::Ethernet,
            101 => Self::RawIp,
            127 => Self::Radiotap,
            _ => Self::Other(number),
        }
    }
}

/// Origin of a capture; fields that are `None` are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The machine.
    pub hardware: Option<String>,
    /// The operating system.
    pub os: Option<String>,
    /// The program.
    pub application: Option<String>,
}

/// Interface at which packets were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// First header of its packets.
    pub link_type: LinkType,
    /// Its name.
    pub name: Option<String>,
    /// Maximum number of bytes kept of a packet; `None`: all of it.
    pub snap_len: Option<u32>,
}

/// An interface of a [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// Reason for which a capture cannot be written or read.
#[derive(Debug, Error)]
pub enum Error {
    /// The sink failed.
    #[error("cannot write the capture: {0}")]
    Io(#[source] std::io::Error),
    /// A text of a header or comment is longer than an option holds.
    #[error("{field} of {len} bytes does not fit, the limit is 65535")]
    Text {
        /// Which text.
        field: &'static str,
        /// Its length in bytes.
        len: usize,
    },
    /// A packet longer than a block holds.
    #[error("packet of {len} bytes does not fit")]
    PacketLength {
        /// Its length in bytes.
        len: usize,
    },
    /// A block that could not be written, for instance with another writer's interface.
    #[error("cannot write {block}: {reason}")]
    Refused {
        /// Which block.
        block: &'static str,
        /// Why not.
        reason: String,
    },
    /// A damaged file.
    #[error("block {block} at offset {offset} is broken: {reason}")]
    Broken {
        /// Index of the block, the section header being 0.
        block: usize,
        /// Its offset in the file, in bytes.
        offset: usize,
        /// The fault.
        reason: String,
    },
}

/// Longest text of an option in bytes: its length has 16 bits.
const TEXT_LEN_MAX: usize = 0xffff;

/// Writes a capture, packet by packet, in the order of calls.
pub struct Writer<W: Write> {
    inner: PcapNgWriter<W>,
}

impl<W: Write> Writer<W> {
    /// Begins a capture with its section header.
    pub fn new(sink: W, section: &Section) -> Result<Self, Error> {
        let Section { hardware, os, application } = section;
        let mut options = Vec::new();
        if let Some(hardware) = text("hardware", hardware.as_deref())? {
            options.push(SectionHeaderOption::Hardware(hardware));
        }
        if let Some(os) = text("operating system", os.as_deref())? {
            options.push(SectionHeaderOption::OS(os));
        }
        if let Some(application) = text("application", application.as_deref())? {
            options.push(SectionHeaderOption::UserApplication(application));
        }
        let endianness = Endianness::Little;
        let header = SectionHeaderBlock { endianness, options, ..SectionHeaderBlock::default() };
        let inner = PcapNgWriter::with_section_header(sink, header)
            .map_err(|error| refused("section header", error))?;
        Ok(Self { inner })
    }

    /// Describes an interface; its packets have times in nanoseconds.
    ///
    /// # Errors
    /// A name that does not fit, or a failing sink.
    pub fn add_interface(&mut self, interface: &Interface) -> Result<InterfaceId, Error> {
        let id = InterfaceId(self.inner.interfaces().len() as u32);
        let link_type = DataLink::from(u32::from(interface.link_type.number()));
        let max = interface.snap_len.unwrap_or(0);
        let mut block = InterfaceDescriptionBlock::new(link_type, max);
        if let Some(name) = text("interface name", interface.name.as_deref())? {
            block.options.push(InterfaceDescriptionOption::IfName(name));
        }
        block.options.push(InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO));
        self.write("interface description", block)?;
        Ok(id)
    }

    /// Writes a packet, as it was at the time `at`; cut to the snap length of its interface.
    pub fn write_packet(
        &mut self,
        interface: InterfaceId,
        at: Instant,
        data: &[u8],
        comment: Option<&str>,
    ) -> Result<(), Error> {
        let original_len =
            u32::try_from(data.len()).map_err(|_| Error::PacketLength { len: data.len() })?;
        let described = self.inner.interfaces().get(interface.0 as usize);
        let max = described.map(|block| block.snaplen as usize).filter(|max| *max > 0);
        let kept = &data[..max.unwrap_or(data.len()).min(data.len())];
        let comment = text("comment", comment)?;
        let options = comment.map(|text| EnhancedPacketOption::Common(CommonOption::Comment(text)));
        let block = EnhancedPacketBlock {
            interface_id: interface.0,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len,
            data: Cow::Borrowed(kept),
            options: options.into_iter().collect(),
        };
        self.write("enhanced packet", block)
    }

    /// Returns the sink, for flushing or taking the bytes. No trailer is needed.
    pub fn into_inner(self) -> W {
        self.inner.into_inner()
    }

    fn write<'a>(&mut self, name: &'static str, block: impl PcapNgBlock<'a>) -> Result<(), Error> {
        let written = self.inner.write_pcapng_block(block);
        written.map(|_| ()).map_err(|error| refused(name, error))
    }
}

fn text<'a>(field: &'static str, text: Option<&'a str>) -> Result<Option<Cow<'a, str>>, Error> {
    match text {
        Some(text) if text.len() > TEXT_LEN_MAX => Err(Error::Text { field, len: text.len() }),
        text => Ok(text.map(Cow::Borrowed)),
    }
}

fn refused(block: &'static str, error: PcapNgWriteError) -> Error {
    match error {
        PcapNgWriteError::Io(error) => Error::Io(error),
        error => Error::Refused { block, reason: causes(&error) },
    }
}

/// An error with all its causes in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
