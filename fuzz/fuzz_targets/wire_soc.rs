//! SoC reports and greetings, alone and in datagrams, the answers to them, and messages of pairing:
//! any parsed one is legal and, written again, parses to the same. Nothing opens with a forged tag.

#![no_main]

use fairwave_wire::seal::Key;
use fairwave_wire::soc::pair::Message;
use fairwave_wire::soc::routed::{self, Reply};
use fairwave_wire::soc::{self, Answer, Greeting, Plain};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(plain) = Plain::parse(bytes) {
        assert!(bytes.starts_with(&plain.written(Plain::next(bytes))));
    }
    let key = Key::new(b"a key that the fuzzer cannot use").expect("it is long enough");
    assert!(Answer::open(bytes, &key).is_err() && Reply::open(bytes, &key).is_err());
    assert!(Greeting::open(bytes, &key).is_err());
    if let Ok(greeting) = Greeting::unchecked(bytes) {
        assert!(Greeting::is_meant(bytes));
        assert_eq!(Greeting::open(&greeting.seal(&key), &key), Ok(greeting));
    }
    if let Ok(message) = Message::parse(bytes) {
        let written = message.bytes();
        assert!(Message::is_meant(bytes) && bytes.starts_with(&written));
    }
    if let Ok((report, token)) = routed::split(bytes) {
        assert_eq!(routed::datagram(&report, token), bytes[..routed::DATAGRAM_LEN]);
    }
    let Ok((claim, rest)) = soc::parse(bytes) else { return };
    assert!(bytes.ends_with(rest) && bytes.len() == soc::LEN + rest.len());
    let report = claim.unchecked();
    let sealed = report.seal(&key);
    assert_eq!(sealed[..48], bytes[..48]);
    let (again, _) = soc::parse(&sealed).expect("what is written is read");
    assert_eq!(again.open(&key), Ok(report));
});
