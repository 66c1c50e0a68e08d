//! Formats of a SHAKE flow's messages on the simulated wire.

use fairwave_shake::{Config, Segment};
use fairwave_tcp::Virtual;
use fairwave_units::Seq32;
use fairwave_wire::shake::{Ack, Body};
use fairwave_wire::tcp::{self, Flags, Options, SackBlocks, WINDOW_SCALE_MAX};

/// Format of a SHAKE flow's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShakeFormat {
    /// Fairwave's own messages in UDP datagrams ([`fairwave_wire::shake`]).
    #[default]
    Udp,
    /// TCP segments, as TCP SHAKE extends TCP (sections 2.2.1 and 2.3): a header of 20 bytes, and
    /// behind it in acknowledgements the SACK option while data is missing. The receiver also gets
    /// the fields for which this header has no room: path, number and echo.
    Tcp,
}

/// The number of the SYN, which is before the first byte of a stream.
const ISN: Seq32 = Seq32(0);

/// TCP headers of a flow's messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpFormat {
    mss: u16,
    has_sack: bool,
    /// Shift of windows (RFC 7323 section 2.3); zero: the SYN has no such option.
    shift: u8,
    /// The window in segments that do not report one, unscaled.
    window: u16,
}

/// Place of an end in both streams: offsets behind the last byte sent and the last received in
/// order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl ShakeFormat {
    /// `config` as far as the format has room for it: four SACK blocks (RFC 2018 section 3).
    pub(super) fn limit(self, config: Config) -> Config {
        match self {
            Self::Udp => config,
            Self::Tcp => Config { sack_blocks: config.sack_blocks.min(SackBlocks::MAX), ..config },
        }
    }

    /// Headers of a flow of this format, if it has TCP's.
    pub(super) fn tcp(self, config: &Config) -> Option<TcpFormat> {
        (self == Self::Tcp).then(|| TcpFormat::new(config))
    }
}

impl TcpFormat {
    fn new(config: &Config) -> Self {
        let fits = |shift: &u8| config.receive_buffer >> shift <= u16::MAX.into();
        let shift = (0..WINDOW_SCALE_MAX).find(fits).unwrap_or(WINDOW_SCALE_MAX);
        Self {
            mss: u16::try_from(config.mss).unwrap_or(u16::MAX),
            has_sack: config.sack_blocks > 0,
            shift,
            window: unscaled(config.receive_buffer, shift),
        }
    }

    /// Header of a message without its ports. Joins and challenges are SYNs with the options that
    /// RFC 9293, RFC 7323 and RFC 2018 require; the messages without counterpart in TCP are bare
    /// headers.
    pub(super) fn header(&self, message: &Segment<Virtual>, at: Place) -> tcp::Header {
        let number = |offset: u64| ISN + 1 + offset as u32;
        let bare = tcp::Header {
            seq: number(at.sent),
            ack: number(at.received),
            flags: Flags { ack: true, ..Flags::default() },
            window: self.window,
            ..tcp::Header::default()
        };
        match &message.header.body {
            Body::Join(join) => {
                let flags = Flags { syn: true, ..Flags::default() };
                self.syn(tcp::Header { flags, ack: Seq32(0), ..bare }, join.window)
            }
            Body::Challenge(challenge) => {
                let flags = Flags { syn: true, ..bare.flags };
                self.syn(tcp::Header { flags, ..bare }, challenge.window)
            }
            Body::Data(data) => {
                let flags = Flags { fin: data.fin, ..bare.flags };
                tcp::Header { seq: number(data.seq), flags, ..bare }
            }
            Body::Ack(ack) => tcp::Header {
                ack: number(ack.cumulative),
                window: unscaled(ack.window, self.shift),
                options: Options { sack: sack(ack, number(ack.cumulative)), ..Options::default() },
                ..bare
            },
            Body::Reset { .. } => tcp::Header { flags: Flags { rst: true, ..bare.flags }, ..bare },
            Body::Response { .. } | Body::Leave(_) | Body::Left(_) => bare,
        }
    }

    /// A SYN, whose window is never scaled (RFC 7323 section 2.2).
    fn syn(&self, header: tcp::Header, window: u32) -> tcp::Header {
        let options = Options {
            mss: Some(self.mss),
            window_scale: (self.shift > 0).then_some(self.shift),
            sack_permitted: self.has_sack,
            ..Options::default()
        };
        tcp::Header { seq: ISN, window: unscaled(window, 0), options, ..header }
    }

    /// Lowers the window of a message to that of the header in which it arrived: a queue on the way
    /// may have reduced it.
    pub(super) fn admit_window(&self, message: &mut Segment<Virtual>, header: &tcp::Header) {
        if let Body::Ack(ack) = &mut message.header.body {
            // The bits that scaling removes are not the queue's doing.
            let maximum = ((u32::from(header.window) + 1) << self.shift) - 1;
            ack.window = ack.window.min(maximum);
        }
    }
}

fn unscaled(window: u32, shift: u8) -> u16 {
    u16::try_from(window >> shift).unwrap_or(u16::MAX)
}

fn sack(ack: &Ack, cumulative: Seq32) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for block in ack.blocks.iter() {
        let left = cumulative + block.offset.get();
        let fits = blocks.push(left, left + block.len.get());
        debug_assert!(fits, "more blocks than TCP has room for");
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_shake::Profile;
    use fairwave_wire::shake::{Blocks, Header, Side};
    use std::num::NonZeroU64;

    fn acknowledgement(window: u32) -> Segment<Virtual> {
        let ack = Ack { cumulative: 1 << 33, window, echo: None, blocks: Blocks::default() };
        let header = Header {
            connection: 1,
            from: Side::Acceptor,
            path: 0,
            number: NonZeroU64::MIN,
            sent_us: 0,
            body: Body::Ack(ack),
        };
        Segment { header, payload: Virtual(0) }
    }

    fn window(message: &Segment<Virtual>) -> u32 {
        let Body::Ack(ack) = message.header.body else { panic!("{message:?}") };
        ack.window
    }

    const AT: Place = Place { sent: 0, received: 0 };

    /// A window of 52 560 bytes fits into 16 bits; 4 MB need a shift of 6.
    #[test]
    fn windows_arrive_as_they_were_sent_or_as_a_queue_has_reduced_them() {
        for (profile, shift) in [(Profile::Paper, 0), (Profile::Modern, 6)] {
            let config = profile.config();
            let tcp = ShakeFormat::Tcp.tcp(&config).expect("it is TCP");
            assert_eq!(tcp.shift, shift);
            for bytes in [0, 1, 1459, config.receive_buffer - 1, config.receive_buffer] {
                let mut message = acknowledgement(bytes);
                let header = tcp.header(&message, AT);
                tcp.admit_window(&mut message, &header);
                assert_eq!(window(&message), bytes);
                let reduced = tcp::Header { window: 20, ..header };
                tcp.admit_window(&mut message, &reduced);
                assert_eq!(window(&message), bytes.min((20 << shift) + (1 << shift) - 1));
            }
        }
    }

    /// Offset 0 of a stream is the number behind that of the SYN, and numbers go around.
    #[test]
    fn numbers_count_from_behind_the_syn() {
        let tcp = TcpFormat::new(&Profile::Paper.config());
        let header = tcp.header(&acknowledgement(0), Place { sent: 1460, received: 0 });
        assert_eq!((header.seq, header.ack), (Seq32(1461), Seq32(1)));
        assert!(header.flags.ack && !header.flags.syn);
    }

    #[test]
    fn acknowledgements_have_no_more_blocks_than_tcp_has_room_for() {
        let modern = Profile::Modern.config();
        assert_eq!(ShakeFormat::Tcp.limit(modern).sack_blocks, 4);
        assert_eq!(ShakeFormat::Udp.limit(modern), modern);
        let paper = Profile::Paper.config();
        assert_eq!(ShakeFormat::Tcp.limit(paper), paper);
    }
}
