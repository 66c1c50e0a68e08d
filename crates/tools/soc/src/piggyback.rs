//! Reports that ride on data frames: a report is put in front of the payload of a frame that a
//! station sends to its access point, as a tag of VLANs is, and taken off there.

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
/// Bytes of both addresses of Ethernet, behind which the type stands.
const ADDRESSES: usize = 12;

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
            let tagged = kind_of(frame.get(VNET_HEADER_LENGTH..).unwrap_or_default(), to, room)
                .and_then(&mut report)
                .map(|report| in_front(frame, &report));
            // A frame that the driver does not take is lost, as in a queue that is full.
            let _ = self.egress.send(tagged.as_deref().unwrap_or(frame))?;
        }
        Ok(())
    }
}

/// The type of a frame's payload, if the frame goes to `to` and has room for a report.
fn kind_of(frame: &[u8], to: Option<Mac>, room: usize) -> Option<EtherType> {
    let packet = frame.len().checked_sub(HEADER_LEN)?;
    let is_meant = frame.starts_with(&to?.0) && packet + soc::LEN <= room;
    let kind = *frame.get(ADDRESSES..)?.first_chunk()?;
    let kind = EtherType::new(u16::from_be_bytes(kind)).filter(|_| is_meant)?;
    (![soc::ETHER_TYPE, EAPOL].contains(&kind)).then_some(kind)
}

/// A frame behind a virtio header with a report in front of its payload.
fn in_front(frame: &[u8], report: &[u8]) -> Vec<u8> {
    let (before, payload) = frame.split_at(VNET_HEADER_LENGTH + HEADER_LEN);
    let addresses = &before[..VNET_HEADER_LENGTH + ADDRESSES];
    [addresses, &soc::ETHER_TYPE.number().to_be_bytes(), report, payload].concat()
}

/// A frame without the report in front of its payload; `None` if there is no report, or nothing or
/// another report behind it.
fn without(frame: &[u8]) -> Option<Vec<u8>> {
    let (header, payload) = frame.split_at_checked(HEADER_LEN)?;
    let (next, rest) = if Plain::is_meant(payload) {
        (Plain::next(payload)?, payload.get(Plain::LEN + 2..)?)
    } else {
        let (claim, rest) = soc::parse(payload).ok()?;
        (claim.unchecked().next?, rest)
    };
    let is_data = next != soc::ETHER_TYPE;
    is_data.then(|| [&header[..ADDRESSES], &next.number().to_be_bytes(), rest].concat())
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
mod tests {
    use super::*;
    use fairwave_wire::seal::Key;
    use fairwave_wire::soc::{CentiDb, Report};
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::num::NonZeroU16;

    const AP: Mac = Mac::local(1);
    const STATION: Mac = Mac::local(2);

    fn data(to: Mac, kind: EtherType, payload: &[u8]) -> Vec<u8> {
        [&to.0[..], &STATION.0, &kind.number().to_be_bytes(), payload].concat()
    }

    fn reports(next: EtherType) -> [Written; 2] {
        let report = Report {
            next: Some(next),
            station: STATION,
            ipv4: Ipv4Addr::new(10, 0, 0, 2),
            ipv6: Ipv6Addr::UNSPECIFIED,
            sequence: 1,
            made_ms: 0,
            interval_ms: NonZeroU16::MIN,
            soc: CentiDb(1_400),
        };
        let key = Key::new(&[7; 32]).unwrap();
        let plain = Plain { ipv4: report.ipv4, soc_db: 14 };
        [report.seal(&key).into(), plain.written(Some(next))]
    }

    #[test]
    fn a_frame_takes_a_report_along_if_it_goes_to_the_access_point_and_has_room() {
        let kind = |frame: &[u8]| kind_of(frame, Some(AP), 1500);
        let full = vec![0; 1500 - soc::LEN];
        assert_eq!(kind(&data(AP, EtherType::IPV6, &full)), Some(EtherType::IPV6));
        assert_eq!(kind(&data(AP, EtherType::IPV6, &[&full[..], &[0]].concat())), None);
        assert_eq!(kind(&data(STATION, EtherType::IPV4, &[0; 40])), None);
        assert_eq!(kind(&data(Mac::BROADCAST, EtherType::IPV4, &[0; 40])), None);
        // A report of its own, a key exchange, a frame of 802.2, and one that is cut.
        assert_eq!(kind(&data(AP, soc::ETHER_TYPE, &[0; 64])), None);
        assert_eq!(kind(&data(AP, EAPOL, &[0; 64])), None);
        assert_eq!(kind(&[&AP.0[..], &STATION.0, &[0, 64], &[0; 64]].concat()), None);
        assert_eq!(kind(&AP.0), None);
        assert_eq!(kind_of(&data(AP, EtherType::IPV4, &[0; 40]), None, 1500), None);
    }

    #[test]
    fn a_report_without_data_behind_it_is_nobody_elses() {
        let [sealed, plain] = reports(EtherType::IPV4);
        for alone in [&sealed[..40], &plain[..8], &[0; 64]] {
            assert_eq!(without(&data(AP, soc::ETHER_TYPE, alone)), None);
        }
        for nested in reports(soc::ETHER_TYPE) {
            let frame = data(AP, soc::ETHER_TYPE, &[&nested[..], &[0; 64]].concat());
            assert_eq!(without(&frame), None);
        }
    }

    proptest! {
        #[test]
        fn taking_off_is_the_reverse_of_putting_in_front(
            number in 0x600u16.., payload: Vec<u8>, format in 0..2usize,
        ) {
            let kind = EtherType::new(number).unwrap();
            prop_assume!(kind != soc::ETHER_TYPE);
            let frame = data(AP, kind, &payload);
            let virtio = [&[0; VNET_HEADER_LENGTH], &frame[..]].concat();
            let tagged = in_front(&virtio, &reports(kind)[format]);
            prop_assert_eq!(without(&tagged[VNET_HEADER_LENGTH..]), Some(frame));
        }

        #[test]
        fn any_frame_is_read(frame: Vec<u8>) {
            let _ = without(&frame);
            let _ = kind_of(&frame, Some(AP), 1500);
        }
    }
}
