//! Test streams inside a session, for `fairwave shake diagnose`.
//!
//! A request of the tunnel for the name `source.fairwave.invalid` gets zeros, one for
//! `sink.fairwave.invalid` has its bytes discarded; the port is the time in seconds. Names of the
//! domain `invalid` have no owner (RFC 2606 section 2), so that they hide no target.

use fairwave_shake_host::Stream;
use fast_socks5::util::target_addr::TargetAddr;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Longest time of a test stream.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(60);
/// Time for the bytes that are in flight when a test is over.
const GRACE: Duration = Duration::from_secs(10);
/// Bytes that are written or read at once.
const PIECE: usize = 1 << 16;

/// Direction of a test's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// From the server.
    Source,
    /// To the server.
    Sink,
}

impl Test {
    const ALL: [Self; 2] = [Self::Source, Self::Sink];

    fn name(self) -> &'static str {
        match self {
            Self::Source => "source.fairwave.invalid",
            Self::Sink => "sink.fairwave.invalid",
        }
    }

    /// The target that requests it for so many seconds.
    pub(crate) fn target(self, seconds: u16) -> TargetAddr {
        TargetAddr::Domain(self.name().to_owned(), seconds)
    }

    /// The test that a target requests, and its time.
    pub(crate) fn of(target: &TargetAddr) -> Option<(Self, Duration)> {
        let TargetAddr::Domain(name, seconds) = target else { return None };
        let test = Self::ALL.into_iter().find(|test| test.name() == name)?;
        Some((test, Duration::from_secs((*seconds).into()).min(MAX_TIME)))
    }
}

/// The server's end of a test.
///
/// # Errors
/// If the stream fails.
pub(crate) async fn serve(mut stream: Stream, test: Test, time: Duration) -> io::Result<()> {
    match test {
        Test::Source => write(&mut stream, time).await,
        Test::Sink => {
            let mut buffer = vec![0; PIECE];
            let read = async {
                while stream.read(&mut buffer).await? > 0 {}
                stream.shutdown().await
            };
            timeout(time + GRACE, read).await?
        }
    }
}

/// Writes zeros for this time.
///
/// # Errors
/// If the stream fails.
pub(crate) async fn write(stream: &mut Stream, time: Duration) -> io::Result<()> {
    let zeros = vec![0; PIECE];
    let write = async {
        loop {
            stream.write_all(&zeros).await?;
        }
    };
    // The time ends the loop, which else only an error does.
    match timeout(time, write).await {
        Ok(failed) => failed,
        Err(_) => stream.shutdown().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_a_test_and_its_time() {
        for test in Test::ALL {
            assert_eq!(Test::of(&test.target(4)), Some((test, Duration::from_secs(4))));
            assert_eq!(Test::of(&test.target(u16::MAX)), Some((test, MAX_TIME)));
        }
        assert_eq!(Test::of(&TargetAddr::Domain("example.org".to_owned(), 80)), None);
        assert_eq!(Test::of(&TargetAddr::Ip(([192, 0, 2, 1], 80).into())), None);
    }
}
