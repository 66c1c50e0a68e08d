//! `dccpsrc`: a listener that has each datagram of its client as a buffer.

use crate::options::Options;
use bytes::Bytes;
use fairwave_dccp::WhenFull;
use fairwave_dccp_host::{Addressee, Connection, End, Endpoint};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_src::CreateSuccess;
use gst_base::subclass::prelude::*;
use std::sync::{LazyLock, Mutex, PoisonError};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// A port that listens, and the client that it has.
#[derive(Debug)]
struct Open {
    client: Option<Connection>,
    endpoint: Endpoint,
    runtime: Runtime,
}

#[derive(Debug)]
struct Properties {
    options: Options,
    caps: Option<gst::Caps>,
}

/// State of the element.
#[derive(Debug)]
pub struct Source {
    properties: Mutex<Properties>,
    open: Mutex<Option<Open>>,
    /// Whether a call that waits has to return.
    is_flushing: watch::Sender<bool>,
}

impl Default for Source {
    fn default() -> Self {
        Self {
            properties: Mutex::new(Properties { options: Options::new("::"), caps: None }),
            open: Mutex::default(),
            is_flushing: watch::Sender::new(false),
        }
    }
}

impl Source {
    fn with<T>(&self, act: impl FnOnce(&mut Properties) -> T) -> T {
        act(&mut self.properties.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Open {
    /// The next datagram; `None` once a client has closed its connection. A client that was lost, or
    /// has another address, comes back with another connection, which ends the one before.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let client = match &self.client {
                Some(client) => client,
                None => self.client.insert(self.endpoint.accept().await?),
            };
            let end = tokio::select! {
                // What arrived comes before another client, and so does an end.
                biased;
                data = client.recv() => match data {
                    Some(data) => return Some(data),
                    None => client.ended().map(|(end, _)| end),
                },
                Some(next) = self.endpoint.accept() => {
                    client.abort();
                    self.client = Some(next);
                    continue;
                }
            };
            self.client = None;
            if end == Some(End::Closed) {
                return None;
            }
        }
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Source {
    const NAME: &'static str = "FairwaveDccpSrc";
    type Type = crate::DccpSrc;
    type ParentType = gst_base::PushSrc;
}

impl ObjectImpl for Source {
    fn properties() -> &'static [glib::ParamSpec] {
        static SPECS: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let mut specs = Options::specs("Local address to listen at");
            let caps = glib::ParamSpecBoxed::builder::<gst::Caps>("caps")
                .blurb("Type of the data, which DCCP does not carry")
                .build();
            specs.push(caps);
            specs
        });
        &SPECS
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        self.with(|properties| {
            if spec.name() == "caps" {
                properties.caps = value.get().expect("GObject checks the type");
            } else {
                properties.options.set(spec.name(), value);
            }
        });
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        match spec.name() {
            "caps" => self.with(|properties| properties.caps.to_value()),
            name => self
                .with(|properties| properties.options.get(name))
                .expect("GObject knows no other property"),
        }
    }

    fn constructed(&self) {
        self.parent_constructed();
        let element = self.obj();
        element.set_live(true);
        element.set_format(gst::Format::Time);
        element.set_do_timestamp(true);
    }
}

impl GstObjectImpl for Source {}

impl ElementImpl for Source {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "DCCP receiver",
                "Source/Network",
                "Receives datagrams of DCCP from one client at a time",
                "Fairwave's maintainers",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let (direction, always) = (gst::PadDirection::Src, gst::PadPresence::Always);
            let any = gst::Caps::new_any();
            vec![gst::PadTemplate::new("src", direction, always, &any).expect("a valid template")]
        });
        &TEMPLATES
    }
}

impl BaseSrcImpl for Source {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let options = self.with(|properties| properties.options.clone());
        let address = options
            .address()
            .map_err(|error| gst::error_msg!(gst::ResourceError::OpenRead, ["{}", error]))?;
        let (runtime, endpoint) =
            options.open(Addressee::Anybody(address), WhenFull::DropOldest)?;
        let open = Open { client: None, endpoint, runtime };
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Open { client, endpoint, runtime }) = open else { return Ok(()) };
        drop(client);
        runtime
            .block_on(endpoint.close())
            .map_err(|error| gst::error_msg!(gst::ResourceError::Close, ["{}", error]))
    }

    fn is_seekable(&self) -> bool {
        false
    }

    fn caps(&self, filter: Option<&gst::Caps>) -> Option<gst::Caps> {
        let caps = self.with(|properties| properties.caps.clone());
        let caps = caps.unwrap_or_else(gst::Caps::new_any);
        Some(match filter {
            Some(filter) => filter.intersect_with_mode(&caps, gst::CapsIntersectMode::First),
            None => caps,
        })
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

impl PushSrcImpl for Source {
    fn create(
        &self,
        _buffer: Option<&mut gst::BufferRef>,
    ) -> Result<CreateSuccess, gst::FlowError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.as_mut().ok_or(gst::FlowError::Flushing)?;
        let mut flushing = self.is_flushing.subscribe();
        let handle = open.runtime.handle().clone();
        let next = handle.block_on(async {
            tokio::select! {
                next = open.next() => Ok(next),
                // The sender is a field of this element, so that it is there.
                _ = flushing.wait_for(|is_flushing| *is_flushing) => Err(gst::FlowError::Flushing),
            }
        })?;
        match next {
            Some(data) => Ok(CreateSuccess::NewBuffer(gst::Buffer::from_slice(data))),
            None => Err(gst::FlowError::Eos),
        }
    }
}
