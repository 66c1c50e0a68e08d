//! Requests that are answered: those of the page itself, by its token, its host and its origin.

use hyper::header::{HOST, HeaderMap, ORIGIN};
use std::fmt::Write;
use std::net::SocketAddr;
use subtle::ConstantTimeEq;

/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;

/// The server's address, and the token in it.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    port: u16,
    token: String,
}

impl Guard {
    /// A new token for a server at this address.
    pub(crate) fn new(at: SocketAddr) -> std::io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        fairwave_linux::random::fill(&mut bytes)?;
        let mut token = String::new();
        for byte in bytes {
            let _ = write!(token, "{byte:02x}");
        }
        Ok(Self { port: at.port(), token })
    }

    /// The address of the page.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// The path behind the token, if the request may be answered.
    ///
    /// `Host` has to be this server, so that a foreign name that resolves to the loopback address
    /// is refused. `Origin`, which a browser sends with requests of scripts, has to be this page's.
    pub(crate) fn admit<'a>(&self, path: &'a str, headers: &HeaderMap) -> Option<&'a str> {
        let names = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let host = only(headers, HOST).flatten()?;
        if !names.iter().any(|name| name == host) {
            return None;
        }
        let origin = only(headers, ORIGIN)?;
        if origin.is_some_and(|origin| origin != format!("http://{host}")) {
            return None;
        }
        let (token, rest) = path.strip_prefix('/')?.split_once('/')?;
        bool::from(token.as_bytes().ct_eq(self.token.as_bytes())).then_some(rest)
    }
}

/// The value of a header; `None` if it is there twice or is no text.
fn only(headers: &HeaderMap, name: hyper::header::HeaderName) -> Option<Option<&str>> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Some(None),
        (Some(value), None) => value.to_str().ok().map(Some),
        (Some(_), Some(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn admits(token: &str, headers: &[(hyper::header::HeaderName, &'static str)]) -> bool {
        let guard = Guard { port: 80, token: "secret".to_owned() };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_static(value));
        }
        guard.admit(&format!("/{token}/plan"), &map) == Some("plan")
    }

    #[test]
    fn only_the_page_of_this_server_is_admitted() {
        let host = (HOST, "127.0.0.1:80");
        assert!(admits("secret", std::slice::from_ref(&host)));
        assert!(admits("secret", &[(HOST, "localhost:80"), (ORIGIN, "http://localhost:80")]));
        for token in ["", "secre", "secrets", "SECRET"] {
            assert!(!admits(token, std::slice::from_ref(&host)), "{token}");
        }
        assert!(!admits("secret", &[]));
        assert!(!admits("secret", &[(HOST, "evil.example:80")]));
        assert!(!admits("secret", &[host.clone(), (HOST, "127.0.0.1:80")]));
        for origin in ["null", "http://evil.example", "http://127.0.0.1:81", "http://localhost:80"]
        {
            assert!(!admits("secret", &[host.clone(), (ORIGIN, origin)]), "{origin}");
        }
    }

    #[test]
    fn tokens_differ() {
        let at = SocketAddr::from(([127, 0, 0, 1], 80));
        let [a, b] = [0, 1].map(|_| Guard::new(at).expect("random bytes").address());
        assert_ne!(a, b);
        assert_eq!(a.len(), "http://127.0.0.1:80//".len() + 2 * TOKEN_BYTES);
    }
}
