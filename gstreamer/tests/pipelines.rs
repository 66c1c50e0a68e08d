//! Pipelines with each other on the loopback.

use bytes::Bytes;
use fairwave_dccp_host::{Addressee, Over, Port, Request, blocking};
use gst::prelude::*;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const FRAMES: u64 = 30;
/// Time within which a pipeline has to come to its end.
const PATIENCE: gst::ClockTime = gst::ClockTime::from_seconds(60);

fn init() {
    gst::init().expect("GStreamer is installed");
    gstfairwavedccp::plugin_register_static().expect("its elements have names of their own");
}

/// A port of UDP that nobody has.
fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("it is bound").port()
}

fn pipeline(line: &str) -> gst::Pipeline {
    let element = gst::parse::launch(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    element.downcast().expect("several elements are a pipeline")
}

/// Waits for the end of a stream.
fn end(pipeline: &gst::Pipeline) {
    let bus = pipeline.bus().expect("a pipeline has one");
    let wanted = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = bus.timed_pop_filtered(PATIENCE, &wanted).expect("an end in time");
    if let gst::MessageView::Error(error) = message.view() {
        panic!("{} {:?}", error.error(), error.debug());
    }
}

/// Counts the buffers that an element gets.
fn counted(pipeline: &gst::Pipeline, name: &str) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    let element = pipeline.by_name(name).expect(name);
    let pad = element.static_pad("sink").expect("a sink has one");
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        gst::PadProbeReturn::Ok
    });
    count
}

/// Motion JPEG in RTP: every frame is decoded, and the end of the stream comes through.
#[test]
fn video_gets_through_whole() {
    init();
    let port = free_port();
    let udp = format!("encapsulate=true udp-port={port}");
    let receiver = pipeline(&format!(
        "dccpsrc host=127.0.0.1 {udp} caps=\"application/x-rtp,media=video,clock-rate=90000,\
         encoding-name=JPEG,payload=26\" ! rtpjpegdepay ! jpegdec ! fakesink name=out sync=false"
    ));
    let frames = counted(&receiver, "out");
    receiver.set_state(gst::State::Playing).expect("it listens");
    let sender = pipeline(&format!(
        "videotestsrc num-buffers={FRAMES} ! \
         video/x-raw,format=I420,width=320,height=240,framerate=30/1 ! jpegenc ! \
         rtpjpegpay mtu=1300 ! dccpsink name=dccp {udp} deadline-ms=0"
    ));
    sender.set_state(gst::State::Playing).expect("it connects");
    end(&sender);
    let sink = sender.by_name("dccp").expect("dccp");
    let stats = sink.property::<gst::Structure>("stats");
    let sent: u64 = stats.get("packets-sent").expect("a number");
    assert!(sent > FRAMES, "{stats}");
    sender.set_state(gst::State::Null).expect("it closes");
    end(&receiver);
    receiver.set_state(gst::State::Null).expect("it ends");
    assert_eq!(frames.load(Ordering::Relaxed), FRAMES);
}

#[test]
fn a_source_that_waits_for_a_client_can_be_stopped() {
    init();
    let port = free_port();
    let receiver =
        pipeline(&format!("dccpsrc host=127.0.0.1 encapsulate=true udp-port={port} ! fakesink"));
    receiver.set_state(gst::State::Playing).expect("it listens");
    receiver.set_state(gst::State::Null).expect("it ends");
}

#[test]
fn a_sink_without_a_server_fails_with_a_reason() {
    init();
    let port = free_port();
    let sender = pipeline(&format!(
        "videotestsrc num-buffers=1 ! dccpsink encapsulate=true udp-port={port}"
    ));
    assert!(sender.set_state(gst::State::Playing).is_err());
    let bus = sender.bus().expect("a pipeline has one");
    let message = bus.pop_filtered(&[gst::MessageType::Error]).expect("an error");
    let gst::MessageView::Error(error) = message.view() else { panic!("{message:?}") };
    let reason = format!("{} {:?}", error.error(), error.debug());
    assert!(reason.contains("no program listens at UDP port"), "{reason}");
    sender.set_state(gst::State::Null).expect("it ends");
}

/// The first connection stays open and silent, as that of a program that crashed.
#[test]
fn a_source_takes_up_a_client_that_comes_back() {
    init();
    let port = free_port();
    let receiver = pipeline(&format!(
        "dccpsrc host=127.0.0.1 encapsulate=true udp-port={port} ! fakesink name=out sync=false"
    ));
    let buffers = counted(&receiver, "out");
    receiver.set_state(gst::State::Playing).expect("it listens");
    let server = Addressee::Server("127.0.0.1:17983".parse().expect("an address"));
    let request = Request { over: Over::Udp, udp_port: port, ..Request::new(server) };
    let connected = || {
        let client = blocking::Endpoint::new(Port::open(&request).expect("a socket"));
        let client = client.expect("it runs");
        let connection = client.connect().expect("a connection");
        connection.send(Bytes::from_static(b"data"), None).expect("it is open");
        (client, connection)
    };
    let first = connected();
    while buffers.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    let (_, next) = connected();
    next.close().expect("an end");
    end(&receiver);
    receiver.set_state(gst::State::Null).expect("it ends");
    assert_eq!(buffers.load(Ordering::Relaxed), 2);
    drop(first);
}
