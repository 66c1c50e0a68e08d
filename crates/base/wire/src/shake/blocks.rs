//! Blocks of a selective acknowledgement, as distances from the cumulative one.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::Deref;

/// Maximum number of blocks of one acknowledgement. RFC 2018 has room for four, beside timestamps
/// for three.
pub const MAX_BLOCKS: usize = 8;

const ONE: NonZeroU32 = NonZeroU32::MIN;

/// A run of sequence numbers that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its beginning, above the cumulative acknowledgement: there is a gap before it.
    pub offset: NonZeroU32,
    /// Its length.
    pub len: NonZeroU32,
}

/// Up to [`MAX_BLOCKS`] blocks, without memory of their own.
#[derive(Clone, Copy, Default)]
pub struct Blocks {
    count: u8,
    blocks: [Block; MAX_BLOCKS],
}

impl Default for Block {
    fn default() -> Self {
        Self { offset: ONE, len: ONE }
    }
}

impl Blocks {
    /// Appends `block`; whether there was room for it.
    pub fn push(&mut self, block: Block) -> bool {
        let free = self.blocks.get_mut(usize::from(self.count));
        let Some(place) = free else { return false };
        *place = block;
        self.count += 1;
        true
    }
}

impl Deref for Blocks {
    type Target = [Block];

    fn deref(&self) -> &[Block] {
        &self.blocks[..usize::from(self.count)]
    }
}

impl FromIterator<Block> for Blocks {
    /// The first [`MAX_BLOCKS`] of them.
    fn from_iter<I: IntoIterator<Item = Block>>(iter: I) -> Self {
        let mut blocks = Self::default();
        for block in iter.into_iter().take(MAX_BLOCKS) {
            blocks.push(block);
        }
        blocks
    }
}

impl PartialEq for Blocks {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Blocks {}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
