//! Feature negotiation (RFC 4340 section 6): values that the two ends agree on.

use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Options, Seq48, Side, Value};

/// Minimum and maximum Sequence Window (RFC 4340 section 7.5.2).
pub(crate) const WINDOW_MIN: u64 = 32;
pub(crate) const WINDOW_MAX: u64 = (1 << 46) - 1;

/// Longest wait before a Change is sent again (RFC 4340 section 6.6.3).
const RETRY_MAX: Duration = Duration::from_secs(64);
/// First wait, while no round-trip time is known.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// Unknown features of one round that are answered; more are left to be asked again.
const UNKNOWN_MAX: usize = 8;
/// Longest preference list.
const LIST_MAX: usize = 16;

/// A feature that both ends know (RFC 4340 section 6.4, table 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// The congestion control profile of the data that its end sends.
    Ccid = 1,
    /// Whether its end may send short sequence numbers.
    AllowShortSeqnos = 2,
    /// Number of packets that its end may have in flight.
    SequenceWindow = 3,
    /// Whether its end cannot read ECN fields.
    EcnIncapable = 4,
    /// Number of its end's data packets that the other one acknowledges at once.
    AckRatio = 5,
    /// Whether its end sends Ack Vectors.
    SendAckVector = 6,
    /// Whether its end sends NDP Counts.
    SendNdpCount = 7,
    /// Checksum coverage that its end accepts.
    MinimumChecksumCoverage = 8,
    /// Whether its end checks Data Checksums.
    CheckDataChecksum = 9,
    /// Whether its end, which receives by CCID 3 or 4, sends Loss Event Rate options (RFC 4342
    /// section 8.4). Linux insists on it, and sends no loss intervals.
    SendLossEventRate = 192,
    /// Whether its end, which receives by CCID 3 or 4, heeds notifications of handovers: options of
    /// Fairwave's. The number is of those for experiments, at a receiver (RFC 4342 section 13.3).
    HeedHandovers = 248,
}

const ALL: [Feature; 11] = [
    Feature::Ccid,
    Feature::AllowShortSeqnos,
    Feature::SequenceWindow,
    Feature::EcnIncapable,
    Feature::AckRatio,
    Feature::SendAckVector,
    Feature::SendNdpCount,
    Feature::MinimumChecksumCoverage,
    Feature::CheckDataChecksum,
    Feature::SendLossEventRate,
    Feature::HeedHandovers,
];

impl Feature {
    fn known(number: u8) -> Option<Self> {
        ALL.into_iter().find(|feature| *feature as u8 == number)
    }

    /// Its place in [`ALL`].
    const fn index(self) -> usize {
        match self {
            Self::SendLossEventRate => ALL.len() - 2,
            Self::HeedHandovers => ALL.len() - 1,
            _ => self as usize - 1,
        }
    }

    pub(crate) const fn initial(self) -> u64 {
        match self {
            Self::Ccid | Self::AckRatio => 2,
            Self::SequenceWindow => 100,
            _ => 0,
        }
    }

    /// Whether every end must know it.
    const fn is_required(self) -> bool {
        matches!(self, Self::Ccid | Self::AllowShortSeqnos | Self::SequenceWindow)
    }

    /// Bytes of the value of a non-negotiable feature; `None` if server priority decides.
    const fn stated_len(self) -> Option<usize> {
        match self {
            Self::SequenceWindow => Some(6),
            Self::AckRatio => Some(2),
            _ => None,
        }
    }

    /// Whether a stated value is legal. Of the Ack Ratio, section 11.3 gives zero a meaning that
    /// section 6.6.8 denies it; it is accepted.
    const fn is_legal(self, value: u64) -> bool {
        match self {
            Self::SequenceWindow => value >= WINDOW_MIN && value <= WINDOW_MAX,
            _ => true,
        }
    }
}

/// A list in order of preference, or the bytes of a stated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct List {
    bytes: [u8; LIST_MAX],
    len: u8,
}

impl List {
    /// Returns the values that there is room for.
    fn new(values: &[u8]) -> Self {
        let len = values.len().min(LIST_MAX);
        let mut bytes = [0; LIST_MAX];
        bytes[..len].copy_from_slice(&values[..len]);
        Self { bytes, len: len as u8 }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// State of a negotiation (RFC 4340 section 6.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stable,
    Changing,
    /// As changing, but the value sent last is not the one wanted now.
    Unstable,
}

/// Answer owed to a Change of the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Nothing,
    Confirm,
    Empty,
}

/// A feature of one of the two ends.
#[derive(Clone, Copy, Debug)]
struct Slot {
    value: u64,
    /// Preference of this end; of a stated feature of this end, the value that it states.
    wanted: List,
    state: State,
    mandatory: bool,
    owed: Owed,
}

/// Reason for which a connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An option that cannot be borne: Reset code 5.
    Option,
    /// A mandatory option that cannot be processed: Reset code 6.
    Mandatory,
}

/// A feature negotiation option as it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    pub(crate) seq: Seq48,
    pub(crate) ack: Option<Seq48>,
    pub(crate) mandatory: bool,
    /// Owner of the feature, seen from here.
    pub(crate) side: Side,
    pub(crate) feature: u8,
    pub(crate) values: &'a [u8],
}

/// A packet that negotiation options may be added to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carrier {
    pub(crate) now: Instant,
    pub(crate) seq: Seq48,
    /// Whether it has an acknowledgement number: only then it may carry a Confirm.
    pub(crate) acknowledges: bool,
    /// Whether it is a Request or Response: those repeat every open Change.
    pub(crate) handshake: bool,
    pub(crate) rtt: Option<Duration>,
}

/// All features of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    is_server: bool,
    /// By feature, then local and remote.
    slots: [[Slot; 2]; ALL.len()],
    unknown: Vec<(Side, u8)>,
    /// Greatest number received, and sent, with negotiation options that were new.
    greatest_received: Option<Seq48>,
    greatest_sent: Option<Seq48>,
    /// Time to repeat Changes, and the wait then.
    retry_at: Option<Instant>,
    retry_after: Duration,
}

impl Features {
    /// Every feature at its initial value; this end would accept any known value.
    pub(crate) fn new(is_server: bool) -> Self {
        let slots = ALL.map(|feature| {
            let wanted = match feature {
                Feature::Ccid => List::new(&[2]),
                Feature::MinimumChecksumCoverage => {
                    List::new(&core::array::from_fn::<u8, 16, _>(|coverage| coverage as u8))
                }
                Feature::SequenceWindow | Feature::AckRatio => List::new(&[]),
                _ => List::new(&[0, 1]),
            };
            let (value, state) = (feature.initial(), State::Stable);
            [Slot { value, wanted, state, mandatory: false, owed: Owed::Nothing }; 2]
        });
        Self {
            is_server,
            slots,
            unknown: Vec::new(),
            greatest_received: None,
            greatest_sent: None,
            retry_at: None,
            retry_after: RETRY_FIRST,
        }
    }

    fn slot(&mut self, side: Side, feature: Feature) -> &mut Slot {
        &mut self.slots[feature.index()][side as usize]
    }

    fn view(&self, side: Side, feature: Feature) -> &Slot {
        &self.slots[feature.index()][side as usize]
    }

    /// The value in force.
    pub(crate) fn value(&self, side: Side, feature: Feature) -> u64 {
        self.view(side, feature).value
    }

    /// Whether it is in force and true.
    pub(crate) fn is_on(&self, side: Side, feature: Feature) -> bool {
        self.value(side, feature) == 1
    }

    /// Whether no negotiation is open.
    pub(crate) fn is_settled(&self, side: Side, feature: Feature) -> bool {
        self.view(side, feature).state == State::Stable
    }

    /// Preferences of this end, best first, if it is asked.
    pub(crate) fn prefer(&mut self, side: Side, feature: Feature, list: &[u8]) {
        self.slot(side, feature).wanted = List::new(list);
    }

    /// Opens a negotiation with this list of preferences; mandatory resets the connection if it
    /// cannot be.
    pub(crate) fn negotiate(&mut self, side: Side, feature: Feature, list: &[u8], mandatory: bool) {
        let slot = self.slot(side, feature);
        slot.wanted = List::new(list);
        slot.mandatory = mandatory;
        slot.state = State::Unstable;
    }

    /// States a new value of a feature of this end that the other end has to accept.
    pub(crate) fn state(&mut self, feature: Feature, value: u64) {
        let Some(len) = feature.stated_len() else { return };
        let bytes = value.to_be_bytes();
        let bytes = &bytes[8 - len..];
        let slot = self.view(Side::Local, feature);
        let known = match slot.state {
            State::Stable => slot.value == value,
            State::Changing | State::Unstable => slot.wanted.as_slice() == bytes,
        };
        if !known {
            self.negotiate(Side::Local, feature, bytes, false);
        }
    }

    /// Reads a Change. The answer goes out with the next [`Features::write`].
    pub(crate) fn on_change(&mut self, option: &Received<'_>) -> Result<(), Failure> {
        let Some(feature) = Feature::known(option.feature) else {
            if option.mandatory {
                return Err(Failure::Mandatory);
            }
            let unknown = (option.side, option.feature);
            if self.unknown.len() < UNKNOWN_MAX && !self.unknown.contains(&unknown) {
                self.unknown.push(unknown);
            }
            return Ok(());
        };
        if self.is_reordered(option.seq) || self.is_unstable(option.side, feature) {
            return Ok(());
        }
        let new = match feature.stated_len() {
            Some(len) => stated(feature, len, option.side, option.values),
            None => self.reconciled(option.side, feature, option.values, option.mandatory),
        };
        let slot = self.slot(option.side, feature);
        match new {
            Some(value) => {
                slot.value = value;
                slot.state = State::Stable;
                slot.owed = Owed::Confirm;
                self.rest_if_settled();
                Ok(())
            }
            None if option.mandatory => Err(Failure::Mandatory),
            None => {
                slot.owed = Owed::Empty;
                Ok(())
            }
        }
    }

    /// The value that both lists give; the one in force if they share none, unless that must not
    /// be (RFC 4340 sections 6.3.1 and 6.6.9).
    fn reconciled(
        &self,
        side: Side,
        feature: Feature,
        theirs: &[u8],
        mandatory: bool,
    ) -> Option<u64> {
        let slot = self.view(side, feature);
        match self.first_shared(slot.wanted.as_slice(), theirs) {
            Some(value) => Some(value.into()),
            None if mandatory => None,
            None => Some(slot.value),
        }
    }

    /// The first entry of the server's list that the client's has too.
    fn first_shared(&self, ours: &[u8], theirs: &[u8]) -> Option<u8> {
        let (server, client) = if self.is_server { (ours, theirs) } else { (theirs, ours) };
        server.iter().copied().find(|value| client.contains(value))
    }

    /// Reads a Confirm.
    pub(crate) fn on_confirm(&mut self, option: &Received<'_>) -> Result<(), Failure> {
        let Some(feature) = Feature::known(option.feature) else { return Ok(()) };
        let answers = match (option.ack, self.greatest_sent) {
            (Some(ack), Some(sent)) => !ack.before(sent),
            _ => false,
        };
        let changing = self.view(option.side, feature).state == State::Changing;
        if self.is_reordered(option.seq) || !answers || !changing {
            return Ok(());
        }
        // Where the latest Change of a stated feature was lost, the answer to the one before it
        // may acknowledge later packets. The latest is repeated.
        let is_stated = feature.stated_len() == Some(option.values.len());
        if is_stated && option.values != self.view(option.side, feature).wanted.as_slice() {
            return Ok(());
        }
        let new = match option.values {
            [] if feature.is_required() => return Err(Failure::Option),
            [] => self.value(option.side, feature),
            values => self.confirmed(option.side, feature, values).ok_or(Failure::Option)?,
        };
        let slot = self.slot(option.side, feature);
        slot.value = new;
        slot.state = State::Stable;
        self.rest_if_settled();
        Ok(())
    }

    /// The value of a Confirm; `None` if it is not the one that had to come out.
    fn confirmed(&self, side: Side, feature: Feature, values: &[u8]) -> Option<u64> {
        let slot = self.view(side, feature);
        if feature.stated_len().is_some() {
            return (side == Side::Local && values == slot.wanted.as_slice())
                .then(|| number(values));
        }
        let (&value, theirs) = values.split_first()?;
        let ours = slot.wanted.as_slice();
        let expected = match theirs {
            // Without their list, what this end can accept must do, or what is in force.
            [] => (ours.contains(&value) || u64::from(value) == slot.value).then_some(value),
            _ => self.first_shared(ours, theirs),
        };
        match expected {
            Some(expected) => (expected == value).then_some(value.into()),
            None => (u64::from(value) == slot.value).then_some(slot.value),
        }
    }

    fn is_reordered(&self, seq: Seq48) -> bool {
        self.greatest_received.is_some_and(|greatest| !seq.after(greatest))
    }

    fn is_unstable(&self, side: Side, feature: Feature) -> bool {
        self.view(side, feature).state == State::Unstable
    }

    /// All options of a packet with negotiation options have been read (RFC 4340 section 6.6.4).
    pub(crate) fn note_packet(&mut self, seq: Seq48) {
        if !self.is_reordered(seq) {
            self.greatest_received = Some(seq);
        }
    }

    /// Adds owed answers and requests to a packet.
    pub(crate) fn write(&mut self, carrier: &Carrier, options: &mut Options) {
        let Carrier { now, seq, acknowledges, handshake, rtt } = *carrier;
        let again = handshake || self.retry_at.is_some_and(|at| at <= now);
        let mut is_new = false;
        for feature in ALL {
            for side in [Side::Local, Side::Remote] {
                let slot = self.slot(side, feature);
                if acknowledges && slot.owed != Owed::Nothing {
                    slot.confirm(side, feature, options);
                }
                if slot.state == State::Unstable || (slot.state == State::Changing && again) {
                    is_new |= slot.state == State::Unstable;
                    slot.change(side, feature, options);
                }
            }
        }
        if acknowledges {
            for (side, feature) in self.unknown.drain(..) {
                // What does not fit is asked again.
                let _ = options.push(Value::Confirm { side, feature, values: &[] });
            }
        }
        if is_new {
            self.greatest_sent = Some(seq);
            self.retry_after = rtt.map_or(RETRY_FIRST, |rtt| rtt * 2);
        }
        if is_new || (again && self.is_changing()) {
            self.retry_at = Some(now + self.retry_after);
            self.retry_after = (self.retry_after * 2).min(RETRY_MAX);
        }
    }

    /// Once nothing is open, nothing is sent again.
    fn rest_if_settled(&mut self) {
        if !self.is_changing() {
            self.retry_at = None;
            self.retry_after = RETRY_FIRST;
        }
    }

    fn is_changing(&self) -> bool {
        self.slots.as_flattened().iter().any(|slot| slot.state != State::Stable)
    }

    /// Whether a packet should go out for the sake of negotiation.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let owes = |slot: &Slot| slot.owed != Owed::Nothing || slot.state == State::Unstable;
        self.slots.as_flattened().iter().any(owes)
            || !self.unknown.is_empty()
            || self.retry_at.is_some_and(|at| at <= now)
    }

    /// Returns the time at which a Change is repeated.
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.retry_at
    }
}

impl Slot {
    /// Adds the Confirm that is owed.
    fn confirm(&mut self, side: Side, feature: Feature, options: &mut Options) {
        let mut values = [0; 1 + LIST_MAX];
        let len = match (self.owed, feature.stated_len()) {
            (Owed::Empty, _) => 0,
            (_, Some(len)) => {
                values[..len].copy_from_slice(&self.value.to_be_bytes()[8 - len..]);
                len
            }
            (_, None) => {
                // A list without the value, where the two ends share none, would have the other
                // end, such as Linux, come to another result.
                let is_wanted = self.wanted.as_slice().contains(&(self.value as u8));
                let list = if is_wanted { self.wanted.as_slice() } else { &[] };
                values[0] = self.value as u8;
                values[1..=list.len()].copy_from_slice(list);
                1 + list.len()
            }
        };
        let values = &values[..len];
        // What does not fit is asked again; to owe it on would fill packets without end for a peer
        // whose cookies leave no room.
        let _ = options.push(Value::Confirm { side, feature: feature as u8, values });
        self.owed = Owed::Nothing;
    }

    /// Adds the Change that is open.
    fn change(&mut self, side: Side, feature: Feature, options: &mut Options) {
        let value = Value::Change { side, feature: feature as u8, values: self.wanted.as_slice() };
        // What does not fit goes with the next repetition.
        let _ = if self.mandatory { options.push_mandatory(value) } else { options.push(value) };
        self.state = State::Changing;
    }
}

/// The value of a Change for a stated feature, if it is a legal one and from its own end.
fn stated(feature: Feature, len: usize, side: Side, values: &[u8]) -> Option<u64> {
    let value = number(values);
    let legal = side == Side::Remote && values.len() == len && feature.is_legal(value);
    legal.then_some(value)
}

/// Big-endian.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests;
