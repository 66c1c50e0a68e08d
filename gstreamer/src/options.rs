//! Properties that both elements have, and the port that they describe.

use fairwave_dccp::{Ccid, QueueLimits, WhenFull};
use fairwave_dccp_host::{Addressee, Endpoint, Over, Port, Request, remedies};
use gst::glib;
use gst::prelude::*;
use std::net::SocketAddr;
use tokio::runtime::{Builder, Runtime};

/// Datagrams that wait for congestion control.
const QUEUE: usize = 512;

/// Values of the properties.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Name or address of the server, or the local address.
    pub(crate) host: String,
    port: u32,
    ccid: u32,
    encapsulate: bool,
    udp_port: u32,
}

impl Options {
    pub(crate) fn new(host: &str) -> Self {
        Self { host: host.to_owned(), port: 17_983, ccid: 3, encapsulate: false, udp_port: 6_511 }
    }

    /// Descriptions of the properties; `host` describes the first.
    pub(crate) fn specs(host: &'static str) -> Vec<glib::ParamSpec> {
        let defaults = Self::new("");
        let number = |name: &str, about: &str, range: (u32, u32), default: u32| {
            glib::ParamSpecUInt::builder(name)
                .blurb(about)
                .minimum(range.0)
                .maximum(range.1)
                .default_value(default)
                .build()
        };
        let ports = (0, u32::from(u16::MAX));
        vec![
            glib::ParamSpecString::builder("host").blurb(host).build(),
            number("port", "Port of DCCP", ports, defaults.port),
            number("ccid", "Congestion control profile: 2, 3 or 4", (2, 4), defaults.ccid),
            glib::ParamSpecBoolean::builder("encapsulate")
                .blurb("Whether packets are inside UDP (RFC 6773), which needs no privileges")
                .default_value(defaults.encapsulate)
                .build(),
            number("udp-port", "Port of UDP of the listening end", ports, defaults.udp_port),
        ]
    }

    /// Sets a property; `false` if it is none of these.
    pub(crate) fn set(&mut self, name: &str, value: &glib::Value) -> bool {
        let number = || value.get().expect("GObject checks the type");
        match name {
            "host" => self.host = value.get().expect("GObject checks the type"),
            "port" => self.port = number(),
            "ccid" => self.ccid = number(),
            "udp-port" => self.udp_port = number(),
            "encapsulate" => self.encapsulate = value.get().expect("GObject checks the type"),
            _ => return false,
        }
        true
    }

    /// A property; `None` if it is none of these.
    pub(crate) fn get(&self, name: &str) -> Option<glib::Value> {
        Some(match name {
            "host" => self.host.to_value(),
            "port" => self.port.to_value(),
            "ccid" => self.ccid.to_value(),
            "encapsulate" => self.encapsulate.to_value(),
            "udp-port" => self.udp_port.to_value(),
            _ => return None,
        })
    }

    /// The address of the host, with the port of DCCP.
    pub(crate) fn address(&self) -> Result<SocketAddr, String> {
        use std::net::ToSocketAddrs;
        let port = self.port as u16;
        let mut found = (self.host.as_str(), port)
            .to_socket_addrs()
            .map_err(|error| format!("{}: {error}", self.host))?;
        found.next().ok_or_else(|| format!("{} has no address", self.host))
    }

    /// Opens the port, with a runtime for it.
    pub(crate) fn open(
        &self,
        with: Addressee,
        when_full: WhenFull,
    ) -> Result<(Runtime, Endpoint), gst::ErrorMessage> {
        let failed = |error: String| {
            gst::error_msg!(gst::ResourceError::OpenReadWrite, ["no port of DCCP: {}", error])
        };
        let mut request = Request::new(with);
        request.over = if self.encapsulate { Over::Udp } else { Over::Ip };
        request.udp_port = self.udp_port as u16;
        request.ccids = vec![Ccid(self.ccid as u8)];
        request.queue = QueueLimits { datagrams: QUEUE, when_full, ..QueueLimits::default() };
        request.profiles.tfrc_sender.remedies = remedies();
        request.watch = true;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("dccp")
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let endpoint = {
            let _on = runtime.enter();
            let port = Port::open(&request).map_err(|error| failed(error.to_string()))?;
            Endpoint::new(port).map_err(|error| failed(error.to_string()))?
        };
        Ok((runtime, endpoint))
    }
}
