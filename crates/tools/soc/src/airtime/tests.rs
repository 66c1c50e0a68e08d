//! Weights of a kernel that has its own mind, and of one whose agent is killed.

use super::*;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

const A: Mac = Mac::local(1);
const B: Mac = Mac::local(2);

/// Stations with their weights, and what the keeper was told.
#[derive(Debug, Default)]
struct World {
    stations: BTreeMap<Mac, u16>,
    noted: BTreeMap<Mac, u16>,
    /// What the driver says to the next change.
    refusal: Option<io::ErrorKind>,
    /// Calls after which this process is killed.
    lives: Option<u32>,
    sets: u32,
}

/// The kernel and the keeper as this process sees them.
struct Fake(Rc<RefCell<World>>);

impl Fake {
    /// Does something, unless this process was killed before.
    fn call<T>(&self, what: impl FnOnce(&mut World) -> io::Result<T>) -> io::Result<T> {
        let mut world = self.0.borrow_mut();
        match world.lives {
            Some(0) => return Err(io::ErrorKind::Other.into()),
            Some(lives) => world.lives = Some(lives - 1),
            None => {}
        }
        what(&mut world)
    }
}

impl Airtime for Fake {
    fn weight(&mut self, station: Mac) -> io::Result<Option<u16>> {
        self.call(|world| Ok(world.stations.get(&station).copied()))
    }

    fn set(&mut self, station: Mac, weight: u16) -> io::Result<()> {
        self.call(|world| {
            if let Some(refusal) = world.refusal.take() {
                if refusal == io::ErrorKind::NotFound {
                    // It has left between two calls.
                    world.stations.remove(&station);
                }
                return Err(refusal.into());
            }
            assert_ne!(weight, 0, "the kernel knows no such weight");
            world.sets += 1;
            let found = world.stations.get_mut(&station).ok_or(io::ErrorKind::NotFound)?;
            *found = weight;
            Ok(())
        })
    }

    fn note(&mut self, station: Mac, before: Option<u16>) -> io::Result<()> {
        self.call(|world| {
            match before {
                Some(before) => world.noted.insert(station, before),
                None => world.noted.remove(&station),
            };
            Ok(())
        })
    }
}

impl Drop for Fake {
    /// The keeper outlives whoever started it.
    fn drop(&mut self) {
        let world = &mut *self.0.borrow_mut();
        for (station, before) in std::mem::take(&mut world.noted) {
            world.stations.entry(station).and_modify(|weight| *weight = before);
        }
    }
}

fn world(stations: &[(Mac, u16)]) -> (Rc<RefCell<World>>, Weights<Fake>) {
    let world = World { stations: stations.iter().copied().collect(), ..World::default() };
    let world = Rc::new(RefCell::new(world));
    (Rc::clone(&world), Weights::new(Fake(world)))
}

fn weights(world: &Rc<RefCell<World>>) -> Vec<u16> {
    world.borrow().stations.values().copied().collect()
}

/// A full share is the weight of those of whom nobody told, 256; 0.2 of that is 51.2.
#[test]
fn shares_are_parts_of_the_usual_weight() {
    let shares = [1.0, 0.5, 0.2, 0.001, 0.0, -1.0, 2.0, f64::NAN];
    assert_eq!(shares.map(weight_of), [256, 128, 51, 1, 1, 1, 256, 1]);
}

/// The kernel's policy for `NL80211_ATTR_AIRTIME_WEIGHT` refuses 0.
#[test]
fn a_weight_below_the_kernels_minimum_is_set_to_it_once_and_given_back() {
    let (world, mut given) = world(&[(A, 256), (B, 256)]);
    for share in [0.0, 1e-9, 0.001, 1.0 / 256.0, 1.4 / 256.0] {
        given.serve(A, share).unwrap();
        assert_eq!((weights(&world), world.borrow().sets), (vec![1, 256], 1), "{share}");
    }
    assert!(given.is_settled());
    given.serve(A, 1.6 / 256.0).unwrap();
    assert_eq!(weights(&world), [2, 256]);
    given.stop(A).unwrap();
    assert_eq!(weights(&world), [256, 256]);
}

#[test]
fn a_share_that_was_refused_or_came_too_early_is_set_later() {
    let (world, mut given) = world(&[(A, 256)]);
    world.borrow_mut().refusal = Some(io::ErrorKind::OutOfMemory);
    given.serve(A, 0.5).unwrap_err();
    given.serve(B, 0.25).unwrap();
    assert!(!given.is_settled());
    world.borrow_mut().stations.insert(B, 256);
    given.settle().unwrap();
    assert_eq!((weights(&world), given.is_settled()), (vec![128, 64], true));
    // A station that is not served any more is not waited for.
    world.borrow_mut().stations.remove(&B);
    given.serve(B, 0.5).unwrap();
    given.stop(B).unwrap();
    assert!(given.is_settled());
}

#[test]
fn a_weight_is_set_once_and_given_back() {
    let (world, mut given) = world(&[(A, 256), (B, 300)]);
    for _ in 0..3 {
        given.serve(A, 0.5).unwrap();
        given.serve(B, 0.25).unwrap();
    }
    assert_eq!((weights(&world), world.borrow().sets), (vec![128, 64], 2));
    given.serve(A, 1.0).unwrap();
    given.stop(B).unwrap();
    assert_eq!(weights(&world), [256, 300]);
    drop(given);
    assert_eq!(weights(&world), [256, 300]);
}

#[test]
fn a_driver_that_refuses_is_told_and_nothing_is_kept() {
    let (world, mut given) = world(&[(A, 256)]);
    world.borrow_mut().refusal = Some(io::ErrorKind::Unsupported);
    let refused = given.serve(A, 0.5).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
    assert!(given.is_empty() && world.borrow().noted.is_empty());
    assert_eq!(weights(&world), [256]);
}

#[test]
fn a_station_that_left_between_is_no_error() {
    let (world, mut given) = world(&[(A, 256)]);
    given.serve(B, 0.5).unwrap();
    world.borrow_mut().refusal = Some(io::ErrorKind::NotFound);
    given.serve(A, 0.5).unwrap();
    assert!(given.is_empty() && world.borrow().noted.is_empty());
    world.borrow_mut().stations.insert(A, 256);
    given.serve(A, 0.5).unwrap();
    world.borrow_mut().stations.remove(&A);
    given.stop(A).unwrap();
    assert!(given.is_empty() && world.borrow().noted.is_empty());
}

/// It has the weight of a new association, and is given its own again.
#[test]
fn a_station_that_came_back_unseen_is_weighed_anew() {
    let (world, mut given) = world(&[(A, 256)]);
    given.serve(A, 0.5).unwrap();
    world.borrow_mut().stations.insert(A, 256);
    given.serve(A, 0.5).unwrap();
    assert_eq!(weights(&world), [128]);
    drop(given);
    assert_eq!(weights(&world), [256]);
}

#[test]
fn what_somebody_else_sets_meanwhile_stays() {
    let (world, mut given) = world(&[(A, 256)]);
    given.serve(A, 0.5).unwrap();
    world.borrow_mut().stations.insert(A, 77);
    drop(given);
    assert_eq!(weights(&world), [77]);
}

#[test]
fn the_keeper_refuses_words_that_are_no_task() {
    for words in [
        &["wlan0", "02:00:00:00:00:01"][..],
        &["wlan0", "x", "256"],
        &["wlan0", "02:00:00:00:00:01", "-1"],
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(restore(&words).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}

/// What happens to an access point.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Serve(u8, f64),
    Stop(u8),
    Leaves(u8),
    Comes(u8),
    Refuses(io::ErrorKind),
}

fn happening() -> impl Strategy<Value = Happening> {
    let kinds = vec![io::ErrorKind::Unsupported, io::ErrorKind::NotFound, io::ErrorKind::Other];
    prop_oneof![
        4 => (0_u8..4, -0.5..1.5).prop_map(|(station, share)| Happening::Serve(station, share)),
        2 => (0_u8..4).prop_map(Happening::Stop),
        1 => (0_u8..4).prop_map(Happening::Leaves),
        2 => (0_u8..4).prop_map(Happening::Comes),
        1 => proptest::sample::select(kinds).prop_map(Happening::Refuses),
    ]
}

proptest! {
    /// Whatever happens, and whenever this process is killed (`lives` counts calls of the kernel
    /// and the keeper, so that it may be between a note and its change), every station weighs in
    /// the end what it did when it came.
    #[test]
    fn whatever_happens_every_weight_is_as_before(
        usual in proptest::collection::vec(1_u16..600, 4),
        happenings in proptest::collection::vec(happening(), 0..40),
        lives in proptest::option::of(0_u32..80),
    ) {
        let (world, mut given) = world(&[]);
        world.borrow_mut().lives = lives;
        let mac = |station: u8| Mac::local(u32::from(station));
        for happening in happenings {
            match happening {
                Happening::Serve(station, share) => drop(given.serve(mac(station), share)),
                Happening::Stop(station) => drop(given.stop(mac(station))),
                Happening::Leaves(station) => {
                    world.borrow_mut().stations.remove(&mac(station));
                }
                Happening::Comes(station) => {
                    let usual = usual[usize::from(station)];
                    world.borrow_mut().stations.entry(mac(station)).or_insert(usual);
                }
                Happening::Refuses(kind) => world.borrow_mut().refusal = Some(kind),
            }
            // The keeper holds no more than the stations that are weighed.
            prop_assert!(world.borrow().noted.len() <= 4);
        }
        world.borrow_mut().refusal = None;
        drop(given);
        for station in 0..4 {
            let found = world.borrow().stations.get(&mac(station)).copied();
            prop_assert!(found.is_none_or(|weight| weight == usual[usize::from(station)]));
        }
    }
}
