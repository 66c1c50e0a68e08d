//! Happy eyeballs (RFC 8305): connection attempts to several addresses of a server, of which the
//! first that succeeds is used.

use crate::request::Denied;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Time after which the next address is tried while the attempt before it still lasts: the
/// Connection Attempt Delay of RFC 8305 section 5, with its recommended value.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Maximum number of a server's addresses that are tried.
const MAX_ADDRESSES: usize = 8;

/// Returns the addresses in the order of their attempts (RFC 8305 section 4): the families take
/// turns, beginning with that of the first address. Within a family the order remains.
///
/// The maximum number applies after this order. Otherwise a server with many IPv6 addresses would
/// never be tried at its IPv4 addresses.
pub(crate) fn in_turn(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut ordered = Vec::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            ordered.truncate(MAX_ADDRESSES);
            return ordered;
        }
        ordered.extend(pair.into_iter().flatten());
    }
}

/// Returns the result of the first attempt that succeeds, and ends the others. Each attempt may
/// last for `limit`.
///
/// # Errors
///
/// If all attempts fail: the greatest of their reasons.
pub(crate) async fn first_to_succeed<T, F>(
    addresses: Vec<SocketAddr>,
    limit: Duration,
    mut attempt: impl FnMut(SocketAddr) -> F,
) -> Result<T, Denied>
where
    T: 'static,
    F: Future<Output = io::Result<T>> + 'static,
{
    let mut waiting = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut failed = Denied::NoAddress;
    loop {
        if let Some(address) = waiting.next() {
            attempts.spawn_local(timeout(limit, attempt(address)));
        }
        let ended = if waiting.len() == 0 {
            attempts.join_next().await
        } else {
            match timeout(ATTEMPT_DELAY, attempts.join_next()).await {
                Ok(ended) => ended,
                Err(_) => continue,
            }
        };
        match ended {
            None => return Err(failed),
            Some(Ok(Ok(Ok(connected)))) => return Ok(connected),
            Some(Ok(Ok(Err(error)))) => failed = failed.max(Denied::of(&error)),
            Some(Ok(Err(_))) => failed = failed.max(Denied::Silent),
            Some(Err(_)) => failed = failed.max(Denied::Failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::LocalSet;
    use tokio::time::{Instant, sleep};

    const LIMIT: Duration = Duration::from_secs(30);

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    /// Result of attempts in virtual time, and the time when it is known. Each address has a time
    /// until its answer, and the answer.
    fn raced(
        answers: &[(&str, Duration, Result<(), io::ErrorKind>)],
    ) -> (Result<SocketAddr, Denied>, Duration) {
        let addresses = answers.iter().map(|(address, ..)| at(address)).collect();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            let began = Instant::now();
            let attempt = |address| {
                let (_, lasts, answer) =
                    *answers.iter().find(|(text, ..)| at(text) == address).expect("it is listed");
                async move {
                    sleep(lasts).await;
                    answer.map(|()| address).map_err(io::Error::from)
                }
            };
            let result = first_to_succeed(addresses, LIMIT, attempt).await;
            (result, began.elapsed())
        })
    }

    #[test]
    fn families_take_turns_before_addresses_are_cut() {
        let six: Vec<_> = (1..=9).map(|n| at(&format!("[2001:db8::{n}]:80"))).collect();
        let four = [at("192.0.2.1:80"), at("192.0.2.2:80")];
        let ordered = in_turn([&six[..], &four[..]].concat());
        assert_eq!(ordered[..5], [six[0], four[0], six[1], four[1], six[2]]);
        assert_eq!(ordered.len(), MAX_ADDRESSES);
        assert_eq!(in_turn(vec![four[0], six[0], four[1]]), [four[0], six[0], four[1]]);
        assert_eq!(in_turn(Vec::new()), []);
    }

    #[test]
    fn a_black_hole_costs_one_delay() {
        let forever = Duration::from_secs(1_000);
        let answers = [
            ("[2001:db8::1]:80", forever, Ok(())),
            ("192.0.2.1:80", Duration::from_millis(40), Ok(())),
        ];
        let (result, lasted) = raced(&answers);
        assert_eq!(result, Ok(at("192.0.2.1:80")));
        assert_eq!(lasted.as_millis(), 290);
    }

    #[test]
    fn a_failure_starts_the_next_attempt_at_once() {
        let soon = Duration::from_millis(3);
        let answers = [
            ("[2001:db8::1]:80", soon, Err(io::ErrorKind::NetworkUnreachable)),
            ("192.0.2.1:80", soon, Ok(())),
        ];
        assert_eq!(raced(&answers), (Ok(at("192.0.2.1:80")), 2 * soon));
    }

    #[test]
    fn a_slow_server_is_not_dropped_when_the_next_address_is_tried() {
        let answers = [
            ("[2001:db8::1]:80", Duration::from_millis(400), Ok(())),
            ("192.0.2.1:80", Duration::from_millis(400), Ok(())),
        ];
        assert_eq!(raced(&answers), (Ok(at("[2001:db8::1]:80")), Duration::from_millis(400)));
    }

    #[test]
    fn each_address_has_its_own_limit_and_the_best_reason_is_reported() {
        let forever = Duration::from_secs(1_000);
        let answers = [("192.0.2.1:80", forever, Ok(())), ("192.0.2.2:80", forever, Ok(()))];
        assert_eq!(raced(&answers), (Err(Denied::Silent), LIMIT + ATTEMPT_DELAY));
        let answers = [
            ("192.0.2.1:80", Duration::ZERO, Err(io::ErrorKind::ConnectionRefused)),
            ("[2001:db8::1]:80", Duration::ZERO, Err(io::ErrorKind::NetworkUnreachable)),
        ];
        assert_eq!(raced(&answers).0, Err(Denied::Refused));
        assert_eq!(raced(&[]).0, Err(Denied::NoAddress));
    }
}
