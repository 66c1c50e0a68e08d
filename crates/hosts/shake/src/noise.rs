//! Keys of a session: a handshake of the Noise Protocol Framework (revision 34), by `snow`. SHAKE's
//! sessions and those of a lender with its borrowers use it.
//!
//! The pattern is `NNpsk0`: both ends know the secret, each session has fresh keys, and a host
//! without the secret gets no answer to its first message, which is checked before any key
//! agreement.

use fairwave_machine::Replay;
use fairwave_wire::seal::Key;
use fairwave_wire::shake::record::{Record, nonce};
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::num::NonZeroU64;

/// Name of the handshake (Noise section 8).
const NAME: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Length of the tag of ChaCha20-Poly1305.
pub const TAG_LEN: usize = 16;
/// Longest message of the handshake, with the payload of the first.
const MAX_HANDSHAKE: usize = 256;

/// Protocols that open their sessions with this handshake. Messages of one are worth nothing to
/// another, also where a user gives both the same secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP SHAKE.
    Shake,
    /// Borrowed uplinks.
    Share,
}

impl Protocol {
    /// Data that both ends must have alike (Noise section 6).
    const fn prologue(self) -> &'static [u8] {
        match self {
            Self::Shake => b"fairwave shake 1",
            Self::Share => b"fairwave share 1",
        }
    }

    /// Label by which the key is derived from the secret.
    const fn label(self) -> &'static str {
        match self {
            Self::Shake => "fairwave shake psk",
            Self::Share => "fairwave share psk",
        }
    }
}

/// The pre-shared key of two hosts (Noise section 9).
#[derive(Clone)]
pub struct Psk {
    key: [u8; 32],
    protocol: Protocol,
}

impl std::fmt::Debug for Psk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Psk(..)")
    }
}

impl Psk {
    /// The pre-shared key of a secret that both ends have, for SHAKE's sessions.
    pub fn of(secret: &Key) -> Self {
        Self::new(secret, Protocol::Shake)
    }

    /// The pre-shared key of a secret that both ends have.
    pub fn new(secret: &Key, protocol: Protocol) -> Self {
        let mut key = [0; 32];
        for (half, number) in key.chunks_exact_mut(TAG_LEN).zip([0, 1]) {
            half.copy_from_slice(&secret.tag(protocol.label(), &[&[number]]).0);
        }
        Self { key, protocol }
    }

    fn builder(&self) -> Builder<'_> {
        let name = NAME.parse().expect("a name that snow knows");
        let builder = Builder::new(name).psk(0, &self.key);
        let prologue = self.protocol.prologue();
        builder.and_then(|builder| builder.prologue(prologue)).expect("each is set once")
    }
}

/// The end that opens a session, between its message and the answer.
#[derive(Debug)]
pub struct Initiator(Option<HandshakeState>);

impl Initiator {
    /// Begins a handshake; returns its first message, which carries `payload` sealed.
    pub fn new(psk: &Psk, payload: &[u8]) -> (Self, Vec<u8>) {
        let mut state = psk.builder().build_initiator().expect("the pattern needs no static key");
        let mut message = vec![0; MAX_HANDSHAKE];
        let len = state.write_message(payload, &mut message).expect("a short payload");
        message.truncate(len);
        (Self(Some(state)), message)
    }

    /// The keys, if this is the answer to the first message. Any other message changes nothing.
    pub fn finish(&mut self, answer: &[u8]) -> Option<Channel> {
        let mut payload = [0; MAX_HANDSHAKE];
        self.0.as_mut()?.read_message(answer, &mut payload).ok()?;
        Channel::of(self.0.take()?)
    }
}

/// Answers a first message: its payload, the second message, and the keys; `None` if its sender
/// does not have the secret.
pub fn answer(psk: &Psk, first: &[u8]) -> Option<(Vec<u8>, Vec<u8>, Channel)> {
    let mut state = psk.builder().build_responder().ok()?;
    let mut payload = vec![0; MAX_HANDSHAKE];
    let len = state.read_message(first, &mut payload).ok()?;
    payload.truncate(len);
    let mut message = vec![0; MAX_HANDSHAKE];
    let len = state.write_message(&[], &mut message).ok()?;
    message.truncate(len);
    Some((payload, message, Channel::of(state)?))
}

/// The keys of a session, one for each direction.
#[derive(Debug)]
pub struct Channel(StatelessTransportState);

impl Channel {
    fn of(state: HandshakeState) -> Option<Self> {
        state.into_stateless_transport_mode().ok().map(Self)
    }

    /// Appends the sealed frame; `None` if it is longer than a message of Noise may be (65,535
    /// octets with the tag, section 3). A number is used once on a path.
    #[must_use]
    pub fn seal(
        &self,
        path: u8,
        number: NonZeroU64,
        frame: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let at = out.len();
        out.resize(at + frame.len() + TAG_LEN, 0);
        self.0.write_message(nonce(path, number), frame, &mut out[at..]).ok().map(|_| ())
    }

    /// The frame of a record that the other end sealed and that `seen` has not seen.
    pub fn open(&self, record: &Record<'_>, seen: &mut Replay) -> Option<Vec<u8>> {
        let len = record.sealed.len().checked_sub(TAG_LEN)?;
        let mut frame = vec![0; len];
        let nonce = nonce(record.path, record.number);
        self.0.read_message(nonce, record.sealed, &mut frame).ok()?;
        seen.admit(record.number).then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn psk(secret: &[u8]) -> Psk {
        Psk::of(&Key::new(secret).unwrap())
    }

    fn channels() -> (Channel, Channel) {
        let psk = psk(b"a secret of the two ends");
        let (mut initiator, first) = Initiator::new(&psk, b"settings");
        let (payload, second, there) = answer(&psk, &first).unwrap();
        assert_eq!(payload, b"settings");
        (initiator.finish(&second).unwrap(), there)
    }

    #[test]
    fn without_the_secret_there_is_no_answer() {
        let (_, first) = Initiator::new(&psk(b"a secret of the two ends"), &[]);
        assert!(answer(&psk(b"a secret of other hosts"), &first).is_none());
        let mut changed = first.clone();
        changed[3] ^= 1;
        assert!(answer(&psk(b"a secret of the two ends"), &changed).is_none());
        assert!(answer(&psk(b"a secret of the two ends"), &first[..40]).is_none());
    }

    #[test]
    fn the_same_secret_opens_no_session_of_another_protocol() {
        let secret = Key::new(b"a secret of the two ends").unwrap();
        let [shake, share] = [Protocol::Shake, Protocol::Share].map(|one| Psk::new(&secret, one));
        let (_, first) = Initiator::new(&shake, &[]);
        assert!(answer(&share, &first).is_none() && answer(&shake, &first).is_some());
    }

    #[test]
    fn a_forged_answer_does_not_disturb_the_handshake() {
        let psk = psk(b"a secret of the two ends");
        let (mut initiator, first) = Initiator::new(&psk, &[]);
        let (_, second, _) = answer(&psk, &first).unwrap();
        let mut forged = second.clone();
        *forged.last_mut().unwrap() ^= 1;
        assert!(initiator.finish(&forged).is_none());
        assert!(initiator.finish(&second).is_some());
        assert!(initiator.finish(&second).is_none(), "only once");
    }

    #[test]
    fn a_record_is_opened_once_and_only_as_it_was_sealed() {
        let (here, there) = channels();
        let number = NonZeroU64::new(7).unwrap();
        let mut sealed = Vec::new();
        here.seal(3, number, b"frame", &mut sealed).unwrap();
        let record = Record { to: 0, path: 3, number, sealed: &sealed };
        let mut seen = Replay::default();
        let moved = Record { path: 4, ..record };
        assert!(there.open(&moved, &mut seen).is_none(), "on another path");
        assert!(here.open(&record, &mut seen).is_none(), "reflected");
        assert_eq!(there.open(&record, &mut seen).unwrap(), b"frame");
        assert!(there.open(&record, &mut seen).is_none(), "again");
    }

    #[test]
    fn a_frame_longer_than_a_message_of_noise_is_refused() {
        let (here, _) = channels();
        let seal = |len| here.seal(0, NonZeroU64::MIN, &vec![0; len], &mut Vec::new());
        let max = usize::from(u16::MAX) - TAG_LEN;
        assert!(seal(max).is_some() && seal(max + 1).is_none());
    }
}
