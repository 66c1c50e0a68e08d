//! Choice of an actuator: the available ones, the chosen one, and the reason.

use crate::command::options::{Actuator, Ap};
use crate::{Error, airtime};
use fairwave_linux::{Foreign, Leaf, Shapeable, foreign_qdisc, shapeable};
use serde_json::{Value, json};
use std::fmt::Write;

/// Capabilities of an interface, its driver and the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Whether the driver schedules airtime by weights.
    airtime: bool,
    qdiscs: Shapeable,
    /// Reason for which the user-space scheduler cannot have the interface's frames.
    user_space: Option<String>,
}

impl Facts {
    /// Queries the driver and the kernel. The user-space scheduler is only queried if all actuators
    /// are wanted, it is named, or no other is available, as the query tries it out.
    ///
    /// # Errors
    /// If there is no such interface, or the process may not query it.
    pub(crate) fn ask(ap: &Ap, wants_all: bool) -> Result<Self, Error> {
        let airtime = airtime::is_scheduled(&ap.interface);
        let qdiscs = shapeable(&ap.interface)?;
        let serves = airtime || !qdiscs.disciplines().is_empty();
        let is_named = ap.actuator.is_some_and(|one| one.name() == "user-space");
        let user_space = match wants_all || is_named || !serves {
            true => lack_of_user_space(&ap.interface)?,
            false => Some("not requested".to_owned()),
        };
        Ok(Self { airtime, qdiscs, user_space })
    }

    /// Reason for which an actuator cannot be taken; `None` if it can.
    fn lack(&self, actuator: Actuator, ap: &Ap) -> Option<String> {
        match actuator {
            Actuator::Airtime if !self.airtime => {
                Some("the driver does not schedule airtime by weights".to_owned())
            }
            Actuator::Airtime if ap.actuator.is_none() && !ap.policy_for.is_empty() => {
                Some("drivers know no kinds of traffic".to_owned())
            }
            Actuator::Airtime if ap.leaf.is_some() => {
                Some("airtime has no qdisc for --leaf".to_owned())
            }
            Actuator::Airtime => None,
            Actuator::Hfsc if !self.qdiscs.hfsc => {
                Some("the kernel has no HFSC or no TBF".to_owned())
            }
            Actuator::Hfsc if ap.overhead > 0 => {
                Some("HFSC does not count a link's overhead".to_owned())
            }
            Actuator::Htb if !self.qdiscs.htb => Some("the kernel has no HTB or no TBF".to_owned()),
            Actuator::Hfsc | Actuator::Htb => {
                let foreign = self.qdiscs.foreign.as_ref()?;
                in_the_way(foreign, ap)
            }
            #[cfg(feature = "user-space")]
            Actuator::UserSpace if ap.leaf.is_some() || ap.overhead > 0 => {
                Some("the user-space scheduler has neither --leaf nor --overhead".to_owned())
            }
            #[cfg(feature = "user-space")]
            Actuator::UserSpace => self.user_space.clone().or_else(|| {
                let foreign = self.qdiscs.foreign.as_ref()?;
                passed_by(foreign, ap)
            }),
        }
    }

    /// The chosen actuator: the named one, or else the first that is available.
    ///
    /// # Errors
    /// Reason for which none is available.
    pub(crate) fn chosen(&self, ap: &Ap) -> Result<Actuator, String> {
        if let Some(named) = ap.actuator {
            return self.lack(named, ap).map_or(Ok(named), Err);
        }
        let mut all = Actuator::ALL.iter().copied();
        all.find(|one| self.lack(*one, ap).is_none()).ok_or_else(|| self.lacks(ap))
    }

    /// Reason for which no actuator is available.
    fn lacks(&self, ap: &Ap) -> String {
        // If the kernel has a qdisc, the obstacle to it is the most useful reason.
        let in_its_way = match self.qdiscs.disciplines().is_empty() {
            true => None,
            false => self.qdiscs.foreign.as_ref().and_then(|foreign| in_the_way(foreign, ap)),
        };
        let all = Actuator::ALL.iter().filter_map(|one| self.lack(*one, ap));
        in_its_way.unwrap_or_else(|| all.collect::<Vec<_>>().join("; "))
    }

    /// The replacement if `refused` fails; `None` if the user named the actuator.
    pub(crate) fn after(&self, refused: Actuator, ap: &Ap) -> Option<Actuator> {
        let is_other = |one: &Actuator| *one != refused && self.lack(*one, ap).is_none();
        if ap.actuator.is_some() { None } else { Actuator::ALL.iter().copied().find(is_other) }
    }

    /// Result for `--plan --json`.
    pub(crate) fn value(&self, ap: &Ap) -> Value {
        let foreign = self.qdiscs.foreign.as_ref();
        let chosen = self.chosen(ap);
        let lacks: serde_json::Map<String, Value> = Actuator::ALL
            .iter()
            .map(|one| (one.name().to_owned(), json!(self.lack(*one, ap))))
            .collect();
        json!({
            "interface": ap.interface,
            "foreign_qdisc": foreign.map(|foreign| &foreign.name),
            "obstacle": foreign.and_then(|foreign| foreign.obstacle.as_ref()),
            "airtime": self.airtime,
            "htb": self.qdiscs.htb,
            "hfsc": self.qdiscs.hfsc,
            "user_space": self.user_space.is_none(),
            "actuator": chosen.as_ref().ok().map(|one| one.name()),
            "why": chosen.map_or_else(|lack| lack, |one| self.why(one, ap)),
            "lacks": lacks,
        })
    }

    /// Text for `--plan`.
    pub(crate) fn words(&self, ap: &Ap) -> String {
        let mut text = match self.chosen(ap) {
            Ok(one) => format!("{}: {}.\n", self.what(one, ap), self.why(one, ap)),
            Err(lack) => format!("Nothing: {lack}.\n"),
        };
        for one in Actuator::ALL {
            let lack = self.lack(*one, ap);
            let lack = lack.map_or("available".to_owned(), |lack| format!("no, as {lack}"));
            let _ = writeln!(text, "  {:<10}  {lack}", one.name());
        }
        text
    }

    /// Description of the actuator's effect.
    fn what(&self, one: Actuator, ap: &Ap) -> String {
        let interface = &ap.interface;
        match (one, one.discipline()) {
            (Actuator::Airtime, _) => format!(
                "Airtime weights of the stations at interface `{interface}`, by nl80211: the \
                 driver shares time on the air, and no qdisc is touched"
            ),
            (_, Some(discipline)) => format!(
                "{discipline} at interface `{interface}`, a class for each station behind a \
                 classifier by link or IP address (u32), each with a TBF that cuts joined segments \
                 and {}, {}",
                ap.leaf.map_or("fq_codel or else a FIFO", |leaf| Leaf::from(leaf).name()),
                instead_of(self.qdiscs.foreign.as_ref())
            ),
            _ => format!(
                "Our own scheduler (WF2Q+) at interface `{interface}`: clsact leads every frame \
                 that leaves to a TAP device of this program, which gives it to the driver in its \
                 turn; no address, route, bridge or root qdisc is touched"
            ),
        }
    }

    /// Reason for the choice.
    fn why(&self, one: Actuator, ap: &Ap) -> String {
        if ap.actuator.is_some() {
            return "it was requested".to_owned();
        }
        let rest = match one {
            Actuator::Airtime => "a distant station takes airtime from others",
            Actuator::Hfsc => "its link-sharing curves are weights, where HTB has rates and rounds",
            Actuator::Htb => "it is in the kernel, where a packet costs less than in a program",
            #[cfg(feature = "user-space")]
            Actuator::UserSpace => "neither driver nor kernel can",
        };
        rest.to_owned()
    }
}

/// Reason for which the user-space scheduler cannot have an interface's frames.
#[cfg(feature = "user-space")]
fn lack_of_user_space(interface: &str) -> Result<Option<String>, Error> {
    if let Some(obstacle) = fairwave_linux::egress_obstacle(interface)? {
        return Ok(Some(obstacle));
    }
    let lack = fairwave_linux::may_lead_egress().err();
    Ok(lack.map(|lack| format!("the kernel lacks a TAP device, clsact, u32 or mirred ({lack})")))
}

#[cfg(not(feature = "user-space"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature there can be an error")]
fn lack_of_user_space(_: &str) -> Result<Option<String>, Error> {
    Ok(Some("this program was built without it".to_owned()))
}

/// Reason for which another program's qdisc prevents ours.
fn in_the_way(Foreign { name, obstacle }: &Foreign, ap: &Ap) -> Option<String> {
    let is_in_the_way = obstacle.is_some() || !ap.replace;
    is_in_the_way.then(|| foreign_qdisc(&ap.interface, name, obstacle.as_deref()))
}

/// Frames from this program to the driver bypass the root qdisc.
#[cfg(feature = "user-space")]
fn passed_by(Foreign { name, .. }: &Foreign, ap: &Ap) -> Option<String> {
    let interface = &ap.interface;
    let is_meant = ap.replace && ap.actuator.is_some();
    (!is_meant).then(|| {
        format!(
            "frames would bypass the qdisc {name} of another program at interface `{interface}`; \
             --actuator user-space with --replace would do so, and leave it where it is"
        )
    })
}

fn instead_of(foreign: Option<&Foreign>) -> String {
    match foreign {
        None => "as its qdisc is the kernel's default".to_owned(),
        Some(Foreign { name, .. }) => format!(
            "instead of {name} of another program, which will be put back: a copy made from the \
             kernel's description was the same"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(more: &[&str]) -> Ap {
        #[derive(Debug, clap::Parser)]
        struct Alone {
            #[command(flatten)]
            ap: Ap,
        }
        let words = ["ap", "--interface", "wlan0", "--plan"].iter().chain(more);
        <Alone as clap::Parser>::parse_from(words).ap
    }

    /// Facts about an interface without a foreign qdisc.
    fn facts(airtime: bool, hfsc: bool, htb: bool) -> Facts {
        Facts { airtime, qdiscs: Shapeable { foreign: None, htb, hfsc }, user_space: None }
    }

    fn chosen(facts: &Facts, more: &[&str]) -> Option<&'static str> {
        facts.chosen(&options(more)).ok().map(Actuator::name)
    }

    #[test]
    fn the_best_is_taken_that_can_be_had() {
        assert_eq!(chosen(&facts(true, true, true), &[]), Some("airtime"));
        assert_eq!(chosen(&facts(false, true, true), &[]), Some("hfsc"));
        assert_eq!(chosen(&facts(false, false, true), &[]), Some("htb"));
        let by_kind = ["--policy-for", "voice=equal"];
        assert_eq!(chosen(&facts(true, true, true), &by_kind), Some("hfsc"));
        let bare =
            Facts { user_space: Some("it is not there".to_owned()), ..facts(false, false, false) };
        assert_eq!(chosen(&bare, &[]), None);
        let text = bare.words(&options(&[]));
        for lack in ["schedule airtime", "no HFSC", "no HTB", "it is not there"] {
            assert!(text.contains(lack), "{lack}: {text}");
        }
        assert_eq!(
            facts(true, true, true).after(Actuator::Airtime, &options(&[])),
            Some(Actuator::Hfsc)
        );
    }

    #[test]
    fn one_that_is_named_is_taken_or_missed() {
        let all = facts(true, true, true);
        for name in ["airtime", "hfsc", "htb"] {
            assert_eq!(chosen(&all, &["--actuator", name]), Some(name));
            assert_eq!(chosen(&facts(false, false, false), &["--actuator", name]), None);
        }
        let named = options(&["--actuator", "airtime"]);
        assert!(all.words(&named).contains("no qdisc is touched: it was requested"));
        assert_eq!(all.after(Actuator::Airtime, &named), None);
        let lack = facts(false, true, true).chosen(&named).expect_err("no airtime");
        assert_eq!(lack, "the driver does not schedule airtime by weights");
    }

    #[cfg(feature = "user-space")]
    #[test]
    fn our_own_scheduler_is_the_last_resort_and_passes_by_nobody_unasked() {
        let bare = facts(false, false, false);
        assert_eq!(chosen(&bare, &[]), Some("user-space"));
        assert!(bare.words(&options(&[])).contains("neither driver nor kernel can"));
        let foreign = Foreign { name: "tbf 7:".to_owned(), obstacle: None };
        let qdiscs = Shapeable { foreign: Some(foreign), ..bare.qdiscs.clone() };
        let kept = Facts { qdiscs, ..bare };
        for more in [&[][..], &["--replace"], &["--actuator", "user-space"]] {
            assert_eq!(chosen(&kept, more), None, "{more:?}");
        }
        assert!(kept.words(&options(&[])).contains("bypass the qdisc tbf 7:"));
        let meant = ["--replace", "--actuator", "user-space"];
        assert_eq!(chosen(&kept, &meant), Some("user-space"));
    }

    #[test]
    fn a_qdisc_of_somebody_else_is_named_and_left_alone() {
        let foreign = Foreign { name: "tbf 7:".to_owned(), obstacle: None };
        let qdiscs = Shapeable { foreign: Some(foreign.clone()), htb: true, hfsc: false };
        let found = Facts { qdiscs, ..facts(false, false, true) };
        let text = found.words(&options(&[]));
        assert!(text.contains("Nothing") && text.contains("tbf 7:"), "{text}");
        assert!(text.contains("--replace would take it away"), "{text}");
        assert_eq!(chosen(&found, &[]), None);
        assert_eq!(chosen(&found, &["--replace"]), Some("htb"));
        let text = found.words(&options(&["--replace"]));
        assert!(text.contains("HTB at interface `wlan0`") && text.contains("put back"), "{text}");
        let obstacle = Some("its classes would be lost".to_owned());
        let foreign = Some(Foreign { obstacle, ..foreign });
        let stays = Facts { qdiscs: Shapeable { foreign, ..found.qdiscs.clone() }, ..found };
        let text = stays.words(&options(&["--replace"]));
        assert!(text.contains("its classes would be lost; `tc qdisc"), "{text}");
        assert_eq!(chosen(&stays, &["--replace"]), None);
        // Airtime weights need no qdisc.
        assert_eq!(chosen(&Facts { airtime: true, ..stays }, &[]), Some("airtime"));
    }

    #[test]
    fn a_plan_says_the_same_as_a_value() {
        let value = facts(false, false, true).value(&options(&[]));
        assert_eq!((&value["actuator"], &value["hfsc"]), (&json!("htb"), &json!(false)));
        assert_eq!(value["lacks"]["hfsc"], json!("the kernel has no HFSC or no TBF"));
        assert_eq!(value["lacks"]["htb"], Value::Null);
        assert!(value["why"].as_str().is_some_and(|why| why.contains("in the kernel")));
    }
}
