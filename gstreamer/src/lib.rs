//! The GStreamer plugin `fairwavedccp`: [`dccpsink`](DccpSink) sends buffers as datagrams of DCCP,
//! and [`dccpsrc`](DccpSrc) receives them. The connections are those of `fairwave_dccp_host`.

mod options;
mod sink;
mod source;

use gst::glib;
use gst::prelude::*;

glib::wrapper! {
    /// Element that connects to a server and sends each buffer as a datagram.
    pub struct DccpSink(ObjectSubclass<sink::Sink>)
        @extends gst_base::BaseSink, gst::Element, gst::Object;
}

glib::wrapper! {
    /// Element that listens for a client and has each datagram of it as a buffer.
    pub struct DccpSrc(ObjectSubclass<source::Source>)
        @extends gst_base::PushSrc, gst_base::BaseSrc, gst::Element, gst::Object;
}

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    let none = gst::Rank::NONE;
    gst::Element::register(Some(plugin), "dccpsink", none, DccpSink::static_type())?;
    gst::Element::register(Some(plugin), "dccpsrc", none, DccpSrc::static_type())
}

gst::plugin_define!(
    fairwavedccp,
    env!("CARGO_PKG_DESCRIPTION"),
    plugin_init,
    env!("CARGO_PKG_VERSION"),
    "MIT/X11",
    "fairwave-gstreamer",
    "fairwave",
    "fairwave"
);
