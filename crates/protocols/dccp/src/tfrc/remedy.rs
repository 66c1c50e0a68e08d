//! Remedies of a transport for a handover that it is notified of.
//!
//! Otsuka, Tamura and Ishihara (section 4.5) propose four remedies, of one sentence each. A to C
//! here keep to these sentences; A', B' and E are Fairwave's. D, dropping old packets from the
//! transmit queue, belongs to the queue.

/// Remedies of a half-connection. Without any it ignores handovers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Remedies {
    /// A: before the handover the rate goes down to the rate known to be free at the new access
    /// point, and stays there at most until the handover is over, for t_mbi = 64 s at most.
    pub set_ahead: bool,
    /// A': after the handover the rate is the one known to be free, but not more than before,
    /// whatever the nofeedback timer did meanwhile.
    pub on_arrival: bool,
    /// B: the receiver is notified, and leaves out of its feedback what it observed before the
    /// handover and during it. The other end has to agree ([`crate::Feature::HeedHandovers`]). The
    /// sender does nothing else. `ccid3::watch` has what is left out.
    pub notify: bool,
    /// B': the end that roams leaves out observations from during the handover, and the other one
    /// is not notified. Losses of packets sent from one round trip before its start until its end
    /// begin no loss event and their sequence space is in no loss interval. Of packets that waited
    /// through it, the round-trip time counts from its end, and the first such time replaces the
    /// estimate. Receive rates of before and the first one after, which has the silence in it, do
    /// not count. The nofeedback timer stands still, for t_mbi = 64 s at most.
    pub leave_out: bool,
    /// C: for five round trips after the handover new observations weigh more.
    pub sensitive: Option<Sensitivity>,
    /// E, Fairwave's: after the handover begin as a new connection does, with the initial rate,
    /// without a loss history; round-trip times and receive rates as with B'.
    pub restart: bool,
}

/// Forgetting of loss intervals by remedy C; the filter of the round-trip time goes from q = 0.9 to
/// 0.5 in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sensitivity {
    /// Only this number of closed loss intervals counts, 2 to 4.
    Intervals(usize),
    /// Intervals from before the handover count by this factor, 0.25.
    Discount(f64),
}

impl Remedies {
    /// Whether there is any.
    pub fn any(self) -> bool {
        let Self { set_ahead, on_arrival, notify, leave_out, sensitive, restart } = self;
        set_ahead || on_arrival || notify || leave_out || sensitive.is_some() || restart
    }

    /// Whether feedback on packets from before the end of the handover is left out.
    pub(super) fn leaves_before(self) -> bool {
        self.leave_out || self.restart
    }
}

/// The filter constant q of remedy C.
pub(super) const SENSITIVE_Q: f64 = 0.5;
/// Duration of remedy C in round trips.
pub(super) const SENSITIVE_ROUNDS: u64 = 5;
