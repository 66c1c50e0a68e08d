//! Times of the day at which a host lends.

use std::str::FromStr;

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// A span of every day, in minutes since midnight; it may go over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    from: u16,
    until: u16,
}

impl Hours {
    /// Whether a minute of the day is within the span.
    pub(crate) fn contains(self, minute: u16) -> bool {
        match self.from < self.until {
            true => (self.from..self.until).contains(&minute),
            false => minute >= self.from || minute < self.until,
        }
    }
}

impl FromStr for Hours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let span = || {
            let (from, until) = text.split_once('-')?;
            Some(Self { from: minute(from)?, until: minute(until)? })
        };
        let span = span().filter(|span| span.from != span.until && span.from < DAY);
        span.ok_or_else(|| "expected two different times, such as 08:00-22:00".to_owned())
    }
}

/// The minute of the day, up to 24:00.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|_| is_number)
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    Some(hour * 60 + minute).filter(|all| minute < 60 && *all <= DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_may_go_over_midnight() {
        let of = |text: &str| text.parse::<Hours>().unwrap();
        let day = of("08:00-22:00");
        let within = [0, 479, 480, 1_319, 1_320].map(|minute| day.contains(minute));
        assert_eq!(within, [false, false, true, true, false]);
        let night = of("22:00-06:30");
        let within = [0, 389, 390, 1_319, 1_320].map(|minute| night.contains(minute));
        assert_eq!(within, [true, true, false, false, true]);
        assert!(of("18:00-24:00").contains(DAY - 1));
    }

    #[test]
    fn other_texts_are_refused() {
        for wrong in
            ["", "8:00-22:00", "08:00", "08:00-08:00", "24:00-08:00", "08:60-09:00", "08:00-24:01"]
        {
            assert!(wrong.parse::<Hours>().is_err(), "{wrong}");
        }
    }
}
