//! Run directories are written and read back.

use super::table::Writer;
use super::*;
use fairwave_scenario::plan::Plan;
use fairwave_sim::world::World;
use fairwave_trace::{
    DropCause, DropSample, FlowId, FlowSample, NodeId, QueueId, QueueSample, Sample, Sink,
    StationSample,
};
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::tcp::{Flags, Header};
use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use tempfile::TempDir;

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Two stations, an access point and a server: radio queues ap, sta1, sta2, then the link's.
fn world() -> World {
    let text = r#"
        duration = "10 s"
        cell.standard = "802.11a"
        node = [
            { name = "ap", kind = "access-point", data_rate = "54 Mbps" },
            { name = "sta", kind = "station", data_rate = "54 Mbps", count = 2 },
            { name = "server", kind = "host" },
        ]
        link = [{ ends = ["ap", "server"] }]
        flow = [
            { name = "up", from = "sta*", to = "server" },
            { name = "down", from = "server", to = "sta1" },
        ]
    "#;
    let plan = Plan::parse("test", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    plan.points[0].scenario.to_world(1)
}

fn names() -> Names {
    Names::of(&world())
}

fn second(s: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(s)
}

fn flow(cwnd: u32, acks_sent: u64) -> FlowSample {
    FlowSample {
        delivered_bytes: 125_000 * acks_sent,
        cwnd,
        ssthresh: if acks_sent > 1 { 8760 } else { u32::MAX },
        acks_sent,
        rto: Duration::from_secs(1),
        ..FlowSample::default()
    }
}

fn ack_drop(queue: u32) -> Sample {
    let flags = Flags { ack: true, ..Flags::default() };
    Sample::Drop(DropSample {
        queue: QueueId(queue),
        cause: DropCause::QueueFull,
        flow: Some(FlowId(1)),
        datagram: Datagram {
            source: Ipv4Addr::LOCALHOST,
            destination: Ipv4Addr::LOCALHOST,
            id: 1,
            ttl: 64,
            tos: 0,
            transport: Transport::Tcp(Header { flags, ..Header::default() }),
            payload_len: 0,
        },
    })
}

/// Writes a small run into `path`.
fn record(path: &Path) {
    let meta = Meta::here(Seed(7), BTreeMap::from([("node.sta.count".into(), "2".into())]));
    let directory = RunDirectory::create(path, &meta, "title = \"\"\n").unwrap();
    let wanted = Wanted { series: true, drops: true, capture: false, ..Wanted::default() };
    let mut recorder = directory.recorder(&world(), &wanted).unwrap();
    for t in 1..=3 {
        recorder.record(second(t), &Sample::Flow(FlowId(0), flow(2920, t)));
        recorder.record(second(t), &Sample::Flow(FlowId(1), flow(1460, 2 * t)));
        let queue = QueueSample { packets: t as u32, ..QueueSample::default() };
        recorder.record(second(t), &Sample::Queue(QueueId(4), queue));
        recorder.record(second(t), &Sample::Station(NodeId(2), StationSample::default()));
    }
    recorder.record(second(2), &ack_drop(0));
    recorder.finish().unwrap();
}

#[test]
fn what_is_recorded_can_be_read_back() {
    let place = scratch();
    let path = place.path();
    record(path);
    let columns = ["t_ns", "flow", "goodput_bps", "ssthresh_bytes", "srtt_ns"];
    let flows = Series::read(path, FLOWS.file, &columns).unwrap();
    let points = flows.points(&[("flow", "up-sta1")], "goodput_bps", 1e-6).unwrap();
    assert_eq!(points, [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]);
    let unset: Vec<bool> =
        flows.integers("ssthresh_bytes").unwrap().iter().map(Option::is_none).collect();
    assert_eq!(unset, [true, false, false, false, false, false]);
    assert!(flows.integers("srtt_ns").unwrap().iter().all(Option::is_none));
    let queues = Series::read(path, QUEUES.file, &["t_ns", "queue", "length_packets"]).unwrap();
    let points = queues.points(&[("queue", "server>ap")], "length_packets", 1.0).unwrap();
    assert_eq!(points.last(), Some(&(3.0, 3.0)));
    let stations = Series::read(path, STATIONS.file, &["station"]).unwrap();
    assert_eq!(stations.texts("station").unwrap()[0].as_deref(), Some("sta2"));
    let drops = Series::read(path, DROPS.file, &["queue", "cause", "flow", "protocol"]).unwrap();
    let texts = ["queue", "cause", "flow", "protocol"]
        .map(|column| drops.texts(column).unwrap()[0].clone().unwrap().to_string());
    assert_eq!(texts, ["ap", "queue_full", "up-sta2", "tcp"]);
    assert_eq!(read_meta(path).unwrap().seed, Seed(7));
}

#[test]
fn the_same_samples_give_the_same_bytes() {
    let places = [scratch(), scratch()];
    let [a, b] = places.each_ref().map(TempDir::path);
    record(a);
    record(b);
    let mut files: Vec<_> = fs::read_dir(a).unwrap().map(|e| e.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files.len(), 10);
    for name in files {
        assert_eq!(fs::read(a.join(&name)).unwrap(), fs::read(b.join(&name)).unwrap(), "{name:?}");
    }
}

#[test]
fn an_unfinished_recording_leaves_no_file_under_a_final_name() {
    let place = scratch();
    let path = place.path();
    let meta = Meta::here(Seed(1), BTreeMap::new());
    let directory = RunDirectory::create(path, &meta, "").unwrap();
    let wanted = Wanted { series: true, drops: true, capture: false, ..Wanted::default() };
    let mut recorder = directory.recorder(&world(), &wanted).unwrap();
    recorder.record(second(1), &ack_drop(0));
    drop(recorder);
    let mut left: Vec<_> = fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["meta.json", "scenario.toml"]);
}

#[test]
fn a_second_run_leaves_nothing_of_the_first() {
    let place = scratch();
    let path = place.path();
    record(path);
    RunDirectory::create(path, &Meta::here(Seed(1), BTreeMap::new()), "").unwrap();
    assert!(!path.join(DROPS.file).exists() && !path.join(FLOWS.file).exists());
}

#[test]
fn errors_name_the_path() {
    let place = scratch();
    let path = place.path();
    let missing = Series::read(path, FLOWS.file, &["t_ns"]).unwrap_err().to_string();
    assert!(missing.contains("flows.parquet"), "{missing}");
    let file = path.join("plain");
    fs::write(&file, "").unwrap();
    let refused = RunDirectory::create(&file, &Meta::here(Seed(1), BTreeMap::new()), "");
    assert!(refused.unwrap_err().to_string().contains("plain"));
    record(path);
    let unknown = Series::read(path, FLOWS.file, &["speed"]).unwrap_err().to_string();
    assert!(unknown.contains("speed"), "{unknown}");
}

#[test]
fn many_rows_take_many_row_groups() {
    let place = scratch();
    let path = place.path();
    let mut writer = Writer::create(&QUEUES, path).unwrap();
    for t in 0..40_000 {
        let sample = QueueSample { packets: t as u32, ..QueueSample::default() };
        writer.push(QueueRow { at: second(t), queue: "ap".into(), sample }).unwrap();
    }
    writer.finish().unwrap();
    let read = Series::read(path, QUEUES.file, &["t_ns", "queue", "length_packets"]).unwrap();
    let lengths = read.integers("length_packets").unwrap();
    assert_eq!(lengths.len(), 40_000);
    assert!(lengths.iter().enumerate().all(|(i, length)| *length == Some(i as i64)));
}

#[test]
fn pieces_of_a_table_hold_all_of_its_chunks() {
    let place = scratch();
    let path = place.path();
    let mut writer = Writer::create(&QUEUES, path).unwrap();
    for t in 0..2_000 {
        let sample = QueueSample { packets: t as u32, ..QueueSample::default() };
        writer.push(QueueRow { at: second(t), queue: "ap".into(), sample }).unwrap();
    }
    writer.finish().unwrap();
    let file = fs::read(path.join(QUEUES.file)).unwrap();
    let pieces = Pieces::of(&file, path).unwrap();
    let names: Vec<&str> = pieces.columns.iter().map(|piece| piece.name.as_str()).collect();
    assert_eq!(names[..3], ["t_ns", "queue", "length_packets"]);
    let texts = pieces.columns.iter().filter(|piece| piece.is_text).count();
    assert_eq!(texts, 1);
    // The file has one row group, whose columns follow one another.
    let all = pieces.columns.iter().map(|piece| &piece.bytes[..]);
    assert!(
        file.starts_with(&std::iter::once(&b"PAR1"[..]).chain(all).collect::<Vec<_>>().concat())
    );
    assert!(file.ends_with(pieces.footer) && pieces.footer.ends_with(b"PAR1"));
    for cut in [0, 7, file.len() - 1] {
        assert!(Pieces::of(&file[..cut], path).is_err(), "{cut} bytes");
    }
}

#[test]
fn the_longest_collapse_counts_its_own_acks_only() {
    let mut stretches = Stretches::new(&names());
    let windows = [4380, 1460, 2920, 1460, 4380, 1460];
    for (t, cwnd) in windows.into_iter().enumerate() {
        if t == 2 {
            stretches.record(second(2), &ack_drop(0));
            stretches.record(second(2), &ack_drop(4));
        }
        stretches.record(second(t as u64), &Sample::Flow(FlowId(1), flow(cwnd, 10 * t as u64)));
    }
    let longest = stretches.longest(1);
    assert_eq!((longest.start_ns, longest.length_ns), (1_000_000_000, 2_000_000_000));
    assert_eq!((longest.acks_sent, longest.acks_dropped_at_ap), (20, 1));
    assert_eq!(stretches.longest(0), Stretch::default());
}

/// A long collapse whose ACKs arrive does not hide a shorter one whose ACKs are dropped, whether
/// this ends before the run or not.
#[test]
fn the_longest_collapse_by_ack_loss_is_found_beside_a_longer_one() {
    for ends in [true, false] {
        let mut stretches = Stretches::new(&names());
        let is_collapsed = |t: u64| (1..=13).contains(&t) || (20..=31).contains(&t);
        for t in 0..=if ends { 33 } else { 31 } {
            if t == 25 {
                (0..20).for_each(|_| stretches.record(second(t), &ack_drop(0)));
            }
            let (cwnd, acks) = (if is_collapsed(t) { 1460 } else { 14_600 }, 2 * t);
            stretches.record(second(t), &Sample::Flow(FlowId(1), flow(cwnd, acks)));
        }
        assert_eq!(stretches.longest(1).length_ns, 12_000_000_000);
        let starved = stretches.longest_by_ack_loss(1).unwrap();
        assert_eq!((starved.start_ns, starved.length_ns), (20_000_000_000, 11_000_000_000));
        assert_eq!((starved.acks_sent, starved.acks_dropped_at_ap), (22, 20));
        assert_eq!(stretches.longest_by_ack_loss(0), None);
    }
}

#[test]
fn columns_are_documented_and_unique() {
    for text in [
        FLOWS.to_markdown(),
        QUEUES.to_markdown(),
        STATIONS.to_markdown(),
        PAIRS.to_markdown(),
        DELAYS.to_markdown(),
        DELAY_BINS.to_markdown(),
        ASSOCIATIONS.to_markdown(),
        SOC.to_markdown(),
        DROPS.to_markdown(),
    ] {
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
        let mut unique = rows.clone();
        unique.dedup_by_key(|row| row.split('`').nth(1));
        assert_eq!(rows.len(), unique.len());
        assert!(rows.iter().all(|row| row.ends_with(". |")), "{text}");
    }
}

/// What a column means is in the file itself, for readers who have nothing else.
#[test]
fn a_parquet_file_says_what_its_columns_are() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let place = scratch();
    let directory = place.path();
    Writer::create(&QUEUES, directory).unwrap().finish().unwrap();
    let file = fs::File::open(directory.join("queues.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let value = |key: &str| {
        let entry = metadata.iter().find(|entry| entry.key == key);
        entry.and_then(|entry| entry.value.clone())
    };
    assert_eq!(value("t_ns.unit").as_deref(), Some("nanoseconds"));
    assert_eq!(value("t_ns.description").as_deref(), Some("Virtual time in nanoseconds."));
    for column in QUEUES.columns {
        assert!(value(&format!("{}.description", column.name)).is_some(), "{}", column.name);
    }
}
