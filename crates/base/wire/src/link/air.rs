//! Data frames of 802.11 (802.11-2020 clause 9.3.2), with and without radiotap.

use super::frame::{Captured, Closed, Frame, Inner, Mpdu, Packets};
use super::typed::{behind, is_snap, snap};
use crate::dot11::FCS_LEN;
use crate::ethernet::Mac;
use crate::radiotap::{self, Flags};
use crate::reader::Reader;

const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;
const PROTECTED: u8 = 0x40;
/// Last bit of frame control: in QoS data, HT Control is there.
const HT_CONTROL: u8 = 0x80;
const TYPE: u8 = 0x0c;
const TYPE_DATA: u8 = 0x08;
const SUBTYPE_NULL: u8 = 0x40;
const SUBTYPE_QOS: u8 = 0x80;
const QOS_TID: u16 = 0x000f;
const QOS_AMSDU: u16 = 0x0080;

/// Flag of radiotap: the 802.11 header is padded to a multiple of four bytes.
const PADDED: Flags = Flags(0x20);

pub(super) fn radiotap(whole: Captured<'_>) -> Result<Frame<'_>, Closed> {
    let (header, frame) = radiotap::parse(whole.bytes).map_err(|error| match error {
        radiotap::Error::Truncated(cut) => Closed::Truncated(cut),
        _ => Closed::Broken,
    })?;
    let flags = header.flags.unwrap_or_default();
    let mut rest = whole.skip(whole.bytes.len() - frame.len())?;
    if flags.contains(Flags::FCS_PRESENT) {
        rest = rest.shorten(FCS_LEN as u32);
    }
    let mut frame = open(rest, flags.contains(PADDED))?;
    if let Some(mpdu) = &mut frame.mpdu {
        mpdu.bad_fcs = flags.contains(Flags::BAD_FCS);
    }
    Ok(frame)
}

/// Opens a frame without radiotap. A check sequence at its end does no harm: IP says its length.
pub(super) fn open(whole: Captured<'_>, padded: bool) -> Result<Frame<'_>, Closed> {
    let mut reader = Reader::new(whole.bytes);
    let [kind, flags] = reader.array("frame control")?;
    if kind & TYPE != TYPE_DATA || kind & SUBTYPE_NULL != 0 {
        return Err(Closed::Control);
    }
    reader.u16_le("duration")?;
    let receiver = Mac(reader.array("address 1")?);
    let transmitter = Mac(reader.array("address 2")?);
    reader.take(6, "address 3")?;
    let word = reader.u16_le("sequence control")?;
    if flags & (TO_DS | FROM_DS) == TO_DS | FROM_DS {
        reader.take(6, "address 4")?;
    }
    let qos = if kind & SUBTYPE_QOS == 0 { None } else { Some(reader.u16_le("QoS control")?) };
    if qos.is_some() && flags & HT_CONTROL != 0 {
        reader.take(4, "HT control")?;
    }
    if padded {
        reader.align(4, "padding")?;
    }
    let (sequence, fragment) = (word >> 4, (word & 0xf) as u8);
    let retry = flags & RETRY != 0;
    let tid = qos.map(|qos| (qos & QOS_TID) as u8);
    let mpdu = Mpdu { receiver, transmitter, tid, sequence, fragment, retry, bad_fcs: false };
    if flags & PROTECTED != 0 {
        return Err(Closed::Encrypted);
    }
    if fragment > 0 {
        return Err(Closed::Fragment);
    }
    let body = whole.skip(reader.offset())?;
    let inner = match qos.is_some_and(|qos| qos & QOS_AMSDU != 0) {
        true => Inner::Amsdu(body),
        false => Inner::One(llc(body)?),
    };
    let addresses = Some([receiver, transmitter]);
    Ok(Frame { mpdu: Some(mpdu), addresses, packets: Packets(inner) })
}

/// Returns the IP packet behind LLC/SNAP, which a mesh control field may precede.
fn llc(body: Captured<'_>) -> Result<Captured<'_>, Closed> {
    let body = body.skip(mesh_control(body.bytes))?;
    let mut reader = Reader::new(body.bytes);
    let kind = snap(&mut reader)?;
    behind(body.skip(reader.offset())?, kind)
}

/// Length of the mesh control field in front of LLC/SNAP (802.11-2020 clause 9.2.4.7.3), 0 without
/// one. The bit of QoS control that announces it is a part of other fields outside a mesh, and old
/// meshes do not set it. So the bytes decide: no LLC at the beginning, and LLC/SNAP where the
/// field would end.
fn mesh_control(body: &[u8]) -> usize {
    const FIXED: usize = 6;
    let len = match body.first() {
        Some(0) => FIXED,
        Some(1) => FIXED + 6,
        Some(2) => FIXED + 12,
        _ => return 0,
    };
    if body.get(len..).is_some_and(is_snap) { len } else { 0 }
}

/// Returns the packet of the first subframe, if it is one of IP, and the bytes after the subframe;
/// `None` at the end or where the capture was cut (802.11-2020 clause 9.3.2.2.2).
pub(super) fn subframe(body: Captured<'_>) -> Option<(Option<Captured<'_>>, Captured<'_>)> {
    let mut reader = Reader::new(body.bytes);
    reader.take(12, "subframe addresses").ok()?;
    let len = usize::from(reader.u16_be("subframe length").ok()?);
    let rest = reader.rest();
    let msdu = Captured { bytes: &rest[..rest.len().min(len)], wire_len: len as u32 };
    let padded = (14 + len).next_multiple_of(4);
    let following = body.skip(padded).unwrap_or(Captured { bytes: &[], wire_len: 0 });
    Some((llc(msdu).ok(), following))
}
