//! The loop of `fairwave shake serve`.

use crate::limits::Limits;
use crate::report::ServeOutput;
use crate::tasks::{Tally, on_runtime, until_stopped};
use crate::tunnel;
use fairwave_console::{Console, Failure};
use fairwave_shake_host::{Config, Host, Udp};
use fairwave_units::Duration;
use ipnet::IpNet;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use tokio::task::spawn_local;
use tokio::time::Instant;

/// Serves until `stop` is set, or for `lasts`.
///
/// # Errors
/// If the loop cannot run.
pub(crate) fn run(
    console: &dyn Console,
    config: Config,
    socket: Udp,
    allow: &[IpNet],
    lasts: Option<Duration>,
    stop: &AtomicBool,
) -> Result<ServeOutput, Failure> {
    let (limits, tally) = (Rc::new(Limits::new(allow)), Rc::new(Tally::default()));
    let started = Instant::now();
    on_runtime(async {
        let host = Host::server(config, socket).map_err(Failure::run)?;
        let accept = async {
            loop {
                let stream = host.accept().await;
                let session = host.session_of(&stream);
                let (limits, tally) = (Rc::clone(&limits), Rc::clone(&tally));
                spawn_local(async move {
                    tally.count(tunnel::serve(session, stream, &limits)).await;
                });
            }
        };
        tokio::select! {
            () = accept => {}
            () = until_stopped(stop, lasts) => {}
        }
        let (sessions, refused) = host.counts();
        if sessions > 0 && !console.is_quiet() {
            console.note("ending the sessions");
        }
        host.close().await;
        Ok(ServeOutput {
            seconds: started.elapsed().as_secs_f64(),
            connections: tally.connections.get(),
            failed: tally.failed.get(),
            strangers: refused.strangers,
            refused: refused.malformed + refused.unknown + refused.forged + refused.crowded,
        })
    })
}
