//! The loop that accepts clients.

use crate::answers::Laboratory;
use fairwave_console::Failure;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of clients served at once. Others wait in the backlog of the listening socket.
const MAX_CLIENTS: usize = 32;
/// Maximum size of the headers of a request in bytes; hyper accepts no smaller limit.
const MAX_HEADERS: usize = 8192;
/// Timeout for the headers of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Timeout for a connection as a whole. Runs are bounded, so that none takes as long.
const LONGEST: Duration = Duration::from_secs(1800);
/// Interval at which the end of the command is noticed.
const TICK: Duration = Duration::from_millis(100);

/// Serves until `stop` is set.
pub(crate) async fn serve(
    listener: TcpListener,
    laboratory: Arc<Laboratory>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let places = Arc::new(Semaphore::new(MAX_CLIENTS));
    while !stop.load(Ordering::Relaxed) {
        // The place comes before the connection, so that further clients stay in the backlog.
        let place = tokio::time::timeout(TICK, Arc::clone(&places).acquire_owned()).await;
        let Ok(Ok(place)) = place else { continue };
        match tokio::time::timeout(TICK, listener.accept()).await {
            Ok(Ok((client, _))) => {
                tokio::spawn(attend(client, Arc::clone(&laboratory), place));
            }
            // A client that disconnected does not affect others. If file descriptors have run out,
            // those of other clients are closed in time.
            Ok(Err(_)) => tokio::time::sleep(TICK).await,
            Err(_) => {}
        }
    }
    Ok(())
}

/// Answers one client.
async fn attend(client: TcpStream, laboratory: Arc<Laboratory>, place: OwnedSemaphorePermit) {
    let service = service_fn(|request| {
        let answer = Arc::clone(&laboratory).answer(request);
        async { Ok::<_, Infallible>(answer.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        // An idle connection would occupy a place.
        .keep_alive(false)
        .max_buf_size(MAX_HEADERS)
        .serve_connection(TokioIo::new(client), service);
    // It does not matter here whether the client read its answer.
    let _ = tokio::time::timeout(LONGEST, connection).await;
    drop(place);
}
