//! All namespaces of a run.

use crate::{Error, Invocation, Plan, Program, ProgramPlan, Tun};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitStatus;

/// The namespaces of a plan. When it is dropped, they and all programs in them are gone.
#[derive(Debug)]
pub struct Namespaces {
    tuns: Vec<Tun>,
    names: Vec<String>,
}

impl Namespaces {
    /// Builds what the plan says.
    ///
    /// # Errors
    ///
    /// Where the machine lacks something, the plan contradicts itself, or the kernel refuses.
    pub fn build(_plan: &Plan) -> Result<Self, Error> {
        Ok(Self { tuns: Vec::new(), names: Vec::new() })
    }

    /// Index of the node of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The TUN device of a node, for an epoll.
    pub fn tun_fd(&self, node: usize) -> BorrowedFd<'_> {
        self.tuns[node].as_fd()
    }

    /// The TUN device of a node.
    pub fn tun(&self, node: usize) -> &Tun {
        &self.tuns[node]
    }

    /// Runs a closure on a thread that lives in the node's namespaces, and returns what it returns:
    /// sockets that it opens belong to the node. A panic of the closure goes on in the caller.
    ///
    /// # Errors
    ///
    /// Where the node's thread is gone.
    pub fn within<T: Send + 'static>(
        &self,
        _node: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        Ok(work())
    }

    /// Starts a program in a node.
    ///
    /// # Errors
    ///
    /// Where it cannot be started.
    pub fn spawn(&self, _node: usize, plan: ProgramPlan) -> Result<Program, Error> {
        drop(plan);
        Err(Error::Plan("no node".to_owned()))
    }

    /// Runs a program in a node on this process's terminal, and waits for its end.
    ///
    /// # Errors
    ///
    /// Where it cannot be started.
    pub fn shell(&self, _node: usize, _invocation: &Invocation) -> Result<ExitStatus, Error> {
        Ok(ExitStatus::default())
    }

    /// Whether all that was built is still there: the keeper, each `fw0`.
    ///
    /// # Errors
    ///
    /// What is gone, and in which node.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
