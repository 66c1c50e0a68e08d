//! Frames, with sizes by hand.

use super::*;
use crate::Emission;
use fairwave_units::Seed;

fn video() -> Video {
    Video {
        rate: BitRate(1_000_000),
        interval: Duration::from_millis(40),
        group: 12,
        intra_ratio: 4.0,
        spread: 0.25,
        payload_bytes: 1000,
    }
}

/// Cut into datagrams, the frames are what the source emits.
#[test]
fn frames_are_the_same_bytes_as_datagrams() {
    let source = Source::Video(video());
    let random = || Seed(5).stream("v");
    let cut = source.frames(random()).flat_map(|frame| {
        let whole = frame.bytes / 1000;
        let rest = (frame.bytes % 1000) as u32;
        let full = (0..whole).map(move |_| Emission { at: frame.at, bytes: 1000 });
        full.chain((rest > 0).then_some(Emission { at: frame.at, bytes: rest }))
    });
    let cut: Vec<_> = cut.take(2000).collect();
    assert_eq!(cut, source.emissions(random()).take(2000).collect::<Vec<_>>());
}

/// 1 Mbps in 40 ms are 5000 B. With 12 frames, the first four times the others:
/// 5000 * 12 / 15 = 4000 B for P, 16 000 B for I.
#[test]
fn a_group_is_one_i_frame_and_its_p_frames() {
    let source = Source::Video(Video { spread: 0.0, ..video() });
    let frames: Vec<_> = source.frames(Seed(1).stream("v")).take(14).collect();
    for (n, frame) in frames.iter().enumerate() {
        let (kind, bytes) = match n % 12 {
            0 => (FrameKind::Intra, 16_000),
            _ => (FrameKind::Predicted, 4_000),
        };
        let at = Duration::from_millis(40 * n as u64);
        assert_eq!(*frame, Frame { number: n as u64, kind, at, bytes });
    }
    assert_eq!((frames[0].datagrams(1472), frames[1].datagrams(1472)), (11, 3));
}

#[test]
fn an_encoder_follows_the_rate_it_is_told() {
    let mut frames = Source::Video(Video { spread: 0.0, ..video() }).frames(Seed(1).stream("v"));
    let sizes = |frames: &mut Frames| frames.take(12).map(|f| f.bytes).sum::<u64>();
    assert_eq!(sizes(&mut frames), 60_000);
    frames.set_rate(BitRate(250_000));
    assert_eq!(sizes(&mut frames), 15_000);
}

/// The paper's source: 629 B every 10 ms, each of use by itself.
#[test]
fn each_datagram_of_another_source_is_a_frame() {
    let interval = Duration::from_millis(10);
    let source = Source::Cbr { payload_bytes: 629, interval };
    let frames: Vec<_> = source.frames(Seed(1).stream("c")).take(3).collect();
    let frame = |number: u64| {
        let at = Duration::from_millis(10 * number);
        Frame { number, kind: FrameKind::Intra, at, bytes: 629 }
    };
    assert_eq!(frames, [frame(0), frame(1), frame(2)]);
    assert_eq!(source.frame_interval(), interval);
}
