//! Ends of hosts and of streams.

use crate::common::{client, psk, run, server, streams};
use fairwave_shake_host::{Config, Udp};
use std::io::ErrorKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::yield_now;

#[test]
fn a_dropped_host_ends_its_sessions_and_frees_its_port() {
    run(async {
        let server = server(Config::new(psk()));
        let at = server.address().expect("a server's");
        let client = client(Config::new(psk()), &[at]);
        let (mut here, mut there) = streams(&client, &server).await;
        drop(server);
        here.read(&mut [0]).await.expect_err("the peer is gone");
        there.read(&mut [0]).await.expect_err("its host is gone");
        while Udp::bind(at).is_err() {
            yield_now().await;
        }
    });
}

#[test]
fn a_stream_takes_no_bytes_after_its_end() {
    run(async {
        let server = server(Config::new(psk()));
        let at = server.address().expect("a server's");
        let client = client(Config::new(psk()), &[at]);
        let (mut here, _there) = streams(&client, &server).await;
        here.shutdown().await.expect("an open stream");
        let error = here.write(b"!").await.expect_err("its half is over");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

/// The next stream has the place of the one before: there is room for one.
#[test]
fn a_monitor_shows_no_stream_but_its_own() {
    run(async {
        let config = Config { max_streams: 1, ..Config::new(psk()) };
        let server = server(config.clone());
        let client = client(config, &[server.address().expect("a server's")]);
        let (mut here, mut there) = streams(&client, &server).await;
        let monitor = here.monitor();
        assert!(monitor.report().is_some());
        here.shutdown().await.expect("an open stream");
        there.shutdown().await.expect("an open stream");
        for stream in [&mut here, &mut there] {
            assert_eq!(stream.read(&mut [0]).await.expect("an open stream"), 0);
        }
        drop((here, there));
        let session = client.session().expect("an open session");
        let next = loop {
            match session.open() {
                Ok(stream) => break stream,
                Err(_) => yield_now().await,
            }
        };
        assert!(next.monitor().report().is_some());
        assert!(monitor.report().is_none());
    });
}
