//! The peer's receive window, and probing while it is closed (RFC 9293 section 3.8.6.1).

/// The peer's receive window as this end knows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerWindow {
    /// SND.WND in bytes.
    size: u32,
    /// The largest so far.
    max: u32,
    /// A probe is to leave.
    probe: bool,
    /// The window is closed and the timer has expired for that.
    probing: bool,
}

impl PeerWindow {
    /// SND.WND in bytes.
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// MAX.SND.WND: the largest window so far, in bytes.
    pub(super) fn max(&self) -> u32 {
        self.max
    }

    pub(super) fn is_closed(&self) -> bool {
        self.size == 0
    }

    pub(super) fn set(&mut self, size: u32) {
        self.size = size;
        self.max = self.max.max(size);
    }

    /// The timer expired for a closed window, or for data that waits for a wider one: a probe is
    /// to leave.
    pub(super) fn start_probing(&mut self) {
        self.probe = true;
        self.probing = self.is_closed();
    }

    pub(super) fn stop_probing(&mut self) {
        self.probe = false;
        self.probing = false;
    }

    /// Whether the window is closed and was probed.
    pub(super) fn is_probing(&self) -> bool {
        self.probing
    }

    /// Whether a probe is to leave.
    pub(super) fn wants_probe(&self) -> bool {
        self.probe
    }

    /// Whether a probe is to leave; it is about to.
    pub(super) fn take_probe(&mut self) -> bool {
        core::mem::take(&mut self.probe)
    }
}
