//! Memory of connections at a listener.

use super::*;
use std::fs;

const MANY: u16 = 2_000;
/// Bound of the memory of an idle connection, a third above the 30 kB measured with 10,000.
const MAX_BYTES: usize = 40_000;

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages: usize = statm.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a number");
    pages * 4_096
}

/// Clients open connections one after the other, send a datagram each, and are gone.
#[test]
fn an_idle_connection_takes_little_memory() {
    let [from, here] = addresses(false);
    let mut settings_here = settings(Over::Udp, addresses(false), 3, false);
    settings_here.max_connections = MANY.into();
    let mut server = Connections::new(settings_here);
    let mut ports = 5_000..;
    let (mut before, mut open) = (0, 0);
    for number in 0..MANY {
        // The first ones fill what is there once.
        if number == MANY / 10 {
            before = resident();
        }
        let mut settings = settings(Over::Udp, addresses(false), 3, true);
        settings.connection.local_port = ports.next().expect("there are more");
        let mut client = Connections::new(settings);
        client.handle(at(0), Fact::Start);
        for _ in 0..4 {
            while let Some(packet) = client.poll(at(0)) {
                let (ecn, bytes) = (packet.ecn, packet.bytes);
                let datagram = Incoming { from, to: Some(here.ip()), ecn, bytes };
                server.handle(at(0), Fact::Arrived(datagram));
            }
            while let Some(packet) = server.poll(at(0)) {
                let (ecn, bytes) = (packet.ecn, packet.bytes);
                client.handle(at(0), Fact::Arrived(Incoming { from: here, to: None, ecn, bytes }));
            }
            while let Some(event) = server.event() {
                open += usize::from(matches!(event, PortEvent::Established(_)));
            }
            while let Some(event) = client.event() {
                if let PortEvent::Established(id) = event {
                    let payload = Bytes::from(vec![0; 500]);
                    client.handle(at(0), Fact::Send(id, Waiting { deadline: None, payload }));
                }
            }
        }
    }
    assert_eq!(open, usize::from(MANY));
    let each = resident().saturating_sub(before) / usize::from(MANY - MANY / 10);
    assert!(each < MAX_BYTES, "{each} bytes");
}
