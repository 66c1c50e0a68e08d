//! A function with a name: how a caller brings an algorithm of its own.

use core::fmt;
use std::sync::Arc;

/// A function that makes the state of an algorithm, and the algorithm's name. Copies share the
/// function.
pub struct Named<F: ?Sized> {
    name: Arc<str>,
    make: Arc<F>,
}

impl<F: ?Sized> Named<F> {
    /// The function `make` with its name.
    pub fn new(name: &str, make: Arc<F>) -> Self {
        Self { name: name.into(), make }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The function.
    pub fn make(&self) -> &F {
        &self.make
    }
}

impl<F: ?Sized> Clone for Named<F> {
    fn clone(&self) -> Self {
        Self { name: Arc::clone(&self.name), make: Arc::clone(&self.make) }
    }
}

/// Functions are equal if they are the same one: two that do the same are not.
impl<F: ?Sized> PartialEq for Named<F> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.make, &other.make)
    }
}

impl<F: ?Sized> Eq for Named<F> {}

impl<F: ?Sized> fmt::Debug for Named<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_equal_and_another_function_of_the_same_name_is_not() {
        let make: Arc<dyn Fn(u32) -> u32> = Arc::new(|n| n + 1);
        let named = Named::new("next", make);
        assert_eq!(named, named.clone());
        let other: Arc<dyn Fn(u32) -> u32> = Arc::new(|n| n + 2);
        assert_ne!(named, Named::new("next", other));
        assert_eq!(named.make()(7), 8);
    }
}
