//! Openings and frames of fairness runs: any parsed one can be written. Frames of an owner of the
//! key are read unchanged for any division into pieces, and no others are accepted.

#![no_main]

use fairwave_wire::fairness::{OPENING_LEN, Opener, Opening, Sealer, Way, verify};
use fairwave_wire::seal::{Key, TAG_LEN};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let key = Key::new(&[7; 16]).expect("long enough");
    assert!(verify(bytes, &key).is_err(), "a seal was guessed");
    if let Ok(opening) = Opening::read(bytes) {
        let written = opening.write(&key);
        let sealed = OPENING_LEN - TAG_LEN;
        assert_eq!((&written[..sealed], verify(&written, &key)), (&bytes[..sealed], Ok(())));
        assert_eq!(Opening::read(&written), Ok(opening));
    }
    let mut opener = Opener::new(key.clone(), Way::ToServer, 1_000);
    opener.push(bytes);
    assert!(!matches!(opener.open(), Ok(Some(_))), "a seal was guessed");
    let frame = Sealer::new(key.clone(), Way::ToServer).seal(bytes).expect("short enough");
    let piece = bytes.first().map_or(1, |byte| usize::from(*byte).max(1));
    let mut opener = Opener::new(key, Way::ToServer, bytes.len());
    frame.chunks(piece).for_each(|piece| opener.push(piece));
    assert_eq!(opener.open(), Ok(Some(bytes.to_vec())));
});
