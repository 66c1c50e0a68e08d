//! What we write is what Wireshark reads: every kind of frame, dissected by tshark.

use fairwave_units::{BitRate, Instant, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::dot11::{
    self, AckPolicy, Amsdu, AssociationId, AssociationRequest, AssociationResponse, Beacon, Bitmap,
    BlockAck, BlockAckReq, Data, Direction, Elements, Frame, Management, Qos, Rate, Sequence, Ssid,
    Subframe, Tid,
};
use fairwave_wire::ethernet::{self, EtherType, Mac};
use fairwave_wire::pcapng::{Interface, InterfaceId, LinkType, Section, Writer};
use fairwave_wire::radiotap::{self, AmpduStatus, Channel, Flags, He, Header, Mcs, Vht};
use fairwave_wire::tcp::{self, Options, SackBlocks, Timestamps};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const AP: Mac = Mac([0x02, 0, 0, 0, 0, 0xa0]);
const STATION: Mac = Mac([0x02, 0, 0, 0, 0, 0x01]);
const SERVER: Mac = Mac([0x02, 0, 0, 0, 0, 0x99]);

/// Severity of a warning in `_ws.expert.severity` (Wireshark's `epan/proto.h`).
const EXPERT_WARNING: u32 = 0x0060_0000;

#[test]
fn tshark_finds_no_fault_in_any_frame() {
    let path = written("no-fault", &whole_capture());
    let requested =
        ["_ws.malformed", "_ws.unreassembled", "_ws.expert.severity", "_ws.expert.message"];
    let rows = dissected(&path, &requested);
    assert_eq!(rows.len(), CAPTURED.len());
    for (row, name) in rows.iter().zip(CAPTURED) {
        assert!(row[0].is_empty() && row[1].is_empty(), "tshark on {name}: {row:?}");
        // A chat or note tells of a SYN or a retry bit; from a warning on it is our fault.
        let severities = row[2].split(',').filter(|severity| !severity.is_empty());
        let worst = severities.map(|text| text.parse::<u32>().expect("a number")).max();
        assert!(worst.unwrap_or(0) < EXPERT_WARNING, "tshark on {name}: {row:?}");
    }
}

#[test]
fn tshark_finds_every_checksum_good() {
    const GOOD: &str = "1";
    let path = written("checksums", &whole_capture());
    let fields = ["wlan.fcs.status", "ip.checksum.status", "tcp.checksum.status"];
    let rows =
        dissected(&path, &[&fields[..], &["udp.checksum.status", "_ws.col.protocol"]].concat());
    for (row, name) in rows.iter().zip(CAPTURED) {
        // An A-MSDU has two datagrams, so two verdicts on IPv4.
        let row = row.iter().map(|cell| cell.replace("1,1", "1")).collect::<Vec<_>>();
        let radio = !name.starts_with("ethernet") && !name.starts_with("raw");
        assert_eq!(row[0] == GOOD, radio, "check sequence of {name}: {row:?}");
        let is_amsdu = name == "amsdu";
        let is_tcp = name.contains("tcp") || is_amsdu;
        let is_udp = name.contains("udp") || name.contains("qos") || is_amsdu;
        assert_eq!(row[1] == GOOD, is_tcp || is_udp, "IPv4 checksum of {name}: {row:?}");
        assert_eq!(row[2] == GOOD, is_tcp, "TCP checksum of {name}: {row:?}");
        assert_eq!(row[3] == GOOD, is_udp, "UDP checksum of {name}: {row:?}");
        assert!(row.iter().all(|cell| cell != "0"), "a bad checksum in {name}: {row:?}");
    }
}

#[test]
fn tshark_finds_a_damaged_checksum_bad() {
    let mut capture = Capture::new();
    let mut frame = Vec::new();
    dot11::data_frame(&data(Direction::ToAp), &segment().into(), &mut frame).unwrap();
    let payload = frame.len() - 10;
    frame[payload] ^= 1;
    capture.radio_bytes(&frame);
    let path = written("damaged", &capture.writer.into_inner());
    let rows = dissected(&path, &["wlan.fcs.status", "tcp.checksum.status"]);
    assert_eq!(rows[0], ["0", "0"], "tshark should complain of both");
}

#[test]
fn tshark_reads_the_fields_as_written() {
    let path = written("fields", &whole_capture());
    let mut fields = FIELDS.map(|(_, field, _)| field).to_vec();
    fields.sort_unstable();
    fields.dedup();
    let rows = dissected(&path, &fields);
    for (name, field, value) in FIELDS {
        let row = CAPTURED.iter().position(|&captured| captured == name).expect("a captured name");
        let column =
            fields.iter().position(|&requested| requested == field).expect("an asked field");
        // Wireshark 4.0 prints a flag as 1, later versions as True.
        let found = rows[row][column].replace("True", "1");
        assert_eq!(found, value, "{field} of {name}");
    }
}

/// Name in [`CAPTURED`], field, and value as tshark prints it.
const FIELDS: [(&str, &str, &str); 89] = [
    ("block ack req", "wlan.fc.type_subtype", "0x0018"),
    ("block ack req", "wlan.ba.basic.tidinfo", "0x0005"),
    ("block ack req", "wlan.fixed.ssc.sequence", "4095"),
    ("ht qos", "wlan.fc.type_subtype", "0x0028"),
    ("ht qos", "wlan.qos.tid", "6"),
    ("ht qos", "wlan.qos.ack", "0x0000"),
    ("ht qos", "wlan.qos.amsdupresent", "0"),
    ("ht qos", "radiotap.mcs.index", "15"),
    ("ht qos", "radiotap.mcs.bw", "1"),
    ("ht qos", "radiotap.mcs.gi", "1"),
    ("ht qos", "wlan_radio.data_rate", "300"),
    ("ht qos", "radiotap.ampdu.reference", "7"),
    ("ht qos", "radiotap.ampdu.flags.last", "0"),
    ("ht qos last", "radiotap.ampdu.flags.last", "1"),
    ("ht qos last", "udp.length", "508"),
    ("vht qos", "radiotap.vht.mcs.0", "9"),
    ("vht qos", "radiotap.vht.nss.0", "2"),
    ("vht qos", "wlan_radio.data_rate", "780"),
    ("he qos", "radiotap.he.data_3.data_mcs", "0x000b"),
    ("he qos", "radiotap.he.data_5.data_bw_ru_allocation", "0x0002"),
    ("he qos", "radiotap.he.data_6.nsts", "0x0002"),
    ("he qos", "wlan.qos.ack", "0x0001"),
    ("amsdu", "wlan.qos.amsdupresent", "1"),
    ("amsdu", "wlan_aggregate.a_mdsu.length", "1508,536"),
    ("amsdu", "udp.length", "508"),
    ("amsdu", "tcp.len", "1448"),
    ("block ack", "wlan.fc.type_subtype", "0x0019"),
    ("block ack", "wlan.ba.control.ackpolicy", "0"),
    ("block ack", "wlan.ba.control.ba_type", "0x0002"),
    ("block ack", "wlan.fixed.ssc.sequence", "4095"),
    ("block ack", "wlan.ba.basic.tidinfo", "0x0005"),
    ("block ack", "wlan.ba.bm", "0500000000000080"),
    ("long block ack", "wlan.fc.type_subtype", "0x0019"),
    ("long block ack", "wlan.fixed.ssc.sequence", "4095"),
    ("long block ack", "wlan.fixed.ssc.fragment", "4"),
    ("long block ack", "wlan.ba.control.ba_type", "0x0002"),
    ("beacon", "wlan.fc.type_subtype", "0x0008"),
    ("beacon", "wlan.da", "ff:ff:ff:ff:ff:ff"),
    ("beacon", "wlan.bssid", "02:00:00:00:00:a0"),
    ("beacon", "wlan.ssid", "6661697277617665"),
    ("beacon", "wlan.ds.current_channel", "6"),
    ("beacon", "wlan.supported_rates", "0x82,0x84,0x8b,0x96,0x0c,0x12,0x18,0x24"),
    ("beacon", "wlan.extended_supported_rates", "0x30,0x48,0x60,0x6c"),
    ("beacon", "wlan.fixed.timestamp", "1234567"),
    ("beacon", "wlan.seq", "4095"),
    ("beacon", "radiotap.mactime", "1000"),
    ("beacon", "radiotap.datarate", "5.5"),
    ("beacon", "radiotap.channel.freq", "2437"),
    ("beacon", "radiotap.dbm_antsignal", "-48"),
    ("beacon", "frame.time_epoch", "0.000001000"),
    ("association request", "wlan.fc.type_subtype", "0x0000"),
    ("association request", "wlan.fixed.listen_ival", "0x000a"),
    ("association response", "wlan.fc.type_subtype", "0x0001"),
    ("association response", "wlan.fixed.aid", "0x07d7"),
    ("rts", "wlan.fc.type_subtype", "0x001b"),
    ("rts", "wlan.ra", "02:00:00:00:00:a0"),
    ("rts", "wlan.ta", "02:00:00:00:00:01"),
    ("rts", "wlan.duration", "32767"),
    ("cts", "wlan.fc.type_subtype", "0x001c"),
    ("cts", "wlan.ra", "02:00:00:00:00:01"),
    ("ack", "wlan.fc.type_subtype", "0x001d"),
    ("ack", "wlan.ra", "02:00:00:00:00:01"),
    ("up tcp syn", "wlan.fc.type_subtype", "0x0020"),
    ("up tcp syn", "wlan.ta", "02:00:00:00:00:01"),
    ("up tcp syn", "wlan.da", "02:00:00:00:00:99"),
    ("up tcp syn", "wlan.fc.retry", "1"),
    ("up tcp syn", "tcp.flags", "0x0002"),
    ("up tcp syn", "tcp.options.mss_val", "1460"),
    ("up tcp syn", "tcp.options.wscale.shift", "14"),
    ("up tcp syn", "tcp.options.timestamp.tsval", "4294967295"),
    ("up tcp syn", "tcp.seq_raw", "4294967295"),
    ("down tcp sack", "wlan.sa", "02:00:00:00:00:99"),
    ("down tcp sack", "wlan.ra", "02:00:00:00:00:01"),
    ("down tcp sack", "tcp.options.sack_le", "3000,5000,4294967000"),
    ("down tcp sack", "tcp.options.sack_re", "4000,6000,100"),
    ("down tcp sack", "tcp.flags.ece", "1"),
    ("up tcp data", "tcp.len", "1448"),
    ("up tcp data", "ip.dsfield.ecn", "2"),
    ("up tcp data", "ip.flags.df", "1"),
    ("up tcp data", "ip.ttl", "63"),
    ("up tcp data", "ip.id", "0xbeef"),
    ("up tcp data", "ip.src", "10.0.0.1"),
    ("up udp", "udp.length", "508"),
    ("up udp", "udp.dstport", "9"),
    ("ethernet tcp data", "eth.src", "02:00:00:00:00:01"),
    ("ethernet tcp data", "tcp.window_size_value", "65535"),
    ("ethernet tcp data", "frame.comment", "retransmission"),
    ("raw udp", "ip.dst", "10.0.0.2"),
    ("raw udp", "frame.interface_name", "tun"),
];

/// The packets of [`whole_capture`], in order.
const CAPTURED: [&str; 22] = [
    "beacon",
    "association request",
    "association response",
    "rts",
    "cts",
    "ack",
    "block ack req",
    "up tcp syn",
    "down tcp sack",
    "up tcp data",
    "up udp",
    "ht qos",
    "ht qos last",
    "vht qos",
    "he qos",
    "amsdu",
    "block ack",
    "long block ack",
    "ethernet tcp syn",
    "ethernet tcp sack",
    "ethernet tcp data",
    "raw udp",
];

fn whole_capture() -> Vec<u8> {
    let mut capture = Capture::new();
    for frame in management_and_control() {
        capture.radio(&frame);
    }
    capture.radio_data(Direction::ToAp, &syn());
    capture.radio_data(Direction::FromAp, &sack());
    capture.radio_data(Direction::ToAp, &segment());
    capture.radio_data(Direction::ToAp, &udp());
    capture.newer_data();
    capture.block_acks();
    for datagram in [syn(), sack(), segment()] {
        capture.ethernet(&datagram);
    }
    capture.raw(&udp());
    capture.writer.into_inner()
}

struct Capture {
    writer: Writer<Vec<u8>>,
    radio: InterfaceId,
    ethernet: InterfaceId,
    raw: InterfaceId,
    nanos: u64,
}

impl Capture {
    fn new() -> Self {
        let section = Section {
            hardware: Some("none".into()),
            os: Some("none".into()),
            application: Some("fairwave".into()),
        };
        let mut writer = Writer::new(Vec::new(), &section).unwrap();
        let mut add = |link_type, name: &str| {
            writer
                .add_interface(&Interface { link_type, name: Some(name.into()), snap_len: None })
                .unwrap()
        };
        let radio = add(LinkType::Radiotap, "wlan");
        let ethernet = add(LinkType::Ethernet, "eth");
        let raw = add(LinkType::RawIp, "tun");
        Self { writer, radio, ethernet, raw, nanos: 0 }
    }

    fn now(&mut self) -> Instant {
        self.nanos += 1_000;
        Instant::from_nanos(self.nanos)
    }

    fn radio(&mut self, frame: &Frame) {
        let mut bytes = Vec::new();
        dot11::on_air(frame, &mut bytes);
        self.radio_bytes(&bytes);
    }

    fn radio_data(&mut self, direction: Direction, datagram: &Datagram) {
        let mut bytes = Vec::new();
        dot11::data_frame(&data(direction), &(*datagram).into(), &mut bytes).unwrap();
        self.radio_bytes(&bytes);
    }

    /// QoS data of HT, VHT and HE, and an A-MSDU.
    fn newer_data(&mut self) {
        let qos = |ack_policy| Qos { tid: Tid::new(6).unwrap(), ack_policy };
        let frame = |ack_policy| {
            let header = Data { qos: Some(qos(ack_policy)), ..data(Direction::ToAp) };
            let mut bytes = Vec::new();
            dot11::data_frame(&header, &udp().into(), &mut bytes).unwrap();
            bytes
        };
        let normal = frame(AckPolicy::Normal);
        let known = AmpduStatus::LAST_KNOWN;
        for flags in [known, known | AmpduStatus::LAST] {
            let ampdu = Some(AmpduStatus { reference: 7, flags });
            self.radio_as(
                Header { mcs: Some(Mcs::mixed(15, true, true)), ampdu, ..at_5_ghz() },
                &normal,
            );
        }
        let flags = known | AmpduStatus::LAST | AmpduStatus::EOF_KNOWN | AmpduStatus::EOF;
        let alone = Header { ampdu: Some(AmpduStatus { reference: 8, flags }), ..at_5_ghz() };
        self.radio_as(Header { vht: Vht::single(80, false, 9, 2), ..alone }, &normal);
        let he = He::single(80, 800, 11, 2, true);
        self.radio_as(Header { he, ..alone }, &frame(AckPolicy::None));
        let header = Amsdu {
            direction: Direction::FromAp,
            retry: false,
            duration_us: 48,
            bssid: AP,
            station: STATION,
            sequence: Sequence::new(2),
            qos: qos(AckPolicy::Normal),
        };
        let ether_type = EtherType::IPV4;
        let subframe = Subframe { destination: STATION, source: SERVER, ether_type };
        let mut bytes = Vec::new();
        let parts = [(subframe, segment().into()), (subframe, udp().into())];
        dot11::amsdu_frame(&header, parts.into_iter(), &mut bytes).unwrap();
        self.radio_as(Header { vht: Vht::single(80, false, 9, 2), ..alone }, &bytes);
    }

    fn block_acks(&mut self) {
        let bits = 0x8000_0000_0000_0005;
        for bitmap in [Bitmap::Of64(bits), Bitmap::Of256([bits, 0, 0, 1])] {
            self.radio(&Frame::BlockAck(BlockAck {
                receiver: STATION,
                transmitter: AP,
                duration_us: 0,
                tid: Tid::new(5).unwrap(),
                start: Sequence::new(4095),
                bitmap,
            }));
        }
    }

    fn radio_as(&mut self, header: Header, frame: &[u8]) {
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        bytes.extend(frame);
        let now = self.now();
        self.writer.write_packet(self.radio, now, &bytes, None).unwrap();
    }

    fn radio_bytes(&mut self, frame: &[u8]) {
        let header = Header {
            tsft_us: Some(1_000),
            flags: Some(Flags::FCS_PRESENT.with(Flags::SHORT_PREAMBLE)),
            rate_500kbps: radiotap::rate_500kbps(BitRate(5_500_000)),
            channel: Some(Channel {
                frequency_mhz: 2437,
                flags: Channel::CCK | Channel::BAND_2_GHZ,
            }),
            signal_dbm: Some(-48),
            ..Header::default()
        };
        self.radio_as(header, frame);
    }

    fn ethernet(&mut self, datagram: &Datagram) {
        let header =
            ethernet::Header { destination: SERVER, source: STATION, ether_type: EtherType::IPV4 };
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        datagram.write(&mut bytes).unwrap();
        let now = self.now();
        self.writer.write_packet(self.ethernet, now, &bytes, Some("retransmission")).unwrap();
    }

    fn raw(&mut self, datagram: &Datagram) {
        let mut bytes = Vec::new();
        datagram.write(&mut bytes).unwrap();
        let now = self.now();
        self.writer.write_packet(self.raw, now, &bytes, None).unwrap();
    }
}

fn management_and_control() -> [Frame; 7] {
    let header = |source, destination| Management {
        retry: false,
        duration_us: 0,
        destination,
        source,
        bssid: AP,
        sequence: Sequence::new(4095),
    };
    let capabilities = dot11::CAPABILITY_ESS | dot11::CAPABILITY_SHORT_SLOT;
    [
        Frame::Beacon(Beacon {
            header: header(AP, Mac::BROADCAST),
            timestamp_us: 1_234_567,
            interval_tu: 100,
            capabilities,
            elements: elements(),
        }),
        Frame::AssociationRequest(AssociationRequest {
            header: header(STATION, AP),
            capabilities,
            listen_interval: 10,
            elements: elements(),
        }),
        Frame::AssociationResponse(AssociationResponse {
            header: header(AP, STATION),
            capabilities,
            status: 0,
            id: AssociationId::new(2007),
            elements: Elements { ssid: None, channel: None, ..elements() },
        }),
        Frame::Rts { receiver: AP, transmitter: STATION, duration_us: dot11::DURATION_MAX_US },
        Frame::Cts { receiver: STATION, duration_us: 200 },
        Frame::Ack { receiver: STATION, duration_us: 0 },
        Frame::BlockAckReq(BlockAckReq {
            receiver: AP,
            transmitter: STATION,
            duration_us: 48,
            tid: Tid::new(5).unwrap(),
            start: Sequence::new(4095),
        }),
    ]
}

/// A radiotap header without rate.
fn at_5_ghz() -> Header {
    Header {
        tsft_us: Some(1_000),
        flags: Some(Flags::FCS_PRESENT),
        channel: Some(Channel { frequency_mhz: 5180, flags: Channel::OFDM | Channel::BAND_5_GHZ }),
        ..Header::default()
    }
}

/// The twelve rates of 802.11g, those of 802.11b being basic.
fn elements() -> Elements {
    let mut elements =
        Elements { ssid: Ssid::new(b"fairwave"), channel: Some(6), ..Elements::default() };
    let basic = [2, 4, 11, 22].map(Rate::basic);
    let optional = [12, 18, 24, 36, 48, 72, 96, 108].map(Rate::optional);
    for rate in basic.into_iter().chain(optional) {
        assert!(elements.rates.push(rate.unwrap()));
    }
    elements
}

fn data(direction: Direction) -> Data {
    let (source, destination) = match direction {
        Direction::ToAp => (STATION, SERVER),
        Direction::FromAp => (SERVER, STATION),
    };
    Data {
        direction,
        retry: true,
        duration_us: 44,
        bssid: AP,
        source,
        destination,
        sequence: Sequence::new(1),
        qos: None,
        ether_type: EtherType::IPV4,
    }
}

fn datagram(transport: Transport, payload_len: u32) -> Datagram {
    Datagram {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        id: 0xbeef,
        ttl: 63,
        tos: 2,
        transport,
        payload_len,
    }
}

fn tcp_header(seq: u32, options: Options) -> tcp::Header {
    tcp::Header {
        source_port: 5001,
        destination_port: 5002,
        seq: Seq32(seq),
        window: 65_535,
        options,
        ..tcp::Header::default()
    }
}

fn syn() -> Datagram {
    let options = Options {
        mss: Some(1460),
        window_scale: Some(14),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: u32::MAX, echo: 0 }),
        ..Options::default()
    };
    let flags = tcp::Flags { syn: true, ..tcp::Flags::default() };
    datagram(Transport::Tcp(tcp::Header { flags, ..tcp_header(u32::MAX, options) }), 0)
}

fn sack() -> Datagram {
    let mut sack = SackBlocks::default();
    for (left, right) in [(3000, 4000), (5000, 6000), (4_294_967_000, 100)] {
        assert!(sack.push(Seq32(left), Seq32(right)));
    }
    let timestamps = Some(Timestamps { value: 2, echo: 1 });
    let options = Options { timestamps, sack, ..Options::default() };
    let flags = tcp::Flags { ack: true, ece: true, ..tcp::Flags::default() };
    datagram(Transport::Tcp(tcp::Header { flags, ..tcp_header(7, options) }), 0)
}

fn segment() -> Datagram {
    let timestamps = Some(Timestamps { value: 3, echo: 2 });
    let options = Options { timestamps, ..Options::default() };
    let flags = tcp::Flags { ack: true, psh: true, ..tcp::Flags::default() };
    datagram(Transport::Tcp(tcp::Header { flags, ..tcp_header(0, options) }), 1448)
}

/// To the discard port, where tshark looks for nothing inside.
fn udp() -> Datagram {
    datagram(Transport::Udp { source_port: 40_000, destination_port: 9 }, 500)
}

fn written(name: &str, capture: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&path, capture).unwrap();
    path
}

/// The fields of every packet, as tshark prints them.
fn dissected(capture: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-T", "fields"]);
    for check in ["tcp", "udp", "ip", "wlan"] {
        command.args(["-o", &format!("{check}.check_checksum:TRUE")]);
    }
    // Three frames are no conversation: lost segments in it are no fault of the frames.
    command.args(["-o", "tcp.analyze_sequence_numbers:FALSE"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| {
        panic!("tshark cannot be run ({error}); `cargo xtask test` installs what the tests need")
    });
    assert!(status.success(), "tshark failed: {}", String::from_utf8_lossy(&stderr));
    let line = |line: &str| line.split('\t').map(str::to_owned).collect();
    String::from_utf8(stdout).expect("tshark prints UTF-8").lines().map(line).collect()
}
