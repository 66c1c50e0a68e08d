//! Tunnels of each kind, and packets that look like one.

use super::*;
use crate::datagram::{self, Datagram};
use core::net::Ipv4Addr;
use proptest::prelude::*;

/// A datagram of UDP between these ports with this payload.
fn udp(ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let [source_port, destination_port] = ports;
    let [source, destination] = [1, 2].map(|host| Ipv4Addr::new(203, 0, 113, host));
    let transport = datagram::Transport::Udp { source_port, destination_port };
    let payload_len = payload.len() as u32;
    let mut bytes = Vec::new();
    let packet = Datagram { source, destination, id: 1, ttl: 64, tos: 0, transport, payload_len };
    packet.write(&mut bytes).unwrap();
    let start = bytes.len() - payload.len();
    bytes[start..].copy_from_slice(payload);
    bytes
}

/// The same of another protocol, without ports.
fn raw(protocol: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = udp([0; 2], &[]);
    bytes.truncate(20);
    bytes[2..4].copy_from_slice(&(20 + body.len() as u16).to_be_bytes());
    bytes[9] = protocol;
    bytes.extend(body);
    bytes
}

fn within() -> Vec<u8> {
    udp([7, 9], b"within")
}

fn ethernet_frame() -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00][..], &within()].concat()
}

fn found(bytes: &[u8]) -> Option<(Tunnel, Option<u32>, Vec<u8>)> {
    let packet = ip::parse(bytes, bytes.len() as u32).unwrap();
    let Within { tunnel, network, frame } = inner(&packet)?;
    Some((tunnel, network, frame.packets().next()?.bytes.to_vec()))
}

/// An 802.11 data frame from an access point, with LLC/SNAP.
fn wireless() -> Vec<u8> {
    let header = [0x08, 0x02, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3, 0, 0];
    [&header[..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &within()].concat()
}

#[test]
fn every_tunnel_leads_to_its_packet() {
    let join = |header: &[u8], rest: Vec<u8>| [header, &rest].concat();
    let mut pptp = vec![0x30, 0x81, 0x88, 0x0b, 0, 40, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2];
    pptp.extend([0xff, 0x03, 0x00, 0x21]);
    let erspan = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0];
    let mut erspan_iii = vec![0x10, 0, 0x22, 0xeb, 0, 0, 0, 1];
    erspan_iii.extend([0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9]);
    let extended = [0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0];
    let cases = [
        (Tunnel::Gre, None, raw(47, &join(&[0, 0, 8, 0], within()))),
        (
            Tunnel::Gre,
            Some(0x0202_0202),
            raw(47, &join(&[0xb0, 0, 8, 0, 1, 1, 0, 0, 2, 2, 2, 2, 3, 3, 3, 3], within())),
        ),
        (
            Tunnel::Gre,
            Some(7),
            raw(47, &join(&[0x20, 0, 0x65, 0x58, 0, 0, 7, 0], ethernet_frame())),
        ),
        (Tunnel::Gre, Some(1), raw(47, &join(&pptp, within()))),
        (Tunnel::Gre, None, raw(47, &join(&erspan, ethernet_frame()))),
        (Tunnel::Gre, None, raw(47, &join(&erspan_iii, ethernet_frame()))),
        (Tunnel::Ip, None, raw(4, &within())),
        (Tunnel::Ip, None, raw(41, &within())),
        (
            Tunnel::Vxlan,
            Some(1),
            udp([5, 4789], &join(&[8, 0, 0, 0, 0, 0, 1, 0], ethernet_frame())),
        ),
        (
            Tunnel::Vxlan,
            Some(1),
            udp([5, 8472], &join(&[0x88, 0, 3, 3, 0, 0, 1, 0], ethernet_frame())),
        ),
        (Tunnel::Geneve, Some(1), udp([5, 6081], &join(&[0, 0, 8, 0, 0, 0, 1, 0], within()))),
        (
            Tunnel::Geneve,
            Some(1),
            udp([5, 6081], &join(&[1, 0, 0x65, 0x58, 0, 0, 1, 0, 1, 1, 1, 0], ethernet_frame())),
        ),
        (Tunnel::Gtp, Some(1), udp([5, 2152], &join(&[0x30, 255, 0, 34, 0, 0, 0, 1], within()))),
        (Tunnel::Gtp, Some(1), udp([5, 2152], &join(&extended, within()))),
        (
            Tunnel::Capwap,
            None,
            udp([5, 5247], &join(&[0, 0x10, 0, 0, 0, 0, 0, 0], ethernet_frame())),
        ),
        (Tunnel::Capwap, None, udp([5247, 5], &join(&[0, 0x10, 0x43, 0, 0, 0, 0, 0], wireless()))),
    ];
    for (number, (tunnel, network, bytes)) in cases.into_iter().enumerate() {
        assert_eq!(found(&bytes), Some((tunnel, network, within())), "case {number}");
    }
}

#[test]
fn a_port_alone_makes_no_tunnel() {
    let frame = ethernet_frame();
    let arp = [&frame[..12], &[0x08, 0x06, 0, 1]].concat();
    let none = [
        udp([5, 4789], &[&[0, 0, 0, 0, 0, 0, 1, 0], &frame[..]].concat()),
        udp([5, 4789], &[&[8, 0, 0, 0, 0, 0, 1, 0], &arp[..]].concat()),
        udp([4789, 5], &[&[8, 0, 0, 0, 0, 0, 1, 0], &frame[..]].concat()),
        udp([5, 2152], &[&[0x30, 1, 0, 34, 0, 0, 0, 1], &within()[..]].concat()),
        udp([5, 2152], &[0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 9, 0]),
        udp([5, 6081], b"no header at all"),
        udp([5, 5247], &[&[0, 0x10, 0, 8, 0, 0, 0, 0], &frame[..]].concat()),
        raw(47, &[&[0x40, 0, 8, 0], &within()[..]].concat()),
        raw(4, b"neither version 4 nor 6"),
    ];
    none.iter().for_each(|bytes| assert_eq!(found(bytes), None));
}

proptest! {
    #[test]
    fn arbitrary_content_does_not_panic(
        port in prop::sample::select(vec![4789u16, 8472, 6081, 2152, 5247]),
        protocol in prop::sample::select(vec![4u8, 41, 47]),
        body: Vec<u8>,
    ) {
        for bytes in [udp([5, port], &body), raw(protocol, &body)] {
            if let Some((.., content)) = found(&bytes) {
                prop_assert!(content.len() <= body.len());
            }
        }
    }
}
