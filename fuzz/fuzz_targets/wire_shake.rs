//! SHAKE messages: any parsed message is legal and, written again, parses to the same. Nothing
//! opens with a forged seal.

#![no_main]

use fairwave_wire::seal::{Key, TAG_LEN};
use fairwave_wire::shake;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(claim) = shake::parse(bytes) else { return };
    let key = Key::new(b"a key that the fuzzer cannot use").expect("it is long enough");
    assert!(claim.open(&key).is_err(), "a seal was guessed");
    let (header, payload) = claim.unchecked();
    let mut out = Vec::new();
    header.write(payload, &key, &mut out).expect("what parses can be written");
    assert_eq!(out[..out.len() - TAG_LEN], bytes[..bytes.len() - TAG_LEN]);
    let again = shake::parse(&out).expect("what is written is read");
    assert_eq!(again.open(&key), Ok((header, payload)));
});
