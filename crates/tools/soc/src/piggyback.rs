//! Reports that ride on data frames: a report is put in front of the payload of a frame that a
//! station sends to its access point, as a VLAN tag is, and taken off there. Where the frame has
//! VLAN tags, the report stands behind them: bridges between the two keep the frame in its VLAN.

use crate::Error;
use crate::wait::wait_for;
use fairwave_linux::{Egress, Ingress, KeeperCommand, Pieces, VNET_HEADER_LENGTH};
use fairwave_units::Duration;
use fairwave_wire::ethernet::{EtherType, HEADER_LEN, Mac};
use fairwave_wire::soc::{self, Plain, Written};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Maximum number of frames that are passed on before other work gets its turn.
const BATCH: usize = 64;
/// Maximum wait of the thread that takes reports off, so that it notices a request to stop.
const LOOK: Duration = Duration::from_millis(100);
/// EtherType of the key exchange (EAPOL), which takes nothing along: an access point may not take
/// other frames before its end.
const EAPOL: EtherType = EtherType::new(0x888e).expect("it is above 1535");
/// Bytes of both addresses of Ethernet, behind which the type or a VLAN tag stands.
const ADDRESSES: usize = 12;
/// Bytes of a VLAN tag, and the number of tags that are skipped.
const TAG: usize = 4;
const MAX_TAGS: usize = 2;
/// EtherTypes of VLAN tags: 802.1Q's, which is a customer's, and the one of 802.1ad for providers.
const CUSTOMER_TAG: u16 = 0x8100;
const SERVICE_TAG: u16 = 0x88a8;

const fn is_tag(number: u16) -> bool {
    matches!(number, CUSTOMER_TAG | SERVICE_TAG)
}

/// The frames that leave a station by its interface.
pub(crate) struct Outgoing {
    pub(crate) egress: Egress,
    buffer: Vec<u8>,
}

impl Outgoing {
    /// Leads the interface's frames through this program.
    pub(crate) fn open(interface: &str) -> Result<Self, Error> {
        let egress = Egress::open(interface, Pieces::Cut, false, &KeeperCommand::default())?;
        let buffer = vec![0; egress.longest()];
        Ok(Self { egress, buffer })
    }

    /// Passes on the frames that wait. A frame to `to` that has room for it takes along the report
    /// that `report` gives for its type, if that gives one.
    pub(crate) fn pass(
        &mut self,
        to: Option<Mac>,
        mut report: impl FnMut(EtherType) -> Option<Written>,
    ) -> io::Result<()> {
        let room = self.egress.longest_packet();
        for _ in 0..BATCH {
            let Some(length) = self.egress.receive(&mut self.buffer)? else { return Ok(()) };
            let frame = &self.buffer[..length];
            let loaded = place_for(frame.get(VNET_HEADER_LENGTH..).unwrap_or_default(), to, room)
                .and_then(|place| Some(place.loaded(frame, &report(place.kind)?)));
            // A frame that the driver does not take is lost, as in a queue that is full.
            let _ = self.egress.send(loaded.as_deref().unwrap_or(frame))?;
        }
        Ok(())
    }
}

/// Place of a report in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Offset of the type of the frame's payload, behind the addresses and all VLAN tags.
    at: usize,
    /// This type.
    kind: EtherType,
}

/// The type of a frame's payload, and its offset behind the addresses and up to two VLAN tags.
/// `None` for a frame of 802.2, or one that is cut.
fn place_in(frame: &[u8]) -> Option<Place> {
    let number = |at| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let mut at = ADDRESSES;
    while at < ADDRESSES + MAX_TAGS * TAG && is_tag(number(at)?) {
        at += TAG;
    }
    Some(Place { at, kind: EtherType::new(number(at)?)? })
}

/// The place for a report in a frame that goes to `to`, if there is room for one.
fn place_for(frame: &[u8], to: Option<Mac>, room: usize) -> Option<Place> {
    let place = place_in(frame).filter(|_| to.is_some_and(|to| frame.starts_with(&to.0)))?;
    // Only the first tag, if it is of 802.1Q, does not count to the interface's MTU.
    let outer = frame.get(ADDRESSES..)?.first_chunk()?;
    let uncounted = if u16::from_be_bytes(*outer) == CUSTOMER_TAG { TAG } else { 0 };
    let packet = frame.len().checked_sub(HEADER_LEN + uncounted)?;
    let is_data = ![soc::ETHER_TYPE, EAPOL].contains(&place.kind) && !is_tag(place.kind.number());
    (is_data && packet + soc::LEN <= room).then_some(place)
}

impl Place {
    /// A frame behind a virtio header with a report in front of its payload.
    fn loaded(self, frame: &[u8], report: &[u8]) -> Vec<u8> {
        let (before, rest) = frame.split_at(VNET_HEADER_LENGTH + self.at);
        [before, &soc::ETHER_TYPE.number().to_be_bytes(), report, &rest[2..]].concat()
    }
}

/// A frame without the report in front of its payload; `None` if there is no report, or nothing or
/// another report behind it.
fn without(frame: &[u8]) -> Option<Vec<u8>> {
    let place = place_in(frame).filter(|place| place.kind == soc::ETHER_TYPE)?;
    let (before, rest) = frame.split_at(place.at);
    let payload = &rest[2..];
    let (next, rest) = if Plain::is_meant(payload) {
        (Plain::next(payload)?, payload.get(Plain::LEN + 2..)?)
    } else {
        let (claim, rest) = soc::parse(payload).ok()?;
        (claim.unchecked().next?, rest)
    };
    // A tag behind the report would move the frame into another VLAN.
    let is_data = next != soc::ETHER_TYPE && !is_tag(next.number());
    is_data.then(|| [before, &next.number().to_be_bytes(), rest].concat())
}

/// A thread that takes reports off the frames that arrive at an access point, and has the rest
/// arrive there. It ends when this is dropped.
pub(crate) struct Unloading {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Unloading {
    pub(crate) fn start(interface: &str) -> Result<Self, Error> {
        let ingress = Ingress::open(interface, soc::ETHER_TYPE.number())?;
        let stop = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&stop);
        let thread = thread::Builder::new().name("unloading".to_owned());
        let thread = thread.spawn(move || unload(&ingress, &ends));
        let thread = thread.map_err(Error::at(format!("interface `{interface}`: a thread")))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Checks that frames are still passed on.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match self.thread.take() {
            Some(thread) if thread.is_finished() => {
                let gone = "the thread that takes reports off frames has ended";
                thread.join().unwrap_or(Ok(())).and(Err(io::Error::other(gone)))
            }
            thread => {
                self.thread = thread;
                Ok(())
            }
        }
    }
}

impl Drop for Unloading {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // `check` has already reported an error.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn unload(ingress: &Ingress, stop: &AtomicBool) -> io::Result<()> {
    let mut buffer = vec![0; ingress.longest()];
    while !stop.load(Ordering::Relaxed) {
        while let Some(length) = ingress.receive(&mut buffer)? {
            if let Some(frame) = without(&buffer[..length]) {
                // One for which there is no room is lost, as in a queue that is full.
                let _ = ingress.arrive(&frame)?;
            }
        }
        let _ = wait_for(&[ingress], LOOK)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
