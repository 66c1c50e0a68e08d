//! `fairwave dccp`: datagrams with congestion control on real networks.

use crate::options::{Relay, Send, Serve, Watch};
use crate::{relay, session, watch};
use clap::{Args, Subcommand};
use fairwave_console::{Console, Failure};

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  fairwave dccp serve                                    on one host, as root
  fairwave dccp send laptop.lan --for '30 s'             on another: TFRC, as fast as it goes
  fairwave dccp send 192.0.2.7 --ccid 2 --json           TCP-like congestion control
  fairwave dccp serve --both --rate '1 Mbps'             data in both directions
  fairwave dccp send nas.lan --udp --csv rate.csv        inside UDP, which needs no root

A stream over DCCP, from an application to another one:
  fairwave dccp relay --from dccp:17983 --to udp:127.0.0.1:5004       where it is watched
  fairwave dccp relay --from udp:127.0.0.1:5004 --to dccp:laptop.lan  at the camera
  ffmpeg -re -i clip.mp4 -c copy -f rtp rtp://127.0.0.1:5004
  fairwave dccp relay --from udp:127.0.0.1:5004 --to dccp:laptop.lan --rate-socket rates
  fairwave dccp watch rates --page watch.html            rates, losses and handovers over time

Packets are those of protocol 33 of IP, over a raw socket, which needs root or CAP_NET_RAW until it
is open; with --udp (relay: --encapsulate) they are inside UDP (RFC 6773). The other end may be
Linux's own DCCP (up to 6.15), or anything else that speaks RFC 4340. docs/dccp.md has more.

Exit code 1: no connection, or one that did not end in good order; 2: the options are wrong.";

/// Examples at the end of the help of `fairwave dccp relay`.
const RELAY_EXAMPLES: &str = "\
Examples:
  fairwave dccp relay --from dccp:17983 --to udp:127.0.0.1:5004       where it is watched
  fairwave dccp relay --from udp:127.0.0.1:5004 --to dccp:laptop.lan  at the camera
  fairwave dccp relay --from udp:[::1]:5004 --to dccp:[2001:db8::7]:5004 --encapsulate --rtcp
  ffmpeg -re -i clip.mp4 -c copy -f rtp rtp://127.0.0.1:5004

Exit code 1: no connection, or a peer that did not come back; 2: the options are wrong.";

/// Options of `fairwave dccp`.
#[derive(Args, Debug)]
pub struct Dccp {
    /// The command.
    #[command(subcommand)]
    pub task: Task,
}

/// Commands of `fairwave dccp`.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Accept connections and receive their datagrams, until interrupted
    Serve(Serve),
    /// Connect to a host and send datagrams
    Send(Send),
    /// Carry a stream of UDP, such as RTP, over DCCP to another relay, and answers back
    #[command(after_help = RELAY_EXAMPLES)]
    Relay(Relay),
    /// Show rates, losses, round-trip time and handovers of a relay over time
    Watch(Watch),
}

/// Runs a command.
///
/// # Errors
/// If the options are wrong, or a connection fails.
pub fn run(console: &dyn Console, dccp: &Dccp) -> Result<(), Failure> {
    match &dccp.task {
        Task::Serve(serve) => session::serve(console, serve),
        Task::Send(send) => session::send(console, send),
        Task::Relay(relay) => relay::run(console, relay),
        Task::Watch(watch) => watch::run(console, watch),
    }
}
