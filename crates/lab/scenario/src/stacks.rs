//! TCP stacks by their names, and the target of congestion controls.

use crate::keys::Kind;
use crate::kinds::named;
use fairwave_tcp::Profile;

/// The name of a stack.
pub(crate) fn stack() -> Kind<String> {
    let names: Vec<&str> = Profile::ALL.iter().map(|stack| stack.name).collect();
    named(names, |name| format!("there is no stack called {name:?}"))
}

/// The stack called `name`, or the usual one.
pub(crate) fn profile(name: &str) -> &'static Profile {
    Profile::find(name).unwrap_or(&Profile::ALL[0])
}

/// Whether an algorithm, with or without a remedy, has a target.
pub(crate) fn aims(algorithm: &str) -> bool {
    algorithm.rsplit('+').next() == Some("tcp-av")
}

/// Reason for which an algorithm without a target has no table `av`.
pub(crate) fn aimless(algorithm: &str) -> String {
    format!("the algorithm is {algorithm:?}, and \"tcp-av\" alone has a target")
}
