//! Algorithms from outside: names that scenario files may use beside those of the lists.

use crate::keys::Kind;
use crate::kinds::named;
use crate::reader;
use crate::value::{Data, Value};
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use fairwave_cc::{Chosen, Controller, Initial};
use fairwave_dot11::rate_control::{self, RateControl, Setup};
use fairwave_machine::Named;
use fairwave_queue::{MakeScheduler, Scheduler};
use std::sync::Arc;

/// Algorithms that the caller brings, for the scenarios that it reads. Without any, a scenario can
/// name those of Fairwave's lists alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnAlgorithms {
    congestion_controls: Vec<Chosen>,
    schedulers: Vec<Named<MakeScheduler>>,
    rate_controls: Vec<rate_control::Chosen>,
    failure: Failure,
    surroundings: Surroundings,
}

/// Function around the parts of a run, if there is one.
#[derive(Clone, Default)]
struct Surroundings(Option<Arc<Around>>);

type Around = dyn Fn(&mut dyn FnMut()) + Send + Sync;

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").finish_non_exhaustive()
    }
}

impl PartialEq for Surroundings {
    /// They act on no result.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Shared by the algorithms of a plan: one that cannot go on sets it, and the plan's runs end.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<AtomicBool>);

impl Failure {
    /// Ends the runs of the plan.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Allows further runs.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether an algorithm has failed.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        self.is_set() == other.is_set()
    }
}

/// Error of a name for an algorithm from outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Fairwave has an algorithm of this name.
    #[error("{0:?} is one of Fairwave's own algorithms: choose another name")]
    Listed(String),
    /// The name cannot stand in paths of results.
    #[error("{0:?} is no name: a name is a letter, then up to 39 of a-z A-Z 0-9 - _")]
    Invalid(String),
}

impl OwnAlgorithms {
    /// Adds a congestion control algorithm for `congestion_control = NAME`. An earlier one of this
    /// name is replaced.
    ///
    /// # Errors
    /// A name that is invalid, or that of an algorithm in [`fairwave_cc::ALL`].
    pub fn add_congestion_control(
        &mut self,
        name: &str,
        make: impl Fn(Initial) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Result<(), NameError> {
        check(name, &fairwave_cc::names())?;
        self.congestion_controls.retain(|known| known.name() != name);
        self.congestion_controls.push(Chosen::own(name, make));
        Ok(())
    }

    /// Adds a scheduler for `queue = { discipline = NAME }`. An earlier one of this name is
    /// replaced.
    ///
    /// # Errors
    /// A name that is invalid, or that of a discipline in [`fairwave_queue::ALL`].
    pub fn add_scheduler(
        &mut self,
        name: &str,
        make: impl Fn() -> Box<dyn Scheduler> + Send + Sync + 'static,
    ) -> Result<(), NameError> {
        check(name, &fairwave_queue::ALL.iter().map(|kind| kind.name).collect::<Vec<_>>())?;
        self.schedulers.retain(|known| known.name() != name);
        self.schedulers.push(Named::new(name, Arc::new(make)));
        Ok(())
    }

    /// Adds a rate control for `rate_control = NAME`. An earlier one of this name is replaced.
    ///
    /// # Errors
    /// A name that is invalid, or that of an algorithm in [`rate_control::ALL`].
    pub fn add_rate_control(
        &mut self,
        name: &str,
        make: impl Fn(Setup) -> Box<dyn RateControl> + Send + Sync + 'static,
    ) -> Result<(), NameError> {
        check(name, &rate_control::ALL.iter().map(|known| known.name).collect::<Vec<_>>())?;
        self.rate_controls.retain(|known| known.name() != name);
        self.rate_controls.push(rate_control::Chosen::own(name, make));
        Ok(())
    }

    /// Sets a function around each part of a run with an algorithm from outside: it has to call the
    /// part once, on its own thread. A part is some thousand events, or milliseconds.
    pub fn surround(&mut self, around: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) {
        self.surroundings = Surroundings(Some(Arc::new(around)));
    }

    /// Calls a part of a run within the function that [`Self::surround`] set.
    pub fn around(&self, part: &mut dyn FnMut()) {
        match &self.surroundings.0 {
            Some(around) => around(part),
            None => part(),
        }
    }

    /// The flag of algorithms that fail.
    pub const fn failure(&self) -> &Failure {
        &self.failure
    }

    /// The name of a congestion control, of the list, perhaps with a remedy around it, or from
    /// outside.
    pub(crate) fn congestion_control(&self) -> Kind<Chosen> {
        let own = self.congestion_controls.clone();
        let mut names = fairwave_cc::names();
        names.extend(own.iter().map(|known| known.name().to_owned()));
        let find = move |name: String| match own.iter().find(|known| known.name() == name) {
            Some(known) => known.clone(),
            None => name.into(),
        };
        named(names, |name| format!("there is no congestion control called {name:?}"))
            .map(find, |chosen| chosen.name().to_owned())
    }

    /// The names of schedulers from outside.
    pub(crate) fn schedulers(&self) -> impl Iterator<Item = &str> {
        self.schedulers.iter().map(Named::name)
    }

    /// The scheduler of this name, if it is one from outside.
    pub(crate) fn scheduler(&self, name: &str) -> Option<&Named<MakeScheduler>> {
        self.schedulers.iter().find(|known| known.name() == name)
    }

    /// The name of a rate control, of the list or from outside.
    pub(crate) fn rate_control(&self) -> Kind<rate_control::Chosen> {
        let own = self.rate_controls.clone();
        let listed = rate_control::ALL.iter().map(|known| known.name);
        let names: Vec<String> =
            listed.chain(own.iter().map(rate_control::Chosen::name)).map(str::to_owned).collect();
        let find = move |name: String| match rate_control::find(&name) {
            Some(listed) => (*listed).into(),
            None => own.iter().find(|known| known.name() == name).expect("one of them").clone(),
        };
        named(names, |name| format!("there is no rate control called {name:?}"))
            .map(find, |chosen| chosen.name().to_owned())
    }
}

/// Checks a name for an algorithm; those in `listed` are taken.
fn check(name: &str, listed: &[impl AsRef<str>]) -> Result<(), NameError> {
    let value = Value { span: 0..0, data: Data::Text(name.to_owned()) };
    if reader::name_up_to(40)(&value).is_err() {
        return Err(NameError::Invalid(name.to_owned()));
    }
    if listed.iter().any(|known| known.as_ref() == name) {
        return Err(NameError::Listed(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Override, Plan};
    use fairwave_cc::Reno;

    const SCENARIO: &str = "duration = \"1 s\"\n\
        node = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }]\n\
        link = [{ ends = [\"a\", \"b\"] }]\n\
        flow = [{ name = \"up\", from = \"a\", to = \"b\" }]\n";

    fn own() -> OwnAlgorithms {
        let mut own = OwnAlgorithms::default();
        own.add_congestion_control("mine", |initial| Box::new(Reno::new(initial))).unwrap();
        own
    }

    fn scenario(set: &str) -> Result<crate::Scenario, String> {
        let plan = Plan::parse_with("s", SCENARIO, &[Override::set(set)], &own());
        plan.map(|plan| plan.points[0].scenario.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_congestion_control_is_known_by_its_name_wherever_one_can_be() {
        for set in ["tcp.congestion_control=mine", "flow.up.congestion_control=mine"] {
            let scenario = scenario(set).unwrap();
            assert!(scenario.has_own_algorithms());
            let text = scenario.to_toml();
            assert!(text.contains("congestion_control = \"mine\""), "{text}");
            assert!(crate::Scenario::parse("again", &text).is_err());
            let again = crate::Scenario::parse_with("again", &text, &own()).unwrap();
            assert_eq!(again.to_toml(), text);
        }
        assert!(!scenario("tcp.congestion_control=reno").unwrap().has_own_algorithms());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = scenario("tcp.congestion_control=mein").unwrap_err();
        assert!(error.contains("no congestion control called \"mein\""), "{error}");
        assert!(error.contains("accepted here: reno, ") && error.contains(", mine"), "{error}");
    }

    #[test]
    fn a_name_of_the_list_is_taken_and_a_later_algorithm_replaces_its_namesake() {
        let add = |own: &mut OwnAlgorithms, name: &str| {
            own.add_congestion_control(name, |initial| Box::new(Reno::new(initial)))
        };
        let mut own = own();
        let before = own.clone();
        assert_eq!(add(&mut own, "ack-loss+reno"), Err(NameError::Invalid("ack-loss+reno".into())));
        assert_eq!(add(&mut own, "cubic"), Err(NameError::Listed("cubic".into())));
        assert_eq!(own, before);
        add(&mut own, "mine").unwrap();
        assert_ne!(own, before);
        assert_eq!(own.congestion_controls.len(), 1);
    }
}
