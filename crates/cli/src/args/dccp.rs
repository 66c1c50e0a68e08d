//! Options of `fairwave dccp`.

use clap::{Args, Subcommand};
use fairwave_units::{BitRate, Duration};
use fairwave_wire::dccp::UDP_PORT;
use std::net::IpAddr;
use std::path::PathBuf;

/// Examples at the end of the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  fairwave dccp serve                                    on one host, as root
  fairwave dccp send laptop.lan --for '30 s'             on another: TFRC, as fast as it goes
  fairwave dccp send 192.0.2.7 --ccid 2 --json           TCP-like congestion control
  fairwave dccp send 2001:db8::7 --rate '2 Mbps' --size 172 --ccid 4
  fairwave dccp serve --udp                              inside UDP, where nobody needs root
  fairwave dccp send nas.lan --udp --csv rate.csv

Packets are those of protocol 33 of IP, over a raw socket, which needs root or CAP_NET_RAW until it
is open; with --udp they are inside UDP (RFC 6773). The other end may be Linux's own DCCP (up to
6.15), or anything else that speaks RFC 4340. docs/dccp.md has more.

Exit code 1: no connection, or one that did not end in good order; 2: the options are wrong.";

/// Options of `fairwave dccp`.
#[derive(Args, Debug)]
pub(crate) struct Dccp {
    #[command(subcommand)]
    pub(crate) task: Task,
}

/// Commands of `fairwave dccp`.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Accept connections and receive their datagrams, until interrupted
    Serve(Serve),
    /// Connect to a host and send datagrams
    Send(Send),
}

/// Options of both ends.
#[derive(Args, Debug)]
pub(crate) struct Ends {
    /// The server's port of DCCP
    #[arg(long, short, value_name = "PORT", default_value_t = fairwave_dccp_tool::PORT)]
    pub(crate) port: u16,
    /// The service code, requested and offered: four letters, or a number
    #[arg(long, value_name = "CODE", default_value = "FWAV", value_parser = service)]
    pub(crate) service: u32,
    /// Put the packets into UDP (RFC 6773) instead of IP
    #[arg(long)]
    pub(crate) udp: bool,
    /// The server's port of UDP, with --udp
    #[arg(long, value_name = "PORT", default_value_t = UDP_PORT, requires = "udp")]
    pub(crate) udp_port: u16,
    /// Mark the packets sent (SO_MARK), for firewall rules that exclude the kernel's own DCCP
    #[arg(long, value_name = "NUMBER", conflicts_with = "udp")]
    pub(crate) mark: Option<u32>,
    /// Interval between reports
    #[arg(long, value_name = "DURATION", default_value = "1 s")]
    pub(crate) interval: Duration,
    /// Write a line for each report to this file, as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

/// Options of `fairwave dccp serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) ends: Ends,
    /// Listen at this address of the host [default: all]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<IpAddr>,
    /// Congestion controls that the server accepts, in order of preference: 2 (TCP-like), 3 (TFRC),
    /// 4 (TFRC for small packets)
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', default_values_t = [3, 2, 4])]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    pub(crate) ccid: Vec<u8>,
    /// End after the first connection
    #[arg(long, short = '1')]
    pub(crate) once: bool,
}

/// Options of `fairwave dccp send`.
#[derive(Args, Debug)]
pub(crate) struct Send {
    /// Name or address of the host that runs `fairwave dccp serve`
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) ends: Ends,
    /// Speak IPv4 only
    #[arg(short = '4', conflicts_with = "six")]
    pub(crate) four: bool,
    /// Speak IPv6 only
    #[arg(short = '6')]
    pub(crate) six: bool,
    /// Congestion control: 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets)
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    pub(crate) ccid: u8,
    /// Length of the transmission
    #[arg(long = "for", short = 't', value_name = "DURATION", default_value = "10 s")]
    pub(crate) time: Duration,
    /// Application data of each datagram in bytes
    #[arg(long, short = 'l', value_name = "BYTES", default_value_t = 1_400)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_400))]
    pub(crate) size: u32,
    /// Send at this rate [default: as much as congestion control allows]
    #[arg(long, short = 'b', value_name = "RATE")]
    pub(crate) rate: Option<BitRate>,
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
