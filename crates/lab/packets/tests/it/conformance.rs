//! Every script of `crates/protocols/tcp/tests` against our endpoint in virtual time.

use fairwave_packets::{Script, simulate};
use std::fs;
use std::path::{Path, PathBuf};

/// All failures are told, not only the first.
#[test]
fn every_packet_script_is_followed() {
    // Those of `virtual` are decided by microseconds, which a real clock does not keep.
    let directories =
        ["../../protocols/tcp/tests/conformance", "../../protocols/tcp/tests/virtual"];
    let inside = |directory| {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
        fs::read_dir(directory).expect("the scripts are there")
    };
    let entries = directories.into_iter().flat_map(inside);
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    let reported = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("a script is text");
        let name = path.file_name().expect("a file has a name").to_string_lossy();
        Script::read(&name, &text).and_then(|script| simulate(&script)).err()
    };
    let failures: Vec<String> = paths.iter().filter_map(reported).collect();
    assert!(paths.len() >= 90, "only {} scripts", paths.len());
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

fn played(text: &str) -> Result<(), String> {
    Script::read("x.pkt", text).and_then(|script| simulate(&script))
}

/// A script that is wrong says where: each of these differs from a right one in one thing.
#[test]
fn a_wrong_script_names_its_line() {
    let wrong = |line: &str| {
        let text = format!("# RFC 1 section 1: test\n0 establish\n100 write 1000\n{line}\n");
        played(&text).expect_err(line)
    };
    assert!(played("0 establish\n").is_err_and(|e| e.starts_with("x.pkt:1: ")));
    let cases = [
        ("+0 > . 1:501(500) ack 1", "x.pkt:4: another length left: > P. 1:1001(1000) ack 1"),
        ("+0 > . 2:1002(1000) ack 1", "x.pkt:4: another sequence number"),
        ("+0 > F. 1:1001(1000) ack 1", "x.pkt:4: another kind"),
        ("+0 > . 1:1001(1000) ack 2", "x.pkt:4: another acknowledgement"),
        ("+0 > . 1:1001(1000) ack 1 win 3", "x.pkt:4: another window"),
        ("+0 > . 1:1001(1000) ack 1 <sack 1:2>", "x.pkt:4: another set of options"),
        ("+0 > . 1:2001(2x1000) ack 1", "x.pkt:4: segment 2 of 2 did not leave"),
        ("+0 > . 1:1002(1000) ack 1", "x.pkt:4: 1 and 1 x 1000 bytes end at 1001"),
        ("+1 > . 1:1001(1000) ack 1", "x.pkt:4: left at"),
        ("+0 expect cwnd=1", "x.pkt:4: left at"),
        ("50 close", "x.pkt:4: it is"),
        ("+0 fly", "x.pkt:4: \"fly\" is no verb"),
        ("config sack", "x.pkt:4: config comes first"),
        ("kernel differs", "x.pkt:4: a remark on the kernel gives its reason"),
        ("kernel sleeps well", "x.pkt:4: \"sleeps\" says nothing of the kernel"),
        ("", "x.pkt:3: left at"),
    ];
    for (line, what) in cases {
        let error = wrong(line);
        assert!(error.starts_with(what), "{line}: {error}");
    }
}

/// The prologue of scripts is the handshake, written out.
#[test]
fn established_is_an_open_answered_after_100_ms() {
    let rest = "+0 write 9000\n+0 > . 1:9001(9x1000) ack 1\n+0 expect srtt=100 cwnd=10000\n";
    let short =
        format!("# RFC 1 section 1: test\n0 establish\n100 expect state=ESTABLISHED\n{rest}");
    assert_eq!(played(&short), Ok(()));
    let long = format!(
        "# RFC 1 section 1: test\n0 open\n+0 > S 0 <mss 1000>\n100 < S. 0 ack 1 <mss 1000>\n\
         +0 > . 1 ack 1\n{rest}"
    );
    assert_eq!(played(&long), Ok(()));
}
