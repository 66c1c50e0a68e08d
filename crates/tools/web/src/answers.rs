//! Answers to requests that were admitted.

use crate::guard::Guard;
use crate::live::Live;
use crate::runs::Runs;
use fairwave_show::laboratory::{self, Engine};
use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum size of a request's body in bytes. A scenario has at most one megabyte.
const MAX_BODY: usize = 3 << 20;
/// Maximum size of the figures of a sweep in bytes: 500 runs of 100 flows have about half of it.
const MAX_MEANS: usize = 24 << 20;
/// Maximum number of a sweep's runs at the same time.
const MAX_AT_ONCE: usize = 8;
/// Timeout for the body of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Timeout for a client that does not read the result of its run.
const UNREAD: Duration = Duration::from_secs(60);
/// Part of a run after which its progress is reported.
const STEP: f64 = 0.005;
/// Lines of progress that wait for the client.
const WAITING: usize = 4;

/// Headers of each answer. Scripts and styles are in the page; nothing else may be loaded, and no
/// other page may show this one.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The body of an answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Server of the page and its runs.
#[derive(Debug)]
pub(crate) struct Laboratory {
    pub(crate) guard: Guard,
    pub(crate) runs: Runs,
    live: Live,
    /// Runs of a sweep that the page asks for at the same time: one on each processor.
    at_once: usize,
    /// One place more than that, so that a tour can go on beside a sweep.
    places: Arc<Semaphore>,
}

impl Laboratory {
    /// A server whose requests `guard` admits.
    pub(crate) fn new(guard: Guard, runs: Runs) -> Self {
        let live = Live::new(runs.root());
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let at_once = processors.min(MAX_AT_ONCE);
        let places = Arc::new(Semaphore::new(at_once + 1));
        Self { guard, runs, live, at_once, places }
    }

    /// The answer to a request.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let mut response = match self.guard.admit(&path, request.headers()) {
            None => plain(StatusCode::FORBIDDEN, "this address is not that of the page"),
            Some(inner) => self.route(inner, request).await,
        };
        for (name, value) in HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    async fn route(self: &Arc<Self>, path: &str, request: Request<Incoming>) -> Response<Body> {
        match (request.method(), path) {
            (&Method::GET, "") => {
                let (runs, at_once) = (&*self.runs.names(), self.at_once);
                page(Engine::Server { runs, at_once }.page())
            }
            (&Method::GET, "live") => page(laboratory::live()),
            (&Method::GET, "live/figures") => {
                whole("application/json", self.live.answer().await.into())
            }
            (&Method::GET, _) => self.file(path),
            (&Method::POST, "plan" | "run" | "means") if !is_json(&request) => {
                plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the request has to be application/json")
            }
            (&Method::POST, "plan") => match body(request, MAX_BODY).await {
                Ok(body) => whole("application/json", laboratory::plan(&body).into()),
                Err(refused) => refused,
            },
            (&Method::POST, "run") => match body(request, MAX_BODY).await {
                Ok(body) => self.run(body).await,
                Err(refused) => refused,
            },
            (&Method::POST, "means") => self.means(request).await,
            _ => plain(StatusCode::NOT_FOUND, "there is no such page"),
        }
    }

    /// A file of a run, or the page of a run.
    fn file(&self, path: &str) -> Response<Body> {
        if let Some(bytes) = path.strip_prefix("files/").and_then(|rest| self.runs.file(rest)) {
            return whole("application/octet-stream", bytes.into());
        }
        let name = path.strip_prefix("show/").and_then(decoded);
        match name.and_then(|name| self.runs.page(&name)) {
            Some(found) => page(found),
            None => plain(StatusCode::NOT_FOUND, "there is no such run or file"),
        }
    }

    /// Computes means over the runs of a sweep. The place comes before the body, which is large.
    async fn means(&self, request: Request<Incoming>) -> Response<Body> {
        let Some(_place) = self.place().await else { return self.busy() };
        match body(request, MAX_MEANS).await {
            Ok(body) => whole("application/json", laboratory::means(&body).into()),
            Err(refused) => refused,
        }
    }

    /// A place for a run, unless all stay taken. A run that was cancelled ends within one simulated
    /// second.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.places).acquire_owned();
        tokio::time::timeout(PATIENCE, place).await.ok()?.ok()
    }

    fn busy(&self) -> Response<Body> {
        let count = self.at_once + 1;
        let text = format!("{count} runs are under way, the maximum: try again later");
        plain(StatusCode::SERVICE_UNAVAILABLE, &text)
    }

    /// Begins a run. Its answer has a line of JSON for each report of progress, then the result.
    async fn run(self: &Arc<Self>, request: Bytes) -> Response<Body> {
        let Some(place) = self.place().await else { return self.busy() };
        let (mut sender, body) = Channel::new(WAITING);
        let laboratory = Arc::clone(self);
        let runtime = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            let mut last = 0.0;
            let mut goes_on = |fraction: f64| {
                if fraction - last < STEP {
                    return true;
                }
                last = fraction;
                report(&mut sender, fraction)
            };
            let result = laboratory.runs.run(&request, &mut goes_on);
            let line = Bytes::from(format!("{result}\n"));
            // A client that does not read loses the line; the run directory stays.
            let send = tokio::time::timeout(UNREAD, sender.send_data(line));
            let _ = runtime.block_on(async { send.await.map(drop) });
            drop(place);
        });
        respond(StatusCode::OK, "application/x-ndjson", body.boxed_unsync())
    }
}

/// Sends a line of progress, unless earlier ones wait. Returns `false` if nobody listens any more.
fn report(sender: &mut Sender<Bytes>, fraction: f64) -> bool {
    let line = Bytes::from(format!("{}\n", json!({ "progress": fraction })));
    let frame = hyper::body::Frame::data(line);
    sender.try_send(frame).is_ok() || sender.capacity() != sender.max_capacity()
}

/// Whether a request says that its body is JSON. A form of another site cannot say so.
fn is_json(request: &Request<Incoming>) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok()).is_some_and(|kind| kind == "application/json")
}

/// The whole body of a request, at most `max` bytes.
async fn body(request: Request<Incoming>, max: usize) -> Result<Bytes, Response<Body>> {
    let read = Limited::new(request.into_body(), max).collect();
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            let text = format!("the request has more than {max} bytes");
            Err(plain(StatusCode::PAYLOAD_TOO_LARGE, &text))
        }
        Ok(Err(error)) => Err(plain(StatusCode::BAD_REQUEST, &error.to_string())),
        Err(_) => Err(plain(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time")),
    }
}

/// A path with `%` and two hexadecimal digits for each byte that is no plain character.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        rest = after;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// A page, or the error in making it.
fn page(made: Result<String, fairwave_show::Error>) -> Response<Body> {
    match made {
        Ok(page) => whole("text/html; charset=utf-8", page.into()),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(format!("{text}\n"))).boxed_unsync();
    respond(status, "text/plain; charset=utf-8", body)
}

fn whole(kind: &'static str, bytes: Bytes) -> Response<Body> {
    respond(StatusCode::OK, kind, Full::new(bytes).boxed_unsync())
}

fn respond(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_decoded_once() {
        assert_eq!(decoded("a%20b/c=1").as_deref(), Some("a b/c=1"));
        assert_eq!(decoded("%252e").as_deref(), Some("%2e"));
        for wrong in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
