//! Paths of a client that are at risk: their priority follows the statistics of their radio.

use crate::signs::{Judge, Sample};
use fairwave_linux::Clock;
use fairwave_linux::radio::Radio;
use fairwave_shake_host::Host;
use fairwave_shake_host::endpoint::Priority;
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
}

impl Risks {
    pub(crate) fn new(vias: &[String], priorities: &[Priority], level_dbm: f64) -> Self {
        Self { vias: vias.to_vec(), priorities: priorities.to_vec(), level_dbm }
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
                let sign = judge.take(clock.now(), sample(&mut radio, via));
                let at_risk = sign.is_some();
                if std::mem::replace(was_at_risk, at_risk) == at_risk {
                    continue;
                }
                let usual = self.priorities[path];
                host.prioritize(path as u8, if at_risk { Priority::Standby } else { usual });
                match sign {
                    Some(sign) => note(&format!("{via} is at risk: {sign}")),
                    None => note(&format!("{via} is not at risk any more")),
                }
            }
        }
    }
}

/// Statistics of the radio of an interface; `None` if it is no station of an access point.
fn sample(radio: &mut Radio, interface: &str) -> Option<Sample> {
    let index = radio.interface(interface).ok()?.index;
    Sample::of(&radio.link(index).ok()??)
}
