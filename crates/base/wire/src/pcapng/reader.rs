//! Reading of pcapng captures.

use super::{Error, LinkType, causes};
use fairwave_units::Instant;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::{Block, PcapNgParseError, PcapNgParser};
use std::borrow::Cow;

/// A packet of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its link-layer type.
    pub link_type: LinkType,
    /// Time of capture since the epoch of the file.
    pub at: Instant,
    /// Its captured bytes, which may be fewer than its length.
    pub data: Cow<'a, [u8]>,
    /// Its length on the wire in bytes.
    pub original_len: u32,
    /// Its first comment.
    pub comment: Option<String>,
}

/// Reads the packets of a capture in order. It skips blocks without packets, and packets without a
/// time (simple and obsolete packet blocks).
///
/// As an iterator it ends after the first error.
#[derive(Debug)]
pub struct Reader<'a> {
    parser: PcapNgParser,
    rest: &'a [u8],
    len: usize,
    block: usize,
}

impl<'a> Reader<'a> {
    /// Reads the section header.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let broken = |error| broken(0, 0, &error);
        let (rest, parser) = PcapNgParser::new(bytes).map_err(broken)?;
        Ok(Self { parser, rest, len: bytes.len(), block: 0 })
    }

    fn packet(&self, block: EnhancedPacketBlock<'a>) -> Result<Packet<'a>, String> {
        let interface =
            self.parser.packet_interface(&block).ok_or("its interface is not described")?;
        let number = u32::from(interface.linktype) as u16;
        let nanos = u64::try_from(block.timestamp.as_nanos())
            .map_err(|_| "its time is more than 584 years after the epoch")?;
        let comment = block.options.into_iter().find_map(|option| match option {
            EnhancedPacketOption::Common(CommonOption::Comment(text)) => Some(text.into_owned()),
            _ => None,
        });
        Ok(Packet {
            link_type: LinkType::from_number(number),
            at: Instant::from_nanos(nanos),
            data: block.data,
            original_len: block.original_len,
            comment,
        })
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Packet<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let offset = self.len - self.rest.len();
            self.block += 1;
            let found = match self.parser.next_block(self.rest) {
                Ok((rest, Block::EnhancedPacket(block))) => {
                    self.rest = rest;
                    self.packet(block).map_err(|reason| Error::Broken {
                        block: self.block,
                        offset,
                        reason,
                    })
                }
                Ok((rest, _)) => {
                    self.rest = rest;
                    continue;
                }
                Err(error) => Err(broken(self.block, offset, &error)),
            };
            if found.is_err() {
                self.rest = &[];
            }
            return Some(found);
        }
        None
    }
}

fn broken(block: usize, offset: usize, error: &PcapNgParseError) -> Error {
    Error::Broken { block, offset, reason: causes(error) }
}
