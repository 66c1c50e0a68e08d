//! Configuration of a set of connections.

use fairwave_tcp::{self as tcp, BuildController};
use fairwave_units::Seq32;
use fairwave_wire::multi::HEADER_LEN;
use thiserror::Error;

/// Maximum number of connections of a set.
pub const MAX_CONNECTIONS: usize = 32;
/// Minimum block in bytes. Smaller ones would cost more to remember than they carry.
pub const MIN_BLOCK: u16 = 64;
/// Minimum that is read of a block whose turn has not come, unless it ends before.
pub(super) const PIECE: u32 = 1024;
/// Minimum receive buffer of a connection. TCP opens its window in steps of up to half of it, so no
/// more than half is sure to fill while nothing is read.
const MIN_RECEIVE_BUFFER: u32 = 2 * PIECE;

/// Choice of the connection for the next block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Each in turn, whatever becomes of them (paper, section 3.2.4: 1:1:1).
    Equal,
    /// In turn, each as often as its weight says (paper: 2:1:1, by bandwidth).
    #[default]
    Weighted,
    /// The connection that would deliver it first, among those whose congestion window has room; a
    /// block that does not arrive over one connection goes again over another.
    Adaptive,
}

impl Split {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Equal, Self::Weighted, Self::Adaptive];

    /// Its name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Weighted => "weighted",
            Self::Adaptive => "adaptive",
        }
    }

    /// Whether blocks may go again over another connection.
    pub(super) fn resends(self) -> bool {
        self == Self::Adaptive
    }
}

/// Configuration of one end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Distribution of blocks.
    pub split: Split,
    /// Weights of [`Split::Weighted`], for each connection; the others ignore them.
    pub weights: Vec<u32>,
    /// Bytes of a block; the last may be shorter.
    pub block: u16,
    /// Send buffer of this end: data in no block yet and, with [`Split::Adaptive`], data that is
    /// not known to have arrived. At least a block.
    pub send_buffer: u32,
    /// Receive buffer of this end beyond the data that its application has read, in order or not.
    /// The rest stays in the receive buffers of the connections. At least a block.
    pub receive_buffer: u32,
}

/// Configuration of one connection.
pub struct Dial {
    /// Its configuration, ports included.
    pub config: tcp::Config,
    /// Its initial sequence number.
    pub iss: Seq32,
    /// Makes its congestion control.
    pub algorithm: BuildController,
}

/// Reason for which there can be no such set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Too few or too many connections.
    #[error("a set has 1 to {MAX_CONNECTIONS} connections, not {0}")]
    Connections(usize),
    /// Weights that do not match the connections.
    #[error("give each of the {connections} connections a weight of 1 to 1000000")]
    Weights {
        /// Number of connections.
        connections: usize,
    },
    /// A block that is too small, or does not fit a buffer.
    #[error(
        "a block of {block} bytes: at least {MIN_BLOCK}, and at most {most}, the size of buffers"
    )]
    Block {
        /// Bytes of a block.
        block: u16,
        /// Capacity of the smallest send buffer, or the set's own buffers.
        most: u32,
    },
    /// A connection whose receive buffer is too small.
    #[error("a connection's receive buffer of {0} bytes: give it {MIN_RECEIVE_BUFFER} at least")]
    ReceiveBuffer(u32),
}

impl Config {
    /// Whether a set of these connections can work.
    ///
    /// # Errors
    /// [`ConfigError`] names the impossible value.
    pub fn check(&self, connections: &[tcp::Config]) -> Result<(), ConfigError> {
        let count = connections.len();
        if count == 0 || count > MAX_CONNECTIONS {
            return Err(ConfigError::Connections(count));
        }
        let fit = self.weights.len() == count
            && self.weights.iter().all(|weight| (1..=1_000_000).contains(weight));
        if self.split == Split::Weighted && !fit {
            return Err(ConfigError::Weights { connections: count });
        }
        let header = HEADER_LEN as u32;
        let sends = connections.iter().map(|c| c.send_buffer.saturating_sub(header));
        let own = [self.send_buffer, self.receive_buffer];
        let most = sends.chain(own).min().unwrap_or(0);
        if self.block < MIN_BLOCK || u32::from(self.block) > most {
            return Err(ConfigError::Block { block: self.block, most });
        }
        let receives = connections.iter().map(|c| c.receive_buffer);
        match receives.min().filter(|minimum| *minimum < MIN_RECEIVE_BUFFER) {
            Some(minimum) => Err(ConfigError::ReceiveBuffer(minimum)),
            None => Ok(()),
        }
    }
}
