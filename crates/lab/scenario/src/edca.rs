//! EDCA parameters of access categories.

use crate::diagnostic::Refusal;
use crate::keys::{Kind, keys, table};
use crate::kinds::{count, within};
use crate::reader::Read;
use fairwave_dot11::{AccessCategory, Edca};
use fairwave_units::Duration;

keys! {
    /// Parameters of access to the medium by category, for all radios of a cell.
    pub struct Categories |r| {
        /// Of background traffic.
        background: Option<Parameters> = table(HELP).optional();
        /// Of best effort.
        best_effort as "best-effort": Option<Parameters> = table(HELP).optional();
        /// Of video.
        video: Option<Parameters> = table(HELP).optional();
        /// Of voice. Beacons are sent with these.
        voice: Option<Parameters> = table(HELP).optional();
    }
}

keys! {
    /// Parameters of one access category (802.11-2020 table 9-155 has their defaults).
    pub struct Parameters [Copy, Eq] |r| {
        /// AIFSN: slots after SIFS that the medium must be idle.
        aifsn: Option<u32> = count(2, 15).optional().phrase("the standard's: 7, 3, 2 and 2");
        /// CWmin: one less than a power of two.
        cw_min: Option<u32> = windows().optional().phrase("the standard's");
        /// CWmax: one less than a power of two.
        cw_max: Option<u32> = windows().optional().phrase("the standard's");
        /// TXOP limit in steps of 32 us; zero is one exchange.
        txop_limit: Option<Duration> = limits().optional().phrase("the standard's");
    }
}

const HELP: &str = "write { txop_limit = \"3.008 ms\" }";
/// Unit of a TXOP limit (802.11-2020 clause 9.4.2.28).
const TXOP_STEP: Duration = Duration::from_micros(32);

fn windows() -> Kind<u32> {
    count(0, 32_767).checked(|window| {
        if (window + 1).is_power_of_two() {
            return Ok(window);
        }
        let (below, above) =
            ((window + 1).next_power_of_two() / 2, (window + 1).next_power_of_two());
        let message = format!("{window} is not one less than a power of two");
        Err(Refusal::new(message).help(format!("write {} or {}", below - 1, above - 1)))
    })
}

fn limits() -> Kind<Duration> {
    within(Duration::ZERO, TXOP_STEP * 65_535).checked(|limit: Duration| -> Read<Duration> {
        let steps = limit.as_nanos() / TXOP_STEP.as_nanos();
        if TXOP_STEP * steps == limit {
            return Ok(limit);
        }
        let message = format!("{limit} is not a multiple of {TXOP_STEP}");
        Err(Refusal::new(message).help(format!("write \"{}\"", TXOP_STEP * steps)))
    })
}

impl Categories {
    /// The keys of a category, if it has some.
    pub(crate) fn of(&self, category: AccessCategory) -> Option<Parameters> {
        match category {
            AccessCategory::Background => self.background,
            AccessCategory::BestEffort => self.best_effort,
            AccessCategory::Video => self.video,
            AccessCategory::Voice => self.voice,
        }
    }

    /// The parameters of all categories, where `usual` are the standard's.
    pub(crate) fn over(&self, usual: [Edca; 4]) -> [Edca; 4] {
        let mut all = usual;
        for (edca, category) in all.iter_mut().zip(AccessCategory::ALL) {
            let Some(own) = self.of(category) else { continue };
            edca.aifsn = own.aifsn.unwrap_or(edca.aifsn);
            edca.cw_min = own.cw_min.unwrap_or(edca.cw_min);
            edca.cw_max = own.cw_max.unwrap_or(edca.cw_max);
            edca.txop = own.txop_limit.unwrap_or(edca.txop);
        }
        all
    }
}
