//! Opens a flow: reads the client's request, admits the flow, and connects to the server.

use crate::account::Event;
use crate::eyeballs;
use crate::flow::Flow;
use crate::flows::Admitted;
use crate::network::{self, Leg};
use crate::request::{Denied, Rejected, Request, Server, canonical};
use crate::shared::Shared;
use fairwave_linux::{prepare_relayed, reset_on_close};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Reason for which a flow was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    /// No valid request came in time.
    Rejected(Rejected),
    /// The request was denied, and the client was sent the reason.
    Denied(Denied),
    /// The client was gone when its request was granted.
    Left,
}

/// An open flow, and the data that the client has sent already.
pub(crate) type Opened = (Flow, Vec<u8>);

/// A connection to a server.
struct Reached {
    far: TcpStream,
    server: SocketAddr,
    /// Whether it uses the congestion control algorithm with targets.
    has_congestion_control: bool,
}

impl Reached {
    fn flow(self, near: TcpStream, client: SocketAddr) -> Flow {
        let flow = Flow::new(near, self.far, client, self.server);
        if self.has_congestion_control { flow.with_congestion_control() } else { flow }
    }
}

/// Opens flow `id` for a client that sends a request.
pub(crate) async fn requested(
    near: TcpStream,
    client: SocketAddr,
    id: u64,
    shared: &Shared,
) -> Result<Opened, Unopened> {
    prepare_relayed(&near).map_err(|_| Unopened::Left)?;
    // The limit covers the request alone. The connection to the server has limits of its own, whose
    // end is an answer to the client.
    let read = timeout(limit(shared), Request::read(near, shared.config.users.as_ref())).await;
    let request = read.unwrap_or(Err(Rejected::Malformed)).map_err(Unopened::Rejected)?;
    match reach(client, &request.server, None, id, shared).await {
        Ok(reached) => {
            let local = reached.far.local_addr().map_err(|_| Unopened::Denied(Denied::Failed))?;
            let (near, early) = request.grant(local).await.map_err(|_| Unopened::Left)?;
            Ok((reached.flow(near, client), early))
        }
        Err(why) => {
            // A client that is gone needs no answer.
            let _ = request.deny(why).await;
            Err(Unopened::Denied(why))
        }
    }
}

/// Opens flow `id` for a client that knows of no proxy: the server is the address that it connected
/// to.
pub(crate) async fn transparent(
    near: TcpStream,
    client: SocketAddr,
    id: u64,
    shared: &Shared,
) -> Result<Opened, Unopened> {
    let prepared = prepare_relayed(&near).and_then(|()| near.local_addr());
    let server = canonical(prepared.map_err(|_| Unopened::Left)?);
    let is_proxys = Some(server.port()) == shared.config.transparent;
    let reached = if is_proxys && network::is_own(server) {
        // The client connected to the proxy's own address: the proxy would connect to itself
        // without end.
        Err(Denied::NotAllowed)
    } else {
        reach(client, &Server::At(server), Some(client), id, shared).await
    };
    match reached {
        Ok(reached) => Ok((reached.flow(near, client), Vec::new())),
        Err(why) => {
            reset_on_close(&near);
            Err(Unopened::Denied(why))
        }
    }
}

fn limit(shared: &Shared) -> Duration {
    Duration::from_nanos(shared.config.limits.opening.as_nanos())
}

/// Connects to the first address of a server that accepts.
async fn reach(
    client: SocketAddr,
    server: &Server,
    from: Option<SocketAddr>,
    id: u64,
    shared: &Shared,
) -> Result<Reached, Denied> {
    let resolving = network::resolve(server, client.ip(), &shared.resolvers);
    let resolved = timeout(limit(shared), resolving).await;
    let addresses = admitted(client, resolved.unwrap_or(Err(Denied::NoAddress))?, id, shared)?;
    let kernel_target = shared.flows.borrow().kernel_target().map(str::to_owned);
    let has_target = kernel_target.is_some();
    let congestion = kernel_target.or_else(|| shared.config.congestion.clone());
    let leg = Leg { from, congestion };
    let attempt = |server| {
        let leg = leg.clone();
        async move {
            let (far, has_congestion_control) = network::connect(server, &leg).await?;
            Ok(Reached { far, server, has_congestion_control })
        }
    };
    let reached = eyeballs::first_to_succeed(addresses, limit(shared), attempt).await?;
    if !reached.has_congestion_control {
        let lacks = format!("{}: the kernel no longer provides the algorithm", reached.server);
        let event = if has_target { Event::NoCongestionControl } else { Event::DefaultCongestion };
        shared.flows.borrow_mut().push_event(event(lacks));
    }
    let has_congestion_control = has_target && reached.has_congestion_control;
    Ok(Reached { has_congestion_control, ..reached })
}

/// Returns the addresses that the client may reach and for whose targets capacity is left, in the
/// order of their attempts.
fn admitted(
    client: SocketAddr,
    addresses: Vec<SocketAddr>,
    id: u64,
    shared: &Shared,
) -> Result<Vec<SocketAddr>, Denied> {
    let mut flows = shared.flows.borrow_mut();
    let mut admitted = Vec::new();
    let mut denied = Denied::NoAddress;
    for address in eyeballs::in_turn(addresses.into_iter().map(canonical).collect()) {
        if !shared.leads_to(client, address) {
            denied = denied.max(Denied::NotAllowed);
        } else if flows.admit(id, address) == Admitted::No {
            denied = denied.max(Denied::Busy);
        } else {
            admitted.push(address);
        }
    }
    if admitted.is_empty() { Err(denied) } else { Ok(admitted) }
}
