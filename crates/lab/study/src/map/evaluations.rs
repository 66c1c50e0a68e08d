//! Verdicts of a study's claims over runs that were judged before.
//!
//! Several claims are about the same runs, and each is judged once more without every single seed.
//! A study judges all of its claims at once, and reads series of each run to do so.

use super::order::OrderFile;
use crate::claim::Claim;
use crate::definition::{Error, Study};
use crate::results::Results;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// An experiment and its settings, and a step in the order of its points.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    pub(super) experiment: &'static str,
    pub(super) sets: Vec<String>,
    pub(super) order: Option<OrderFile>,
    pub(super) step: usize,
}

/// Identity of the runs of a claim or anchor in one set-up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EvaluationKey {
    /// Experiments that were run.
    pub(super) parts: Vec<Part>,
    /// Axes by their indices, with the labels of their values: runs are read by them.
    pub(super) labels: Vec<(usize, String)>,
    /// Number of seeds.
    pub(super) seeds: u64,
}

/// The runs of a claim or anchor in one set-up.
#[derive(Debug)]
pub(super) struct Given {
    /// Identity of the runs.
    pub(super) asked: EvaluationKey,
    /// Results of the runs.
    pub(super) results: Results,
}

/// Verdicts by the identity of the runs, and the seed that is left out, if one is.
type Claims = BTreeMap<(EvaluationKey, Option<u64>), Vec<Claim>>;

/// Claims by the runs that they were judged by.
#[derive(Debug, Default)]
pub(super) struct Evaluations(Mutex<Claims>);

impl Evaluations {
    /// The claims over these runs, without a seed if one is given.
    pub(super) fn claims(
        &self,
        study: &dyn Study,
        Given { asked, results }: &Given,
        without: Option<u64>,
    ) -> Result<Vec<Claim>, Error> {
        let key = (asked.clone(), without);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(claims) = known {
            return Ok(claims);
        }
        let claims = match without {
            None => study.claims(results)?,
            Some(seed) => {
                let mut fewer = results.clone();
                fewer.runs.values_mut().for_each(|runs| runs.retain(|run| run.seed != seed));
                study.claims(&fewer)?
            }
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, claims.clone());
        Ok(claims)
    }

    /// The claims without each of these seeds, all judged at once.
    pub(super) fn without_each(
        &self,
        study: &dyn Study,
        given: &Given,
        seeds: &[u64],
    ) -> Result<Vec<Vec<Claim>>, Error> {
        let without = |seed: u64| self.claims(study, given, Some(seed));
        thread::scope(|scope| {
            let judging: Vec<_> =
                seeds.iter().map(|&seed| scope.spawn(move || without(seed))).collect();
            let joined = judging.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.collect()
        })
    }
}
