//! Paths of a client that are at risk: their priority follows the statistics of their radio.

use crate::report::RadioOutput;
use crate::signs::{Judge, Sample};
use fairwave_linux::Clock;
use fairwave_linux::radio::{Radio, Station};
use fairwave_shake_host::Host;
use fairwave_shake_host::endpoint::Priority;
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::sleep;

/// Interval of samples.
const SAMPLE: Duration = Duration::from_millis(500);

/// Interfaces, and the judgements on them.
#[derive(Debug)]
pub(crate) struct Risks {
    vias: Vec<String>,
    /// Priorities of the paths while they are not at risk.
    priorities: Vec<Priority>,
    level_dbm: f64,
    /// Latest statistics of the radio of each interface.
    radios: RefCell<Vec<Option<RadioOutput>>>,
}

impl Risks {
    pub(crate) fn new(vias: &[String], priorities: &[Priority], level_dbm: f64) -> Self {
        let radios = RefCell::new(vec![None; vias.len()]);
        Self { vias: vias.to_vec(), priorities: priorities.to_vec(), level_dbm, radios }
    }

    /// Latest statistics of the radio of a path; `None` if it has none.
    pub(crate) fn radio(&self, path: u8) -> Option<RadioOutput> {
        self.radios.borrow().get(usize::from(path)).copied().flatten()
    }

    /// Samples the radios, and changes the priorities of paths; `note` gets each change.
    pub(crate) async fn watch(&self, host: &Host, note: impl Fn(&str)) {
        let Ok(mut radio) = Radio::open() else { return std::future::pending().await };
        let clock = Clock::start();
        let mut judges = vec![(Judge::new(self.level_dbm), false); self.vias.len()];
        loop {
            sleep(SAMPLE).await;
            for (path, (judge, was_at_risk)) in judges.iter_mut().enumerate() {
                let via = &self.vias[path];
                let station = station(&mut radio, via);
                self.radios.borrow_mut()[path] = station.as_ref().map(RadioOutput::of);
                let sign = judge.take(clock.now(), station.as_ref().and_then(Sample::of));
                let at_risk = sign.is_some();
                if std::mem::replace(was_at_risk, at_risk) == at_risk {
                    continue;
                }
                let usual = self.priorities[path];
                host.prioritize(path as u8, if at_risk { Priority::Standby } else { usual });
                match sign {
                    Some(sign) => note(&format!("{via} is at risk: {sign}")),
                    None => note(&format!("{via} is no longer at risk")),
                }
            }
        }
    }
}

/// Statistics of the radio of an interface; `None` if it is no station of an access point.
fn station(radio: &mut Radio, interface: &str) -> Option<Station> {
    let index = radio.interface(interface).ok()?.index;
    radio.link(index).ok()?
}
