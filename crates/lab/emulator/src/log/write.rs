//! Writing of a record, without delay of the loop by the disk.

use super::{CONTROL, END, MAGIC, MAX_CONTROL, PACKET, PACKET_HEAD, VERSION};
use crate::packet::{Endpoints, HEAD_LEN};
use fairwave_units::Instant;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;

/// Approximate number of bytes that are passed to the writer at once.
const BLOCK: usize = 256 << 10;
/// Maximum number of blocks that wait for the disk: 64 MiB.
const WAITING: usize = 256;

/// Recorded part of each packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The whole packet: captures of a replay have the real payload.
    #[default]
    Whole,
    /// The bytes that determine its treatment in the world ([`HEAD_LEN`] bytes). A replay gives the
    /// same world, with truncated packets in captures.
    Heads,
}

/// Writes records on a separate thread. The loop does not wait for a slow disk: the record then
/// ends early, and is marked as incomplete.
#[derive(Debug)]
pub struct Writer {
    keep: Keep,
    block: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
    packets: u64,
    missed: u64,
}

/// Result of a record.
#[derive(Debug)]
pub struct Recorded {
    /// Number of packets in it.
    pub packets: u64,
    /// Number of packets that are not in it, all of them after those that are.
    pub missed: u64,
    /// The error of writing the file, if there was one.
    pub error: Option<io::Error>,
}

impl Recorded {
    /// Whether the record is complete.
    pub fn is_complete(&self) -> bool {
        self.missed == 0 && self.error.is_none()
    }
}

impl Writer {
    /// Creates a record in `file`.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(file: impl Write + Send + 'static, keep: Keep) -> io::Result<Self> {
        Self::with_queue(file, keep, WAITING)
    }

    /// As [`Self::new`], with a maximum number of blocks that wait.
    pub(super) fn with_queue(
        file: impl Write + Send + 'static,
        keep: Keep,
        waiting: usize,
    ) -> io::Result<Self> {
        let (full, to_write) = sync_channel(waiting);
        let (written, empty) = channel();
        let builder = std::thread::Builder::new().name("fairwave-record".to_owned());
        let thread = builder.spawn(move || write_blocks(file, &to_write, &written))?;
        let mut block = Vec::with_capacity(2 * BLOCK);
        block.extend(MAGIC);
        block.extend(VERSION.to_le_bytes());
        block.extend([0, 0]);
        Ok(Self { keep, block, full, empty, thread, packets: 0, missed: 0 })
    }

    /// A packet enters the world.
    pub fn packet(&mut self, at: Instant, ends: Endpoints, packet: &[u8]) {
        // A record with a hole in it could not be replayed beyond the hole.
        if self.missed > 0 {
            self.missed += 1;
            return;
        }
        let kept = match self.keep {
            Keep::Whole => packet,
            Keep::Heads => &packet[..packet.len().min(HEAD_LEN)],
        };
        let start = self.begin();
        self.block.push(PACKET);
        self.block.extend(at.as_nanos().to_le_bytes());
        for number in [ends.source.0, ends.destination.0, packet.len() as u32] {
            self.block.extend(number.to_le_bytes());
        }
        debug_assert_eq!(self.block.len() - start, PACKET_HEAD + 8);
        self.block.extend_from_slice(kept);
        self.seal(start);
        self.packets += 1;
        if self.block.len() >= BLOCK {
            self.hand_over();
        }
    }

    /// Records a command; its text is truncated to [`MAX_CONTROL`] bytes.
    pub fn control(&mut self, at: Instant, text: &str) {
        if self.missed > 0 {
            self.missed += 1;
            return;
        }
        let start = self.begin();
        self.block.push(CONTROL);
        self.block.extend(at.as_nanos().to_le_bytes());
        self.block.extend(text.bytes().take(MAX_CONTROL));
        self.seal(start);
        if self.block.len() >= BLOCK {
            self.hand_over();
        }
    }

    /// Records the end of the run, and waits for the disk.
    pub fn finish(mut self, at: Instant) -> Recorded {
        let start = self.begin();
        self.block.push(END);
        self.block.extend(at.as_nanos().to_le_bytes());
        self.block.push(u8::from(self.missed == 0));
        self.seal(start);
        let Self { block, full, thread, packets, missed, .. } = self;
        // The thread ends early only because of an error, which it returns.
        let _ = full.send(block);
        drop(full);
        let written =
            thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        Recorded { packets, missed, error: written.err() }
    }

    /// Begins a record with space for length and checksum.
    fn begin(&mut self) -> usize {
        let start = self.block.len();
        self.block.extend([0; 8]);
        start
    }

    /// Completes the record that began at `start`.
    fn seal(&mut self, start: usize) {
        let body = &self.block[start + 8..];
        let (len, crc) = (body.len() as u32, crc32c::crc32c(body));
        self.block[start..start + 4].copy_from_slice(&len.to_le_bytes());
        self.block[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    }

    /// Passes the block to the thread, if its queue has space.
    fn hand_over(&mut self) {
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(2 * BLOCK));
        let block = core::mem::replace(&mut self.block, next);
        if let Err(TrySendError::Full(block) | TrySendError::Disconnected(block)) =
            self.full.try_send(block)
        {
            let lost = count_packets(&block);
            self.packets -= lost;
            self.missed += lost;
        }
    }
}

/// Number of packets in a block of records.
fn count_packets(mut block: &[u8]) -> u64 {
    let mut count = 0;
    if let Some(rest) = block.strip_prefix(&MAGIC) {
        block = &rest[4..];
    }
    while let Some((len, rest)) = block.split_first_chunk::<4>() {
        let Some(rest) = rest.get(4 + u32::from_le_bytes(*len) as usize..) else { break };
        (block, count) = (rest, count + 1);
    }
    count
}

fn write_blocks(
    mut file: impl Write,
    to_write: &Receiver<Vec<u8>>,
    written: &std::sync::mpsc::Sender<Vec<u8>>,
) -> io::Result<()> {
    while let Ok(mut block) = to_write.recv() {
        file.write_all(&block)?;
        block.clear();
        // At the end of the run the empty block is no longer needed.
        let _ = written.send(block);
    }
    file.flush()
}
