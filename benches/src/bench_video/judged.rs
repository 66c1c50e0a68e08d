//! The pictures that arrived, and figures of them.

use super::stream::{FREEZE_S, RATE, TICKS};

/// A decoded picture.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Picture {
    /// Its number at the source.
    number: u64,
    /// Wall clock at which it was decoded, since the start.
    at_s: f64,
}

/// Everything that the player noted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pictures {
    pictures: Vec<Picture>,
    /// Beginning and end of freezes; an open one has no end.
    freezes: Vec<(f64, Option<f64>)>,
    /// Time without an access point, as the mobile's kernel reported it.
    gap: (f64, f64),
}

/// Figures of a stream, from the beginning of the gap until [`WINDOW_S`] after its end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    /// Freezes, the longest, and all together, by ffmpeg's freezedetect.
    pub(super) freezes: usize,
    pub(super) longest_s: f64,
    pub(super) frozen_s: f64,
    /// Time from the end of the gap until the picture runs again, if it does.
    pub(super) back_s: Option<f64>,
    /// Longest delay of a picture behind the usual.
    pub(super) behind_s: f64,
    /// Mean similarity of the pictures, and number of those that are damaged.
    pub(super) ssim: f64,
    pub(super) damaged: usize,
    /// Pictures of the source, and those that never came.
    pub(super) sent: u64,
    pub(super) lost: u64,
    /// Length of the gap.
    pub(super) gap_s: f64,
}

/// Time after the gap that counts.
pub(super) const WINDOW_S: f64 = 9.0;
/// The picture runs if this many new ones come in a second, none later than this behind the usual.
pub(super) const RUNS: usize = 24;
pub(super) const BEHIND_S: f64 = 0.5;
/// Similarity below which a picture counts as damaged; of intact ones it is 0.95 and more.
pub(super) const DAMAGED: f64 = 0.9;
/// A log without so many pictures is one of a stream that never ran.
const FEWEST: usize = 25;

impl Pictures {
    /// Reads the log of the player, and that of the states of the mobile's device.
    pub(super) fn read(player: &str, states: &str, epoch_us: u64) -> Result<Self, String> {
        let media = stamps(player, "[showinfo@media");
        let clock = stamps(player, "[showinfo@clock");
        let numbers = media.map(|pts| Some(pts.parse::<u64>().ok()? * RATE as u64 / TICKS));
        let times = clock.map(|pts| Some(pts.parse::<f64>().ok()? / 1e6));
        let picture = |(number, at_s): (Option<u64>, Option<f64>)| {
            Some(Picture { number: number?, at_s: at_s? })
        };
        let pictures: Vec<Picture> = numbers.zip(times).filter_map(picture).collect();
        if pictures.len() < FEWEST {
            return Err(format!("{} pictures arrived:\n{player}", pictures.len()));
        }
        Ok(Self { pictures, freezes: freezes(player), gap: gap(states, epoch_us)? })
    }

    /// The figures, with the similarity of each picture.
    pub(super) fn judged(&self, ssim: &[f64]) -> Judged {
        let (begin, end) = self.gap;
        let until = end + WINDOW_S;
        let delay = |picture: &Picture| picture.at_s - picture.number as f64 / RATE;
        let usual = self.pictures.iter().map(delay).fold(f64::INFINITY, f64::min);
        let is_of_window = |number: u64| (begin..until).contains(&(usual + number as f64 / RATE));
        let frozen: Vec<f64> = self.frozen(begin, until);
        let in_window: Vec<(&Picture, f64)> = (self.pictures.iter().zip(ssim.iter().copied()))
            .filter(|(picture, _)| is_of_window(picture.number))
            .collect();
        let mut numbers: Vec<u64> = in_window.iter().map(|(picture, _)| picture.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let last = (until - usual).max(0.0) * RATE;
        let sent = (0..last.ceil() as u64).filter(|number| is_of_window(*number)).count() as u64;
        let shown = in_window.len().max(1) as f64;
        Judged {
            freezes: frozen.len(),
            longest_s: frozen.iter().copied().fold(0.0, f64::max),
            frozen_s: frozen.iter().sum(),
            back_s: self.back(usual),
            behind_s: in_window.iter().map(|(one, _)| delay(one) - usual).fold(0.0, f64::max),
            ssim: in_window.iter().map(|(_, ssim)| ssim).sum::<f64>() / shown,
            damaged: in_window.iter().filter(|(_, ssim)| *ssim < DAMAGED).count(),
            sent,
            lost: sent.saturating_sub(numbers.len() as u64),
            gap_s: end - begin,
        }
    }

    /// Lengths of the freezes that reach into a time, as far as they lie in it.
    fn frozen(&self, begin: f64, until: f64) -> Vec<f64> {
        let inside = |(from, to): &(f64, Option<f64>)| {
            // A freeze that never ended, and a stream of which nothing more came.
            let to = to.unwrap_or(until).min(until);
            (to > begin && *from < until).then(|| to - from.max(begin))
        };
        self.freezes.iter().filter_map(inside).filter(|length| *length > 0.0).collect()
    }

    /// Time from the end of the gap until the picture runs.
    fn back(&self, usual: f64) -> Option<f64> {
        let end = self.gap.1;
        let is_timely = |one: &&Picture| one.at_s - one.number as f64 / RATE - usual <= BEHIND_S;
        let is_later = |one: &&Picture| one.at_s >= end;
        let times: Vec<f64> = (self.pictures.iter().filter(is_later).filter(is_timely))
            .map(|picture| picture.at_s)
            .collect();
        let runs = |from: f64| times.iter().filter(|at| (from..from + 1.0).contains(*at)).count();
        times.iter().copied().find(|at| runs(*at) >= RUNS).map(|at| at - end)
    }
}

/// Times in the lines of a filter of ffmpeg's `showinfo`.
fn stamps<'a>(player: &'a str, filter: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = player.lines().filter(move |line| line.contains(filter));
    lines.filter_map(|line| line.split_once(" pts:")?.1.split_whitespace().next())
}

/// Freezes in the log of ffmpeg's freezedetect: it reports the beginning once one has lasted for
/// [`FREEZE_S`].
fn freezes(player: &str) -> Vec<(f64, Option<f64>)> {
    let mut freezes: Vec<(f64, Option<f64>)> = Vec::new();
    for line in player.lines() {
        let of = |key: &str| line.split_once(key)?.1.trim().parse::<f64>().ok();
        if let Some(from) = of("freezedetect.freeze_start:") {
            freezes.push((from, None));
        } else if let (Some(to), Some(open)) = (of("freezedetect.freeze_end:"), freezes.last_mut())
        {
            open.1 = Some(to);
        }
    }
    debug_assert!(freezes.iter().all(|(from, to)| to.is_none_or(|to| to - from >= FREEZE_S / 2.0)));
    freezes
}

/// The time in which the mobile's device did not run, from lines of nanoseconds and states.
fn gap(states: &str, epoch_us: u64) -> Result<(f64, f64), String> {
    let mut begin = None;
    for line in states.lines().filter(|line| line.contains(" fw0: ")) {
        let at = line.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
        let at = at.ok_or_else(|| format!("no time: {line}"))?;
        let at = (at / 1_000) as f64 / 1e6 - epoch_us as f64 / 1e6;
        let is_away = line.contains("NO-CARRIER") || line.contains("DORMANT");
        match begin {
            None if is_away => begin = Some(at),
            Some(begin) if !is_away => return Ok((begin, at)),
            _ => {}
        }
    }
    Err(format!("no gap: {states}"))
}

/// Similarity of each picture, in order, from the file of ffmpeg's `ssim`.
pub(super) fn ssim(stats: &str) -> Result<Vec<f64>, String> {
    let of = |line: &str| line.split_once("All:")?.1.split(' ').next()?.parse().ok();
    let read = |line: &str| of(line).ok_or_else(|| format!("no similarity: {line}"));
    stats.lines().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH_US: u64 = 1_700_000_000_000_000;
    const STATES: &str = "1700000010000000000 2: fw0: <NO-CARRIER,UP> state DOWN\n\
                          1700000010000000000 2: fw0: <NO-CARRIER,UP> state DOWN\n\
                          1700000011000000000 2: fw0: <UP,LOWER_UP> state UP\n";

    /// The log of a stream from 2 s to 22 s, without the pictures that `is_lost` names, 0.1 s late
    /// and for a second after the gap 0.2 s later.
    fn log(is_lost: impl Fn(u64) -> bool) -> String {
        let mut log = String::new();
        for number in (0..500u64).filter(|number| !is_lost(*number)) {
            let late = if (225..250).contains(&number) { 0.2 } else { 0.0 };
            let at_us = ((2.1 + late + number as f64 / RATE) * 1e6) as u64;
            log += &format!("[showinfo@media @ 0x1] n: 1 pts:{} pts_time:1\n", number * 3_600);
            log += &format!("[showinfo@clock @ 0x1] n: 1 pts: {at_us} pts_time:1\n");
        }
        log + "[freezedetect @ 0x1] lavfi.freezedetect.freeze_start: 10.1\n\
               [freezedetect @ 0x1] lavfi.freezedetect.freeze_end: 11.3\n\
               [freezedetect @ 0x1] lavfi.freezedetect.freeze_start: 30\n"
    }

    fn judged(is_lost: impl Fn(u64) -> bool) -> Judged {
        let pictures = Pictures::read(&log(is_lost), STATES, EPOCH_US).expect("it is whole");
        let ssim = vec![0.98; pictures.pictures.len()];
        pictures.judged(&ssim)
    }

    /// The gap from 10 to 11 s has the pictures 198 to 222, which go at 2.1 s and 40 ms for each.
    #[test]
    fn the_pictures_of_the_gap_are_lost_and_it_runs_when_it_is_over() {
        let judged = judged(|number| (198..223).contains(&number));
        assert_eq!((judged.lost, judged.sent, judged.damaged), (25, 250, 0));
        assert!((judged.gap_s - 1.0).abs() < 1e-6);
        assert_eq!(judged.freezes, 1, "the second is after the end");
        assert!((judged.longest_s - 1.2).abs() < 1e-9 && (judged.frozen_s - 1.2).abs() < 1e-9);
        // 223 and 224 come at 11.02 and 11.06 s, the next at 11.3 s and then every 40 ms.
        assert!(judged.back_s.is_some_and(|back| (back - 0.3).abs() < 1e-5), "{judged:?}");
        assert!((judged.behind_s - 0.2).abs() < 1e-5, "{judged:?}");
        assert!((judged.ssim - 0.98).abs() < 1e-9);
    }

    #[test]
    fn a_stream_that_stays_at_half_its_pictures_is_not_back() {
        assert_eq!(judged(|number| number >= 198 && number % 2 == 0).back_s, None);
        assert_eq!(judged(|number| number >= 198).back_s, None);
    }

    #[test]
    fn a_log_without_pictures_or_a_gap_is_refused() {
        assert!(Pictures::read("", STATES, EPOCH_US).is_err());
        assert!(Pictures::read(&log(|_| false), "", EPOCH_US).is_err());
        assert_eq!(ssim("n:1 Y:0.9 All:0.912 (1)\nn:2 Y:0.9 All:0.5 (1)\n"), Ok(vec![0.912, 0.5]));
        assert!(ssim("n:1").is_err());
    }
}
