//! Options of the commands.

use crate::PORT;
use crate::place::Place;
use clap::Args;
use fairwave_console::peer::Family;
use fairwave_units::{BitRate, Duration};
use fairwave_wire::dccp::UDP_PORT;
use std::net::IpAddr;
use std::path::PathBuf;

/// Options of both ends of `fairwave dccp serve` and `send`.
#[derive(Args, Debug)]
pub struct Ends {
    /// The server's port of DCCP
    #[arg(long, short, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// Put the packets into UDP (RFC 6773) instead of IP
    #[arg(long)]
    pub udp: bool,
    /// The server's port of UDP, with --udp
    #[arg(long, value_name = "PORT", default_value_t = UDP_PORT, requires = "udp")]
    pub udp_port: u16,
    /// Mark the packets sent (SO_MARK), for firewall rules
    #[arg(long, value_name = "NUMBER", conflicts_with = "udp")]
    pub mark: Option<u32>,
    /// Options of every connection.
    #[command(flatten)]
    pub line: Line,
    /// Interval between reports
    #[arg(long, value_name = "DURATION", default_value = "1 s")]
    pub interval: Duration,
    /// Write a line for each report to this file, as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Application data of each datagram in bytes
    #[arg(long, short = 'l', value_name = "BYTES", default_value_t = 1_400)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_400))]
    pub size: u32,
    /// Send at this rate [default: as much as congestion control allows]
    #[arg(long, short = 'b', value_name = "RATE", value_parser = BitRate::above_zero)]
    pub rate: Option<BitRate>,
}

/// Options of every connection.
#[derive(Args, Debug)]
pub struct Line {
    /// The service code, requested and offered: four letters, or a number
    #[arg(long, value_name = "CODE", default_value = "FWAV", value_parser = service)]
    pub service: u32,
    /// Do not watch the links, routes, addresses and radios of this host for handovers, which
    /// congestion control is notified of
    #[arg(long)]
    pub no_handovers: bool,
}

/// Options of `fairwave dccp serve`.
#[derive(Args, Debug)]
pub struct Serve {
    /// Options of both ends.
    #[command(flatten)]
    pub ends: Ends,
    /// Listen at this address of the host [default: all]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<IpAddr>,
    /// Congestion controls that the server accepts, in order of preference: 2 (TCP-like), 3 (TFRC),
    /// 4 (TFRC for small packets)
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', default_values_t = [3, 2, 4])]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    pub ccid: Vec<u8>,
    /// Send to each client too, with --size and --rate
    #[arg(long)]
    pub both: bool,
    /// End after the first connection
    #[arg(long, short = '1')]
    pub once: bool,
}

/// Options of `fairwave dccp send`.
#[derive(Args, Debug)]
pub struct Send {
    /// Name or address of the host that runs `fairwave dccp serve`
    #[arg(value_name = "HOST")]
    pub host: String,
    /// Options of both ends.
    #[command(flatten)]
    pub ends: Ends,
    /// The version of IP.
    #[command(flatten)]
    pub family: Family,
    /// Congestion control: 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets)
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    pub ccid: u8,
    /// Length of the transmission
    #[arg(long = "for", short = 't', value_name = "DURATION", default_value = "10 s")]
    pub time: Duration,
}

/// Options of `fairwave dccp relay`.
#[derive(Args, Debug)]
pub struct Relay {
    /// Where the stream comes from: `udp:ADDRESS:PORT`, to which an application sends, or
    /// `dccp:[ADDRESS:]PORT`, to which another relay connects
    #[arg(long, value_name = "PLACE")]
    pub from: Place,
    /// Where it goes: `dccp:HOST[:PORT]`, where another relay listens, or `udp:ADDRESS:PORT`, at
    /// which an application receives
    #[arg(long, value_name = "PLACE")]
    pub to: Place,
    /// Put the packets of DCCP into UDP (RFC 6773) instead of IP
    #[arg(long)]
    pub encapsulate: bool,
    /// The port of UDP of the relay that listens, with --encapsulate
    #[arg(long, value_name = "PORT", default_value_t = UDP_PORT, requires = "encapsulate")]
    pub udp_port: u16,
    /// Carry the UDP port behind the stated one as well, which has RTCP (RFC 3550 section 11)
    #[arg(long)]
    pub rtcp: bool,
    /// Drop datagrams that congestion control does not let go within this time
    #[arg(long, value_name = "DURATION", default_value = "200 ms")]
    pub deadline: Duration,
    /// Write the rate for the encoder to clients of this Unix socket, as lines of JSON
    #[arg(long, value_name = "PATH")]
    pub rate_socket: Option<PathBuf>,
    /// Wait so long for a peer that was lost, and connect again
    #[arg(long, value_name = "DURATION", default_value = "60 s")]
    pub reconnect: Duration,
    /// Congestion control: 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets)
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    pub ccid: u8,
    /// Mark the packets sent (SO_MARK), for firewall rules
    #[arg(long, value_name = "NUMBER", conflicts_with = "encapsulate")]
    pub mark: Option<u32>,
    /// Options of every connection.
    #[command(flatten)]
    pub line: Line,
}

/// Options of `fairwave dccp watch`.
#[derive(Args, Debug)]
pub struct Watch {
    /// The Unix socket of `fairwave dccp relay --rate-socket`, or a file with its lines
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Also write a page with the figures over time, at the end
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// End after this time [default: with the relay, or when interrupted]
    #[arg(long = "for", short = 't', value_name = "DURATION")]
    pub time: Option<Duration>,
}

/// Parses a service code: four printable letters (RFC 4340 section 8.1.2), or a number.
fn service(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    match <[u8; 4]>::try_from(text.as_bytes()) {
        Ok(letters) if letters.iter().all(u8::is_ascii_graphic) => Ok(u32::from_be_bytes(letters)),
        _ => Err("four letters or a number are needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4340 section 8.1.2 gives 1886613874 for "pstr".
    #[test]
    fn a_service_is_four_letters_or_a_number() {
        assert_eq!(service("pstr"), Ok(0x7073_7472));
        assert_eq!(service("7"), Ok(7));
        assert!(service("five5").is_err() && service("a b").is_err());
    }
}
