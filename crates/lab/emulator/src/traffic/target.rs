//! Target rates of connections with TCP-AV in the kernel.

use super::spec::{Connection, TCP_AV};
use rustix::fd::OwnedFd;
use std::io;

#[cfg(feature = "kernel-cc")]
use fairwave_bpf::{self as bpf, Aims, Store};
#[cfg(feature = "kernel-cc")]
use rustix::net::sockopt::socket_cookie;

/// The target of a socket. Dropping this removes it.
#[cfg(feature = "kernel-cc")]
#[derive(Debug)]
pub(super) struct Target {
    aims: Aims,
    cookie: u64,
}

/// A program without the loader of BPF programs sets no target.
#[cfg(not(feature = "kernel-cc"))]
#[derive(Debug)]
pub(super) enum Target {}

impl Target {
    /// Sets the target of a connection's socket, if it has the algorithm and a target.
    ///
    /// # Errors
    /// Without privileges, without the algorithm, or without its loader.
    pub(super) fn set(socket: &OwnedFd, connection: &Connection) -> io::Result<Option<Self>> {
        let has_target = connection.congestion_control == TCP_AV && connection.av.target.is_some();
        has_target.then(|| Self::new(socket, connection)).transpose()
    }

    #[cfg(feature = "kernel-cc")]
    fn new(socket: &OwnedFd, connection: &Connection) -> io::Result<Self> {
        let av = connection.av;
        let aims = Aims::open(&Store::at(None)).map_err(io::Error::other)?;
        let cookie = socket_cookie(socket)?;
        let target = av.target.map(|rate| bpf::Target {
            rate,
            cap: av.cap_to_target,
            floor: av.floor_at_reno,
        });
        aims.set(cookie, target).map_err(io::Error::other)?;
        Ok(Self { aims, cookie })
    }

    #[cfg(not(feature = "kernel-cc"))]
    fn new(_: &OwnedFd, _: &Connection) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this fairwave sets none: build it with `cargo build --release --features kernel-cc`",
        ))
    }
}

#[cfg(feature = "kernel-cc")]
impl Drop for Target {
    fn drop(&mut self) {
        // Unless the algorithm was unloaded, which removed all targets.
        let _ = self.aims.set(self.cookie, None);
    }
}
