//! Headers of 802.11 frames, which encryption leaves readable.

use super::frame::Captured;
use crate::dot11::FCS_LEN;
use crate::ethernet::Mac;
use crate::radiotap::{Flags, Header, Rate};
use crate::reader::Reader;

/// An 802.11 frame by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Address 1: the receiver.
    pub receiver: Mac,
    /// Address 2: the transmitter; ACK and CTS frames do not have it.
    pub transmitter: Option<Mac>,
    /// Type of the frame.
    pub kind: TransmissionKind,
    /// Retry bit: it was sent before.
    pub is_retry: bool,
    /// Whether its content is encrypted.
    pub is_encrypted: bool,
    /// Length in bytes, check sequence included.
    pub len: u32,
    /// Rate, if the capturing radio states it.
    pub rate: Option<Rate>,
    /// Number of its A-MPDU; successive frames of one have the same.
    pub ampdu: Option<u32>,
}

/// Types of 802.11 frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmissionKind {
    /// Management.
    Management,
    /// Control.
    Control,
    /// Data, with payload or without.
    Data,
}

/// Reads the header of a frame without that of the radio; `None` if it is cut, or damaged
/// according to the radio.
pub(super) fn transmission(frame: Captured<'_>, radio: &Header) -> Option<Transmission> {
    const RETRY: u8 = 0x08;
    const PROTECTED: u8 = 0x40;
    const CTS: u8 = 12;
    const ACK: u8 = 13;
    let flags_of_radio = radio.flags.unwrap_or_default();
    if flags_of_radio.contains(Flags::BAD_FCS) {
        return None;
    }
    let mut reader = Reader::new(frame.bytes);
    let [control, flags] = reader.array("frame control").ok()?;
    let kind = match control >> 2 & 3 {
        0 => TransmissionKind::Management,
        1 => TransmissionKind::Control,
        2 => TransmissionKind::Data,
        _ => return None,
    };
    reader.u16_le("duration").ok()?;
    let receiver = Mac(reader.array("address 1").ok()?);
    let has_transmitter = kind != TransmissionKind::Control || !matches!(control >> 4, CTS | ACK);
    let transmitter = match has_transmitter {
        true => Some(Mac(reader.array("address 2").ok()?)),
        false => None,
    };
    let has_fcs = flags_of_radio.contains(Flags::FCS_PRESENT);
    let fcs = if has_fcs { 0 } else { FCS_LEN as u32 };
    Some(Transmission {
        receiver,
        transmitter,
        kind,
        is_retry: kind != TransmissionKind::Control && flags & RETRY != 0,
        is_encrypted: kind == TransmissionKind::Data && flags & PROTECTED != 0,
        len: frame.wire_len.saturating_add(fcs),
        rate: radio.rate(),
        ampdu: radio.ampdu.map(|ampdu| ampdu.reference),
    })
}
