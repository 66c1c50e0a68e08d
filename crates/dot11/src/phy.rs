//! PHY timing and rates (802.11-2020 clauses 15, 16, 17, 18).

/// Which PHY a cell uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// OFDM at 5 GHz, clause 17.
    A,
    /// DSSS and HR-DSSS at 2.4 GHz, clauses 15 and 16.
    B,
    /// ERP-OFDM at 2.4 GHz without 802.11b stations, clause 18.
    G,
}

/// DSSS preamble (clause 16.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// 144 us preamble and 48 us header at 1 Mbps.
    Long,
    /// 72 us preamble at 1 Mbps and 24 us header at 2 Mbps.
    Short,
}

/// A PHY: a standard with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phy {
    /// The standard.
    pub standard: Standard,
    /// Preamble of DSSS rates; without meaning for OFDM.
    pub preamble: Preamble,
}
