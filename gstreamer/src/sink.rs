//! `dccpsink`: a client that sends each buffer as a datagram.

use crate::options::Options;
use bytes::Bytes;
use fairwave_dccp::WhenFull;
use fairwave_dccp_host::{Addressee, Connection, Endpoint, SendError};
use fairwave_units::Duration;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::prelude::*;
use std::sync::{LazyLock, Mutex, PoisonError};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Default of `deadline-ms`, as that of `fairwave dccp relay`.
const DEADLINE_MS: u32 = 200;

/// A connection, and what it lives on.
#[derive(Debug)]
struct Open {
    connection: Connection,
    endpoint: Endpoint,
    runtime: Runtime,
}

#[derive(Debug)]
struct Properties {
    options: Options,
    deadline_ms: u32,
}

/// State of the element.
#[derive(Debug)]
pub struct Sink {
    properties: Mutex<Properties>,
    open: Mutex<Option<Open>>,
    /// Whether a call that waits has to return.
    is_flushing: watch::Sender<bool>,
}

impl Default for Sink {
    fn default() -> Self {
        let options = Options::new("127.0.0.1");
        Self {
            properties: Mutex::new(Properties { options, deadline_ms: DEADLINE_MS }),
            open: Mutex::default(),
            is_flushing: watch::Sender::new(false),
        }
    }
}

impl Sink {
    fn with<T>(&self, act: impl FnOnce(&mut Properties) -> T) -> T {
        act(&mut self.properties.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Sink {
    const NAME: &'static str = "FairwaveDccpSink";
    type Type = crate::DccpSink;
    type ParentType = gst_base::BaseSink;
}

impl ObjectImpl for Sink {
    fn properties() -> &'static [glib::ParamSpec] {
        static SPECS: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let mut specs = Options::specs("Name or address of the server");
            let deadline = glib::ParamSpecUInt::builder("deadline-ms")
                .blurb(
                    "Time in ms after its clock time at which a buffer that has not left is \
                     dropped; 0 drops none, and waits for congestion control",
                )
                .default_value(DEADLINE_MS)
                .build();
            let stats = glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                .blurb("Counters and state of congestion control")
                .read_only()
                .build();
            specs.extend([deadline, stats]);
            specs
        });
        &SPECS
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        self.with(|properties| {
            if spec.name() == "deadline-ms" {
                properties.deadline_ms = value.get().expect("GObject checks the type");
            } else {
                properties.options.set(spec.name(), value);
            }
        });
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        match spec.name() {
            "deadline-ms" => self.with(|properties| properties.deadline_ms.to_value()),
            "stats" => self.stats().to_value(),
            name => self
                .with(|properties| properties.options.get(name))
                .expect("GObject knows no other property"),
        }
    }
}

impl Sink {
    fn stats(&self) -> gst::Structure {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let account = open.as_ref().and_then(|open| open.connection.account());
        let mut stats = gst::Structure::builder("dccp");
        if let Some(account) = account {
            let sender = account.stats.sender;
            let rate = sender.and_then(|sender| sender.rate).unwrap_or(0.0);
            let rtt = sender.and_then(|sender| sender.rtt).unwrap_or_default();
            stats = stats
                .field("packets-sent", account.stats.data_packets_sent)
                .field("bytes-sent", account.stats.data_bytes_sent)
                .field("dropped", account.stats.unsent)
                .field("allowed-bps", 8.0 * rate)
                .field("rtt-ms", rtt.as_secs_f64() * 1e3);
        }
        stats.build()
    }
}

impl GstObjectImpl for Sink {}

impl ElementImpl for Sink {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "DCCP sender",
                "Sink/Network",
                "Sends each buffer as a datagram of DCCP, with congestion control",
                "Fairwave's maintainers",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let (direction, always) = (gst::PadDirection::Sink, gst::PadPresence::Always);
            let any = gst::Caps::new_any();
            vec![gst::PadTemplate::new("sink", direction, always, &any).expect("a valid template")]
        });
        &TEMPLATES
    }
}

impl BaseSinkImpl for Sink {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let (options, deadline_ms) =
            self.with(|properties| (properties.options.clone(), properties.deadline_ms));
        let failed = |error: String| {
            gst::error_msg!(gst::ResourceError::OpenWrite, ["no connection: {}", error])
        };
        let server = Addressee::Server(options.address().map_err(failed)?);
        // With a deadline a queue that is full is one of old datagrams.
        let when_full =
            if deadline_ms == 0 { WhenFull::RefuseNewest } else { WhenFull::DropOldest };
        let (runtime, endpoint) = options.open(server, when_full)?;
        let connection =
            runtime.block_on(endpoint.connect()).map_err(|error| failed(error.to_string()))?;
        let open = Open { connection, endpoint, runtime };
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Open { connection, endpoint, runtime }) = open else { return Ok(()) };
        connection.close();
        runtime
            .block_on(endpoint.close())
            .map_err(|error| gst::error_msg!(gst::ResourceError::Close, ["{}", error]))
    }

    fn render(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let data = {
            let map = buffer.map_readable().map_err(|_| gst::FlowError::Error)?;
            Bytes::copy_from_slice(&map)
        };
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.as_ref().ok_or(gst::FlowError::Flushing)?;
        let deadline_ms = self.with(|properties| properties.deadline_ms);
        let deadline = (deadline_ms > 0).then(|| Duration::from_millis(deadline_ms.into()));
        let mut flushing = self.is_flushing.subscribe();
        let sent = open.runtime.block_on(async {
            tokio::select! {
                sent = open.connection.send_wait(data, deadline) => Some(sent),
                // The sender is a field of this element, so that it is there.
                _ = flushing.wait_for(|is_flushing| *is_flushing) => None,
            }
        });
        match sent {
            None => Err(gst::FlowError::Flushing),
            // One that is late counts as dropped.
            Some(Ok(()) | Err(SendError::Late | SendError::Full)) => Ok(gst::FlowSuccess::Ok),
            Some(Err(error @ (SendError::TooLong | SendError::Closed))) => {
                gst::element_imp_error!(self, gst::ResourceError::Write, ["{}", error]);
                Err(gst::FlowError::Error)
            }
        }
    }

    fn unlock(&self) -> Result<(), gst::ErrorMessage> {
        self.is_flushing.send_replace(true);
        Ok(())
    }

    fn unlock_stop(&self) -> Result<(), gst::ErrorMessage> {
        self.is_flushing.send_replace(false);
        Ok(())
    }
}
