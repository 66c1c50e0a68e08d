//! Probe messages: any opened message can be written and then opens to the same value.
//!
//! A fuzzer cannot guess seals. The bytes are therefore tried as they are, and then with the seal
//! that an owner of the key would set.

#![no_main]

use fairwave_wire::probe;
use fairwave_wire::seal::Key;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let key = Key::new(&[7; 16]).expect("long enough");
    assert!(probe::open(bytes, &key).is_err(), "a seal was guessed");
    let mut bytes = bytes.to_vec();
    let tag = key.tag("fairwave probe 1", &[&bytes]);
    bytes.extend(tag.0);
    let Ok((session, message)) = probe::open(&bytes, &key) else { return };
    let mut out = Vec::new();
    message.write(session, &key, 0, &mut out).expect("what opens can be written");
    assert_eq!(probe::open(&out, &key), Ok((session, message)));
});
