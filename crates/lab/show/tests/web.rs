//! Tests of the page's modules that need no browser, by `node --test`.

use fairwave_capture::trace::{Request, Selection};
use fairwave_lab::results::column::{integer, nullable_integer, text};
use fairwave_lab::results::{Cell, Table, TableWriter};
use fairwave_units::{Instant, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::pcapng::{Interface, LinkType, Section, Writer};
use fairwave_wire::tcp::{Flags, Header};
use serde_json::json;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

/// A row of the table that JavaScript reads.
#[derive(Clone)]
struct Row {
    number: i64,
    name: Option<&'static str>,
    maybe: Option<i64>,
    at: i64,
}

const TABLE: Table<Row> = Table {
    file: "sample.parquet",
    doc: "Values of many sizes.",
    columns: &[
        integer("value", "A number.", &|row: &Row| Cell::Integer(row.number)),
        nullable_integer("maybe_ns", "A number, or none.", &|row: &Row| {
            row.maybe.map_or(Cell::Null, Cell::Integer)
        }),
        integer("at_unix_ns", "A time.", &|row: &Row| Cell::Integer(row.at)),
        fairwave_lab::results::column::or_null(&text("name", "A name.", &|row: &Row| {
            row.name.map_or(Cell::Null, |name| Cell::Text(name.into()))
        })),
    ],
};

/// Rows over several row groups and pages: differences of any width up to 2^52, of both signs.
fn rows() -> Vec<Row> {
    const NAMES: [Option<&str>; 4] = [Some("up"), None, Some("down"), Some("ü>*")];
    let size = |i: i64| 1_i64 << (i / 7 % 52);
    let row = |i: i64| Row {
        number: if i % 3 == 0 { -size(i) } else { size(i) + i },
        name: NAMES[usize::try_from(i * i % 4).expect("a small number")],
        maybe: (i % 5 != 2 && !(40_000..50_000).contains(&i)).then_some(i * 1_000_003),
        at: 1_700_000_000_000_000_001 + 3 * i,
    };
    (0..150_000).map(row).collect()
}

/// Writes the page's content and the tables of a capture into a directory: a DNS query at 0 s, and
/// a segment in each second from 10 to 20 s. The query's interval ends with the capture.
fn capture(directory: &Path) {
    let mut writer = Writer::new(Vec::new(), &Section::default()).expect("a capture");
    let interface = Interface { link_type: LinkType::RawIp, name: None, snap_len: None };
    let id = writer.add_interface(&interface).expect("an interface");
    let query = Transport::Udp { source_port: 40_000, destination_port: 53 };
    let segment = |second: u32| {
        let flags = Flags { ack: true, ..Flags::default() };
        let ports = Header { source_port: 40_001, destination_port: 80, ..Header::default() };
        Transport::Tcp(Header { seq: Seq32(second * 100), flags, ..ports })
    };
    let packets = (10..=20).map(|second| (second, segment(second)));
    for (second, transport) in std::iter::once((0, query)).chain(packets) {
        let [source, destination] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
        let payload_len = 100;
        let datagram =
            Datagram { source, destination, id: 0, ttl: 64, tos: 0, transport, payload_len };
        let mut bytes = Vec::new();
        datagram.write(&mut bytes).expect("a packet");
        let at = Instant::from_nanos((1_700_000_000 + u64::from(second)) * 1_000_000_000 + 1);
        writer.write_packet(id, at, &bytes, None).expect("a packet");
    }
    let file = directory.join("capture.pcapng");
    std::fs::write(&file, writer.into_inner()).expect("a file is written");
    let page = fairwave_show::of(&file).expect("a page").data().expect("its data");
    let content = page["content"].to_string();
    std::fs::write(directory.join("content.json"), content).expect("a file is written");
    let (selection, explorer) = (Selection::default(), fairwave_show::explorer());
    let out = Some(directory);
    let request = Request { file: &file, selection: &selection, interval: None, out, explorer };
    request.analyse(&mut |_| ()).expect("tables");
}

#[test]
fn modules_of_the_page_pass_their_tests() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    assert!(
        web.join("node_modules/hyparquet").exists(),
        "`cargo xtask test` installs what the tests need; by hand: npm ci --prefix {}",
        web.display()
    );
    let place = tempfile::tempdir().expect("a temporary directory");
    let rows = rows();
    let mut writer =
        TableWriter::at(&TABLE, place.path().join(TABLE.file)).expect("a file is created");
    for row in &rows {
        writer.push(row.clone()).expect("a row is written");
    }
    writer.finish().expect("the file is complete");
    let values = json!({
        "numbers": rows.iter().map(|row| row.number).collect::<Vec<_>>(),
        "names": rows.iter().map(|row| row.name).collect::<Vec<_>>(),
        "maybe": rows.iter().map(|row| row.maybe).collect::<Vec<_>>(),
    });
    let expected = place.path().join("values.json");
    std::fs::write(&expected, values.to_string()).expect("a file is written");
    capture(place.path());
    let listed = std::fs::read_dir(web.join("tests")).expect("tests");
    let files = listed.map(|entry| entry.expect("an entry").path());
    let files = files.filter(|file| file.to_string_lossy().ends_with(".test.js"));
    let output = Command::new("node")
        .arg("--test")
        .args(files)
        .current_dir(&web)
        .env("TABLE", place.path().join(TABLE.file))
        .env("VALUES", &expected)
        .env("CAPTURE", place.path())
        .output()
        .expect("node starts; `cargo xtask test` installs it");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}");
    assert!(out.contains("# skipped 0") || out.contains("skipped 0"), "{out}");
}
