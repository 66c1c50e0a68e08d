//! hostapd's control socket: stations that join and leave, as the access point's own program sees
//! it. It reports them after the keys are agreed, where nl80211 reports the association before.

use super::Mac;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// Bytes of the longest message that is read; those about stations are far shorter.
const LONGEST: usize = 4096;
/// Timeout of hostapd's answer.
const ANSWER: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// hostapd's report on a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It may send and receive: it is associated and has the keys.
    Joined(Mac),
    /// It is gone.
    Left(Mac),
}

/// A connection to hostapd. It is readable when there are [`Control::take`] to take.
pub struct Control {
    socket: UnixDatagram,
}

impl Control {
    /// Connects to the socket of an interface, as `/run/hostapd/wlan0`, and asks for events.
    ///
    /// # Errors
    ///
    /// If no program listens there, or it does not answer as hostapd does.
    pub fn attach(path: &Path) -> io::Result<Self> {
        // hostapd answers to addresses only. One in the abstract name space leaves no file
        // behind, and the process's number with the socket's keeps it apart from others.
        let socket = (0..u16::MAX).find_map(|number| bound(number).transpose());
        let socket = socket.unwrap_or_else(|| Err(io::ErrorKind::AddrInUse.into()))?;
        socket.connect(path)?;
        socket.set_nonblocking(true)?;
        socket.send(b"ATTACH")?;
        let control = Self { socket };
        match control.answer()?.as_slice() {
            b"OK\n" => Ok(control),
            other => {
                let printed = String::from_utf8_lossy(other).into_owned();
                Err(io::Error::other(format!("{}: refuses events: {printed}", path.display())))
            }
        }
    }

    /// Returns the events since the last call; none if there were none.
    ///
    /// # Errors
    ///
    /// The socket's error.
    pub fn take(&self) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        loop {
            match self.read() {
                Ok(message) => events.extend(event(&message)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(events),
                Err(error) => return Err(error),
            }
        }
    }

    fn answer(&self) -> io::Result<Vec<u8>> {
        let mut waiting = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut waiting, Some(&ANSWER))? {
            0 => Err(io::ErrorKind::TimedOut.into()),
            _ => self.read(),
        }
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let mut message = vec![0; LONGEST];
        let length = self.socket.recv(&mut message)?;
        message.truncate(length);
        Ok(message)
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns a socket with a name of its own; `None` if the name is taken.
fn bound(number: u16) -> io::Result<Option<UnixDatagram>> {
    let name = format!("fairwave-hostapd-{}-{number}", std::process::id());
    match UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(error),
    }
}

/// A message as `<3>AP-STA-CONNECTED 02:00:00:00:01:00`, with more words behind. `None` for those
/// about other things.
fn event(message: &[u8]) -> Option<Event> {
    let text = str::from_utf8(message).ok()?;
    // The number in front is the level of a log.
    let text = text.split_once('>').map_or(text, |(_, text)| text);
    let mut words = text.split_ascii_whitespace();
    match words.next()? {
        "AP-STA-CONNECTED" => words.next().and_then(mac).map(Event::Joined),
        "AP-STA-DISCONNECTED" => words.next().and_then(mac).map(Event::Left),
        _ => None,
    }
}

fn mac(text: &str) -> Option<Mac> {
    let mut bytes = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut bytes {
        let is_hex = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
        let part = parts.next().filter(|part| is_hex(part))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(Mac(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: Mac = Mac([0x02, 0, 0, 0, 0x01, 0]);

    #[test]
    fn words_behind_the_address_do_not_matter() {
        let joined = b"<3>AP-STA-CONNECTED 02:00:00:00:01:00 auth_alg=open keyid=a";
        assert_eq!(event(joined), Some(Event::Joined(STATION)));
        assert_eq!(event(b"AP-STA-DISCONNECTED 02:00:00:00:01:00\n"), Some(Event::Left(STATION)));
    }

    #[test]
    fn what_is_no_event_of_a_station_is_none() {
        for other in [
            &b""[..],
            b"<3>",
            b"<3>AP-STA-CONNECTED",
            b"<3>AP-STA-CONNECTED 02:00:00:00:01",
            b"<3>AP-STA-CONNECTED 02:00:00:00:01:00:00",
            b"<3>AP-STA-CONNECTED 02:00:00:00:01:+1",
            b"<3>AP-STA-CONNECTED 02:00:00:00:01:\xff",
            b"<3>AP-STA-POLL-OK 02:00:00:00:01:00",
        ] {
            assert_eq!(event(other), None, "{other:?}");
        }
    }

    #[test]
    fn somebody_who_speaks_as_hostapd_is_heard() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("wlan0");
        let server = UnixDatagram::bind(&path).unwrap();
        let speaker = std::thread::spawn(move || {
            let mut request = [0; 64];
            let (length, from) = server.recv_from(&mut request).unwrap();
            assert_eq!(&request[..length], b"ATTACH");
            for text in ["OK\n", "<3>AP-ENABLED ", "<3>AP-STA-CONNECTED 02:00:00:00:01:00"] {
                server.send_to_addr(text.as_bytes(), &from).unwrap();
            }
        });
        let control = Control::attach(&path).unwrap();
        speaker.join().unwrap();
        assert_eq!(control.take().unwrap(), [Event::Joined(STATION)]);
        assert_eq!(control.take().unwrap(), []);
    }

    #[test]
    fn somebody_who_refuses_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("wlan0");
        let server = UnixDatagram::bind(&path).unwrap();
        let speaker = std::thread::spawn(move || {
            let (_, from) = server.recv_from(&mut [0; 64]).unwrap();
            server.send_to_addr(b"FAIL\n", &from).unwrap();
        });
        let error = Control::attach(&path).err().unwrap();
        speaker.join().unwrap();
        assert!(error.to_string().contains("refuses events: FAIL"), "{error}");
        assert!(Control::attach(&place.path().join("none")).is_err());
    }
}
