//! Metrics over HTTP, for Prometheus and compatible programs.
//!
//! The text is that of OpenMetrics 1.0. There is no access control: every host that reaches the
//! address can read the metrics. Each client is limited in connections, bytes and time, so that
//! none delays the others for long.

use crate::{Console, Failure};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of clients served at once. Others wait in the backlog of the listening socket.
const MAX_CLIENTS: usize = 16;
/// Maximum size of a request, in bytes; hyper accepts no smaller limit.
const MAX_REQUEST: usize = 8192;
/// Timeout for a client's request and for reading the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The format of the answer.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Names and values of a sample's labels. Values may contain any characters.
pub type Labels = Vec<(&'static str, String)>;

/// Value of a sample. Whole numbers are printed without a decimal point.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// A real number.
    Real(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

/// A metric: its name, its help, and a sample for each combination of labels.
#[derive(Debug)]
pub struct Metric {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    samples: Vec<(Labels, Value)>,
}

impl Metric {
    /// A metric that rises and falls.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: MetricType::Gauge, samples: Vec::new() }
    }

    /// A metric that only increases; its name is without `_total`.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: MetricType::Counter, samples: Vec::new() }
    }

    /// Adds a sample for each of `all`, unless it has no value.
    #[must_use]
    pub fn of<T, V: Into<Value>>(
        mut self,
        all: impl IntoIterator<Item = T>,
        labels: impl Fn(&T) -> Labels,
        value: impl Fn(&T) -> Option<V>,
    ) -> Self {
        let sample = |one: T| Some((labels(&one), value(&one)?.into()));
        self.samples.extend(all.into_iter().filter_map(sample));
        self
    }

    /// Adds the one sample of a metric without labels.
    #[must_use]
    pub fn value(self, value: impl Into<Value> + Copy) -> Self {
        self.of([()], |()| Labels::new(), |()| Some(value))
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(self.name, self.help, None, self.kind)?;
        for (labels, value) in &self.samples {
            let escaped = labels.iter().map(|(name, value)| (*name, escaped(value)));
            let labels: Labels = escaped.collect();
            match labels.is_empty() {
                true => self.encode_value(&mut family, *value)?,
                false => self.encode_value(&mut family.encode_family(&labels)?, *value)?,
            }
        }
        Ok(())
    }

    fn encode_value(&self, encoder: &mut MetricEncoder<'_>, value: Value) -> fmt::Result {
        match (self.kind, value) {
            (MetricType::Counter, Value::Whole(value)) => {
                encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
            }
            (MetricType::Counter, Value::Real(value)) => {
                encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
            }
            (_, Value::Whole(value)) => encoder.encode_gauge(&value),
            (_, Value::Real(value)) => encoder.encode_gauge(&value),
        }
    }
}

/// The value of a label in the text format (OpenMetrics 1.0, section "Escaping"), which
/// `prometheus_client` leaves to its callers. Interfaces may have quotation marks in their names.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

/// The metrics of one request.
#[derive(Debug)]
struct Metrics(Vec<Metric>);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|metric| metric.encode(&mut encoder))
    }
}

/// The metrics as text. All names begin with `prefix` and an underscore, unless `prefix` is empty.
///
/// # Errors
/// If the text cannot be formatted.
pub fn text(prefix: &str, metrics: Vec<Metric>) -> Result<String, fmt::Error> {
    let mut registry = match prefix {
        "" => Registry::default(),
        _ => Registry::with_prefix(prefix),
    };
    registry.register_collector(Box::new(Metrics(metrics)));
    let mut page = String::new();
    text::encode(&mut page, &registry)?;
    Ok(page)
}

/// Serves metrics under `/metrics` until the process is interrupted. `collect` takes the figures
/// anew for each request. If it fails, the request is answered with status 500. All names begin
/// with `prefix` and an underscore, unless `prefix` is empty.
///
/// # Errors
/// If the address cannot be bound.
pub fn serve(
    console: &dyn Console,
    at: SocketAddr,
    prefix: &'static str,
    mut collect: impl FnMut() -> Result<Vec<Metric>, Failure> + 'static,
) -> Result<(), Failure> {
    let page: Page = Rc::new(RefCell::new(move || {
        collect().map_err(|_| fmt::Error).and_then(|metrics| text(prefix, metrics))
    }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::run)?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind(at).await;
        let listener = listener.map_err(|error| Failure::Run(format!("{at}: {error}")))?;
        let bound = listener.local_addr().map_err(Failure::run)?;
        console.note(&format!("http://{bound}/metrics"));
        accept(&listener, &page).await
    })
}

/// The text of a page, made anew for each request.
type Page = Rc<RefCell<dyn FnMut() -> Result<String, fmt::Error>>>;

async fn accept(listener: &TcpListener, page: &Page) -> Result<(), Failure> {
    let places = Arc::new(Semaphore::new(MAX_CLIENTS));
    loop {
        // The place comes before the connection, so that further clients stay in the backlog.
        let place = Arc::clone(&places).acquire_owned().await.map_err(Failure::run)?;
        match listener.accept().await {
            Ok((client, _)) => {
                tokio::task::spawn_local(attend(client, Rc::clone(page), place));
            }
            // A client that disconnected does not affect others. If file descriptors have run out,
            // those of other clients are closed within `PATIENCE`.
            Err(_) => tokio::time::sleep(PATIENCE / 100).await,
        }
    }
}

/// Answers one client.
async fn attend(client: TcpStream, page: Page, place: OwnedSemaphorePermit) {
    let service =
        service_fn(|request| std::future::ready(Ok::<_, Infallible>(answer(&request, &page))));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // An idle connection would occupy a place.
        .keep_alive(false)
        .max_buf_size(MAX_REQUEST)
        .serve_connection(TokioIo::new(client), service);
    // It does not matter here whether the client read its answer.
    let _ = tokio::time::timeout(PATIENCE, connection).await;
    drop(place);
}

fn answer(request: &Request<Incoming>, page: &Page) -> Response<Full<Bytes>> {
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics" | "/") => match page.borrow_mut()() {
            Ok(page) => (StatusCode::OK, HeaderValue::from_static(OPEN_METRICS), page),
            Err(_) => {
                let failed = "the figures could not be read\n".to_owned();
                (StatusCode::INTERNAL_SERVER_ERROR, plain, failed)
            }
        },
        _ => (StatusCode::NOT_FOUND, plain, "GET /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn page() -> String {
        let of = |_: &u64| vec![("of", "x".to_owned())];
        let gauge = Metric::gauge("a", "A").of([1u64], of, |one| Some(*one));
        let counter = Metric::counter("b", "B").value(2.0);
        text("fairwave", vec![gauge, counter]).expect("a page")
    }

    /// The answer to a client that sends `request`. The clock advances whenever all tasks wait.
    fn answered(request: &'static [u8], page: Result<String, fmt::Error>) -> String {
        let page: Page = Rc::new(RefCell::new(move || page.clone()));
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().expect("a runtime");
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let at = listener.local_addr().expect("its address");
            let mut client = TcpStream::connect(at).await.expect("a connection");
            let (server, _) = listener.accept().await.expect("the connection");
            let place = Arc::new(Semaphore::new(1)).acquire_owned().await.expect("a place");
            tokio::task::spawn_local(attend(server, page, place));
            // The server may have closed the connection by then.
            let _ = client.write_all(request).await;
            let mut text = String::new();
            let _ = client.read_to_string(&mut text).await;
            text
        })
    }

    #[test]
    fn only_the_page_is_served() {
        let get = answered(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Ok(page()));
        assert!(get.starts_with("HTTP/1.1 200 OK\r\n") && get.contains(OPEN_METRICS), "{get}");
        assert!(get.contains("\nfairwave_a{of=\"x\"} 1\n"), "{get}");
        assert!(get.ends_with("\nfairwave_b_total 2.0\n# EOF\n"), "{get}");
        let other = answered(b"POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Ok(page()));
        assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
        let refused = answered(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Err(fmt::Error));
        assert!(refused.starts_with("HTTP/1.1 500 "), "{refused}");
    }

    #[test]
    fn labels_may_contain_any_characters() {
        let of = |_: &u64| vec![("ifname", "w\"0\\a\nb".to_owned())];
        let page = text("", vec![Metric::gauge("a", "A").of([1u64], of, |one| Some(*one))]);
        let page = page.expect("a page");
        assert!(page.contains("\na{ifname=\"w\\\"0\\\\a\\nb\"} 1\n"), "{page}");
    }

    #[test]
    fn a_request_that_does_not_finish_times_out() {
        assert_eq!(answered(b"GET /metr", Ok(page())), "");
        let long = [b'x'; 2 * MAX_REQUEST];
        let line = [b"GET /".as_slice(), &long].concat().leak();
        assert!(!answered(line, Ok(page())).contains(" 200 "));
    }
}
