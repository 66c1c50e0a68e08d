//! Requests to a kernel for the settings that it reported.
//!
//! Most qdiscs report their settings in the form in which they accept them. CoDel keeps its times
//! in units of 1024 ns, reports them in whole microseconds, and rounds down in both directions: set
//! to 5 ms it reports 4.999 ms, and set to that it has a unit less. SFQ allows no more flows than
//! packets where a limit of packets is requested; by default it has 128 flows and 127 packets.
//! (Linux 6.1: `net/sched/sch_codel.c`, `sch_fq_codel.c`, `sch_sfq.c`, `include/net/codel.h`.)

use netlink_packet_core::NlaBuffer;

/// Attributes of times in microseconds: target, interval and threshold of ECN.
const CODEL: [u16; 3] = [1, 3, 5];
const FQ_CODEL: [u16; 3] = [1, 3, 7];
/// Offsets of limit and flows in `struct tc_sfq_qopt`.
const SFQ_LIMIT: usize = 8;
const SFQ_FLOWS: usize = 16;
/// The limit that SFQ has where none is asked for (`SFQ_MAX_DEPTH`).
const SFQ_DEFAULT: u32 = 127;

/// Returns the options for a qdisc of this kind that reports these.
pub(crate) fn requested(kind: &str, reported: &[u8]) -> Vec<u8> {
    let mut options = reported.to_vec();
    match kind {
        "codel" => set_times(&mut options, CODEL),
        "fq_codel" => set_times(&mut options, FQ_CODEL),
        "sfq" => {
            let (limit, flows) = (word(reported, SFQ_LIMIT), word(reported, SFQ_FLOWS));
            if limit == Some(SFQ_DEFAULT) && flows > limit {
                set_word(&mut options, SFQ_LIMIT, 0);
            }
        }
        _ => {}
    }
    options
}

/// Sets times in a list of attributes to the values to ask for.
fn set_times(options: &mut [u8], times: [u16; 3]) {
    let mut at = 0;
    while let Some(rest) = options.get_mut(at..)
        && let Ok(mut nla) = NlaBuffer::new_checked(rest)
    {
        if times.contains(&nla.kind())
            && let Ok(value) = <&mut [u8; 4]>::try_from(nla.value_mut())
        {
            *value = requested_us(u32::from_ne_bytes(*value)).to_ne_bytes();
        }
        at += usize::from(nla.length()).next_multiple_of(4);
    }
}

/// Returns the microseconds to ask CoDel for so that it reports these.
fn requested_us(reported: u32) -> u32 {
    if reported_us(reported) == reported { reported } else { reported.saturating_add(1) }
}

/// Returns CoDel's report of a time that it was asked for.
fn reported_us(requested: u32) -> u32 {
    let kept = (u64::from(requested) * 1000) >> 10;
    ((kept << 10) / 1000) as u32
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn set_word(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(room) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *room = value.to_ne_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(all: &[(u16, u32)]) -> Vec<u8> {
        let bytes = |(kind, value): &(u16, u32)| {
            [&8_u16.to_ne_bytes()[..], &kind.to_ne_bytes(), &value.to_ne_bytes()].concat()
        };
        all.iter().flat_map(bytes).collect()
    }

    #[test]
    fn codel_is_asked_for_the_times_that_it_was_given() {
        // 5 ms and 100 ms, as Linux tells them; the limit and the quantum are no times.
        let reported = attributes(&[(1, 4999), (2, 10240), (3, 99_999), (6, 1514), (7, 999)]);
        let wanted = attributes(&[(1, 5000), (2, 10240), (3, 100_000), (6, 1514), (7, 1000)]);
        assert_eq!(requested("fq_codel", &reported), wanted);
        assert_eq!(requested("fq_pie", &reported), reported);
    }

    #[test]
    fn sfq_is_not_asked_for_its_own_limit() {
        let words = |all: [u32; 6]| all.map(u32::to_ne_bytes).concat();
        let reported = words([1514, 0, 127, 1024, 128, 127]);
        assert_eq!(requested("sfq", &reported), words([1514, 0, 0, 1024, 128, 127]));
        let other = words([1514, 10, 100, 1024, 100, 127]);
        assert_eq!(requested("sfq", &other), other);
    }

    #[test]
    fn what_was_told_is_told_again() {
        let many = (0..3_000_000).chain((u32::MAX / 2..u32::MAX / 2 + 5000).rev());
        for given in many {
            let reported = reported_us(given);
            assert_eq!(reported_us(requested_us(reported)), reported, "{given} us");
        }
    }

    #[test]
    fn what_is_cut_short_stays_as_it_is() {
        let reported = attributes(&[(1, 4999), (3, 99_999)]);
        for length in 0..reported.len() {
            let cut = &reported[..length];
            let whole = length / 8 * 8;
            assert_eq!(requested("codel", cut)[whole..], cut[whole..], "{length} bytes");
            assert_eq!(requested("sfq", cut).len(), length);
        }
        assert_eq!(requested("codel", &[3, 0, 1, 0]), [3, 0, 1, 0]);
    }
}
