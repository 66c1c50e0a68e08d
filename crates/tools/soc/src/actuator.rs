//! Actuators of the weights.

use crate::Error;
use crate::airtime::{Airtime, Watched, Weights};
use crate::effect::Reading;
#[cfg(feature = "user-space")]
use crate::plane::{Plane, PlanePlan};
use crate::status::Frames;
use fairwave_linux::KeeperCommand;
use fairwave_linux::{Shaper, ShaperPlan};
use fairwave_soc::{Action, Reach, Weight};
use fairwave_wire::ethernet::Mac;
use std::collections::BTreeMap;
use std::io;

/// Choice and options of an actuator.
#[derive(Clone, Debug)]
pub enum ActuatorPlan {
    /// Classes of a qdisc.
    Classes(ShaperPlan),
    /// The driver's airtime scheduler.
    Airtime {
        /// Command that starts its keeper.
        keeper: KeeperCommand,
        /// Actuator to use instead if the driver refuses the first weight although it reported that
        /// it schedules airtime.
        otherwise: Option<Box<ActuatorPlan>>,
    },
    /// Our own scheduler.
    #[cfg(feature = "user-space")]
    UserSpace(PlanePlan),
    /// Nothing: decisions are logged.
    Nothing,
}

/// A running actuator. Its settings are removed when it is dropped.
pub(crate) struct Actuator<A: Airtime = Watched> {
    at_work: AtWork<A>,
    interface: String,
    otherwise: Option<Otherwise>,
}

/// Actuator to use if the driver refuses the first weight.
struct Otherwise {
    plan: Box<ActuatorPlan>,
    /// Weights requested so far, which the replacement has to apply; until then all stations have
    /// the default weight.
    given: BTreeMap<Mac, (Reach, Vec<Weight>)>,
}

enum AtWork<A: Airtime> {
    Classes(Box<Shaper>),
    Airtime(Weights<A>),
    #[cfg(feature = "user-space")]
    UserSpace(Plane),
    Nothing,
}

impl Actuator {
    pub(crate) fn start(plan: &ActuatorPlan, interface: &str) -> Result<Self, Error> {
        match plan {
            ActuatorPlan::Airtime { keeper, otherwise } => {
                let weights = Weights::new(Watched::open(interface, keeper)?);
                Ok(Self::airtime(weights, otherwise.clone(), interface))
            }
            plan => Self::apart_from_airtime(plan, interface),
        }
    }
}

impl<A: Airtime> Actuator<A> {
    fn airtime(weights: Weights<A>, otherwise: Option<Box<ActuatorPlan>>, interface: &str) -> Self {
        let otherwise = otherwise.map(|plan| Otherwise { plan, given: BTreeMap::new() });
        Self { at_work: AtWork::Airtime(weights), interface: interface.to_owned(), otherwise }
    }

    fn apart_from_airtime(plan: &ActuatorPlan, interface: &str) -> Result<Self, Error> {
        let at_work = match plan {
            ActuatorPlan::Classes(plan) => AtWork::Classes(Box::new(Shaper::start(plan)?)),
            #[cfg(feature = "user-space")]
            ActuatorPlan::UserSpace(plan) => AtWork::UserSpace(Plane::start(plan)?),
            // A plan `otherwise` never names airtime again.
            ActuatorPlan::Airtime { .. } | ActuatorPlan::Nothing => AtWork::Nothing,
        };
        Ok(Self { at_work, interface: interface.to_owned(), otherwise: None })
    }

    pub(crate) const fn name(&self) -> &'static str {
        match &self.at_work {
            AtWork::Classes(shaper) => shaper.discipline().name(),
            AtWork::Airtime(_) => "airtime",
            #[cfg(feature = "user-space")]
            AtWork::UserSpace(_) => "user-space",
            AtWork::Nothing => "none",
        }
    }

    /// The class of a station, as tc(8) writes it.
    pub(crate) fn class_of(&self, station: Mac) -> Option<String> {
        match &self.at_work {
            AtWork::Classes(shaper) => shaper.class_of(station.0),
            _ => None,
        }
    }

    /// Counters of frames, if they pass through this program.
    pub(crate) fn frames(&self) -> Option<Frames> {
        match &self.at_work {
            #[cfg(feature = "user-space")]
            AtWork::UserSpace(plane) => Some(plane.counts()),
            _ => None,
        }
    }

    /// Whether some change is requested again by [`Actuator::settle`].
    pub(crate) fn is_pending(&self) -> bool {
        match &self.at_work {
            AtWork::Classes(shaper) => !shaper.is_settled(),
            AtWork::Airtime(weights) => !weights.is_settled(),
            _ => false,
        }
    }

    /// Asks again for changes that the kernel has not confirmed. To be called once a second.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        match &mut self.at_work {
            AtWork::Classes(shaper) => shaper.settle(),
            AtWork::Airtime(weights) => weights.settle(),
            _ => Ok(()),
        }
    }

    /// Whether the driver's weights of airtime share it.
    pub(crate) const fn is_airtime(&self) -> bool {
        matches!(&self.at_work, AtWork::Airtime(_))
    }

    /// Counters of bytes; `None` with an actuator that has none.
    pub(crate) fn reading(&mut self) -> io::Result<Option<Reading>> {
        match &mut self.at_work {
            AtWork::Classes(shaper) => {
                Ok(Some(Reading { classes: shaper.counts()?, sent: shaper.sent()? }))
            }
            _ => Ok(None),
        }
    }

    /// Checks that the actuator still works.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match &mut self.at_work {
            #[cfg(feature = "user-space")]
            AtWork::UserSpace(plane) => plane.check(),
            _ => Ok(()),
        }
    }

    /// Carries out an action of the state machine.
    pub(crate) fn set(&mut self, action: &Action) -> io::Result<()> {
        match action {
            Action::Serve { station, reach, weights } => self.serve(*station, *reach, weights),
            Action::Stop { station } => match &mut self.at_work {
                AtWork::Classes(shaper) => shaper.stop(station.0),
                AtWork::Airtime(weights) => {
                    self.otherwise.iter_mut().for_each(|other| drop(other.given.remove(station)));
                    weights.stop(*station)
                }
                #[cfg(feature = "user-space")]
                AtWork::UserSpace(plane) => {
                    plane.stop(*station);
                    Ok(())
                }
                AtWork::Nothing => Ok(()),
            },
            Action::Answer { .. } | Action::Reply { .. } => Ok(()),
        }
    }

    fn serve(&mut self, station: Mac, reach: Reach, weights: &[Weight]) -> io::Result<()> {
        let address = match reach {
            Reach::Link => None,
            Reach::Address(address) => Some(address),
        };
        match &mut self.at_work {
            AtWork::Classes(shaper) => {
                let weights: Vec<f64> = weights.iter().map(|weight| weight.fraction()).collect();
                shaper.serve(station.0, address, &weights)
            }
            AtWork::Airtime(_) => self.give_airtime(station, reach, weights),
            #[cfg(feature = "user-space")]
            AtWork::UserSpace(plane) => {
                plane.serve(station, address, weights);
                Ok(())
            }
            AtWork::Nothing => Ok(()),
        }
    }

    fn give_airtime(&mut self, station: Mac, reach: Reach, weights: &[Weight]) -> io::Result<()> {
        let AtWork::Airtime(given) = &mut self.at_work else { return Ok(()) };
        if let Some(other) = &mut self.otherwise {
            other.given.insert(station, (reach, weights.to_vec()));
        }
        // This radio's airtime does not serve a station behind a router.
        if reach != Reach::Link {
            return Ok(());
        }
        let share = weights.first().map_or(1.0, |weight| weight.fraction());
        let set = given.serve(station, share);
        if !given.is_empty() {
            // The driver has accepted a weight, so that no replacement is needed.
            self.otherwise = None;
        }
        let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::Unsupported;
        match self.otherwise.take_if(|_| set.as_ref().is_err_and(is_refused)) {
            Some(other) => self.change(&other),
            None => set,
        }
    }

    /// Replaces airtime by another actuator after the driver has refused the first weight.
    fn change(&mut self, other: &Otherwise) -> io::Result<()> {
        let started = Self::apart_from_airtime(&other.plan, &self.interface);
        *self = started.map_err(io::Error::other)?;
        let mut given = other.given.iter();
        given.try_for_each(|(station, (reach, weights))| self.serve(*station, *reach, weights))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver with stations of the usual weight, which may refuse others.
    struct Driver {
        refuses: bool,
    }

    impl Airtime for Driver {
        fn weight(&mut self, _: Mac) -> io::Result<Option<u16>> {
            Ok(Some(256))
        }

        fn set(&mut self, _: Mac, _: u16) -> io::Result<()> {
            if self.refuses { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
        }

        fn note(&mut self, _: Mac, _: Option<u16>) -> io::Result<()> {
            Ok(())
        }
    }

    fn serve(actuator: &mut Actuator<Driver>, station: u32, weight: f64) -> io::Result<()> {
        let weights = vec![Weight::from_fraction(weight)];
        actuator.set(&Action::Serve { station: Mac::local(station), reach: Reach::Link, weights })
    }

    fn actuator(refuses: bool, otherwise: Option<ActuatorPlan>) -> Actuator<Driver> {
        let weights = Weights::new(Driver { refuses });
        Actuator::airtime(weights, otherwise.map(Box::new), "wlan0")
    }

    #[test]
    fn a_driver_that_refuses_the_first_weight_is_replaced() {
        let mut actuator = actuator(true, Some(ActuatorPlan::Nothing));
        // A full share is the default weight, for which the driver gets no request.
        serve(&mut actuator, 1, 1.0).expect("nothing to refuse");
        assert_eq!(actuator.name(), "airtime");
        let given = actuator.otherwise.as_ref().map(|other| other.given.len());
        assert_eq!(given, Some(1), "the other one has to know of it");
        serve(&mut actuator, 2, 0.5).expect("the other one takes it");
        assert_eq!(actuator.name(), "none");
    }

    #[test]
    fn one_that_has_taken_a_weight_stays_and_so_does_one_that_was_asked_for() {
        let mut accepting = actuator(false, Some(ActuatorPlan::Nothing));
        serve(&mut accepting, 1, 0.5).expect("it is taken");
        assert!(accepting.otherwise.is_none());
        let mut named = actuator(true, None);
        let refused = serve(&mut named, 1, 0.5).expect_err("it is refused");
        assert_eq!((refused.kind(), named.name()), (io::ErrorKind::Unsupported, "airtime"));
    }
}
