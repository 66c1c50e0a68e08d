//! Options that a peer does not know, for the guest of `cargo xtask vm dccp`. Not for users.
//!
//! `dccp-options request ADDRESS PORT MARK OPTIONS` sends a Request with the options, which are in
//! hexadecimal, and prints the answer. `dccp-options send ADDRESS PORT MARK` opens a connection
//! that asks for the feature of handovers and has one in the middle of its data;
//! `dccp-options serve PORT MARK` accepts one that asks for the same. Packets have the mark.

#[cfg(target_os = "linux")]
mod run {
    #![allow(clippy::print_stdout, reason = "a command of its own")]

    use bytes::Bytes;
    use fairwave_dccp::ccid::Handover;
    use fairwave_dccp_host::{Addressee, Endpoint, Port, Request};
    use fairwave_dccp_tool::SERVICE;
    use fairwave_linux::Clock;
    use fairwave_linux::random::random;
    use fairwave_sockets::{Outgoing, Raw, Taken, Transport};
    use fairwave_units::Duration;
    use fairwave_wire::dccp::{self, Header, Kind, Options, ResetCode, Seq48, Side, Value};
    use fairwave_wire::ipv4::Ecn;
    use fairwave_wire::pseudo::Pseudo;
    use std::error::Error;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::num::NonZero;

    const PROTOCOL: NonZero<u8> = NonZero::new(33).expect("33 is not zero");
    /// First of the dynamic ports (RFC 6335).
    const EPHEMERAL: u16 = 49_152;
    /// Time for an answer.
    const PATIENCE: Duration = Duration::from_secs(3);
    /// Datagrams of a connection, and their length in bytes. The handover begins and ends behind
    /// the first and the second third.
    const DATAGRAMS: usize = 300;
    const SIZE: usize = 1_000;

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        match words.as_slice() {
            ["request", address, port, mark, options] => {
                let to = SocketAddr::new(address.parse::<IpAddr>()?, port.parse()?);
                request(to, mark.parse()?, &options_of(options)?)
            }
            ["send", address, port, mark] => {
                let to = SocketAddr::new(address.parse::<IpAddr>()?, port.parse()?);
                runtime.block_on(send(to, mark.parse()?))
            }
            ["serve", port, mark] => runtime.block_on(serve(port.parse()?, mark.parse()?)),
            _ => Err(
                "usage: dccp-options request ADDRESS PORT MARK OPTIONS | send ADDRESS PORT MARK | \
                      serve PORT MARK"
                    .into(),
            ),
        }
    }

    fn options_of(hex: &str) -> Result<Options, Box<dyn Error>> {
        let byte = |at| hex.get(at..at + 2).map(|digits| u8::from_str_radix(digits, 16));
        let bytes: Option<Result<Vec<u8>, _>> = (0..hex.len()).step_by(2).map(byte).collect();
        let bytes = bytes.ok_or("the options have half a byte")??;
        Ok(Options::from_bytes(&bytes))
    }

    /// A raw socket, and both ends of its packets.
    struct Sender {
        raw: Raw,
        to: SocketAddr,
        port: u16,
        pseudo: Pseudo,
    }

    impl Sender {
        fn send(
            &mut self,
            seq: Seq48,
            kind: Kind,
            options: &Options,
        ) -> Result<(), Box<dyn Error>> {
            let header = Header {
                source_port: self.port,
                destination_port: self.to.port(),
                ccval: 0,
                coverage: 0,
                seq,
                short: false,
                kind,
                options_words: options.words(),
            };
            let mut bytes = Vec::new();
            header.write(&mut bytes, self.pseudo, options, &[])?;
            let to = SocketAddr::new(self.to.ip(), 0);
            self.raw.send(&[Outgoing { to, from: None, ecn: Ecn::NotEct, bytes }])?;
            Ok(())
        }

        /// The answer to a packet with this number, and its options.
        fn answer(&mut self, seq: Seq48) -> Result<Option<(Header, Options)>, Box<dyn Error>> {
            let clock = Clock::start();
            let until = clock.now() + PATIENCE;
            let mut taken = Vec::new();
            loop {
                let left = until.since(clock.now().min(until));
                if left == Duration::ZERO {
                    return Ok(None);
                }
                self.raw.wait(false, left)?;
                self.raw.receive(&mut taken)?;
                for Taken { datagram, .. } in taken.drain(..) {
                    // The sum is that of both addresses in any order.
                    let Ok(read) = dccp::parse(&datagram.bytes, self.pseudo) else { continue };
                    if read.header.kind.ack() == Some(seq) {
                        return Ok(Some((read.header, Options::from_bytes(read.options))));
                    }
                }
            }
        }
    }

    fn request(to: SocketAddr, mark: u32, options: &Options) -> Result<(), Box<dyn Error>> {
        let raw = Raw::connect(to, PROTOCOL, Some(mark))?;
        let port = EPHEMERAL | random()? as u16;
        raw.accept_port(port)?;
        let pseudo = Pseudo::between(raw.address()?, to.ip()).ok_or("of two families")?;
        let mut sender = Sender { raw, to, port, pseudo };
        let seq = Seq48::new(random()?);
        sender.send(seq, Kind::Request { service: SERVICE }, options)?;
        let answer = sender.answer(seq)?;
        let words = match &answer {
            None => "no answer".to_owned(),
            Some((Header { kind: Kind::Reset { code, data, .. }, .. }, _)) => {
                format!("Reset, {} ({}), {data:?}", code.name(), code.0)
            }
            Some((Header { kind: Kind::Response { .. }, .. }, options)) => {
                let confirms: String = options.values().filter_map(confirm).collect();
                format!("Response{confirms}")
            }
            Some((header, _)) => format!("{:?}", header.kind),
        };
        println!("{words}");
        if let Some((Header { seq: ack, kind: Kind::Response { .. }, .. }, _)) = answer {
            let kind = Kind::Reset { ack, code: ResetCode::ABORTED, data: [0; 3] };
            sender.send(seq + 1, kind, &Options::new())?;
        }
        Ok(())
    }

    /// An empty Confirm in words.
    fn confirm(value: Value<'_>) -> Option<String> {
        let Value::Confirm { side, feature, values: [] } = value else { return None };
        let side = if side == Side::Local { "L" } else { "R" };
        Some(format!(", empty Confirm {side} of {feature}"))
    }

    /// An endpoint by CCID 3 that asks its peer to heed notices of handovers.
    fn endpoint(with: Addressee, mark: u32) -> Result<Endpoint, Box<dyn Error>> {
        let mut request = Request { mark: Some(mark), ..Request::new(with) };
        request.profiles.tfrc_sender.remedies.notify = true;
        Ok(Endpoint::new(Port::open(&request)?)?)
    }

    async fn send(to: SocketAddr, mark: u32) -> Result<(), Box<dyn Error>> {
        let endpoint = endpoint(Addressee::Server(to), mark)?;
        let connection = endpoint.connect().await?;
        let data = Bytes::from(vec![0; SIZE]);
        for number in 0..DATAGRAMS {
            if number == DATAGRAMS / 3 {
                endpoint.notify(to.ip(), Handover::Started);
            } else if number == DATAGRAMS * 2 / 3 {
                endpoint.notify(to.ip(), Handover::Ended { free: None });
            }
            connection.send_wait(data.clone(), None).await?;
        }
        connection.close();
        let (end, account) = connection.closed().await.ok_or("the endpoint is over")?;
        println!("sent {} datagrams; {end}", account.stats.data_packets_sent);
        let is_whole = account.stats.data_packets_sent == DATAGRAMS as u64;
        is_whole.then_some(()).ok_or("some were not sent".into())
    }

    async fn serve(port: u16, mark: u32) -> Result<(), Box<dyn Error>> {
        let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        let endpoint = endpoint(Addressee::Anybody(any), mark)?;
        println!("listens");
        let connection = endpoint.accept().await.ok_or("the endpoint is over")?;
        let mut count = 0;
        while connection.recv().await.is_some() {
            count += 1;
        }
        let (end, _) = connection.closed().await.ok_or("the endpoint is over")?;
        println!("received {count} datagrams; {end}");
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
