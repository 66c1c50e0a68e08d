//! Linux's own DCCP as a command, for the guest of `cargo xtask vm dccp`. Not for users.
//!
//! `dccp-run send ADDRESS PORT CCID SECONDS BYTES [RATE]` sends datagrams as fast as the kernel
//! accepts them, or at RATE bits per second. `dccp-run receive 4|6 PORT CCID` accepts one
//! connection. Both print a line per second and a summary.

#[cfg(target_os = "linux")]
mod run {
    #![allow(clippy::print_stdout, reason = "a command of its own")]

    use fairwave_dccp_tool::SERVICE;
    use fairwave_dccp_tool::linux::LinuxSocket;
    use fairwave_linux::Clock;
    use fairwave_units::{Duration, Instant};
    use std::error::Error;
    use std::net::{IpAddr, SocketAddr};

    const SECOND: Duration = Duration::from_secs(1);
    const MOMENT: Duration = Duration::from_millis(1);

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["send", address, port, ccid, seconds, bytes, rest @ ..] => {
                let to = SocketAddr::new(address.parse::<IpAddr>()?, port.parse()?);
                let rate = rest.first().map_or(Ok(f64::INFINITY), |rate| rate.parse())?;
                let seconds = Duration::from_secs(seconds.parse()?);
                send(to, ccid.parse()?, seconds, bytes.parse()?, rate)
            }
            ["receive", family, port, ccid] => {
                receive(*family == "6", port.parse()?, ccid.parse()?)
            }
            _ => Err(
                "usage: dccp-run send ADDRESS PORT CCID SECONDS BYTES [RATE] | receive 4|6 PORT \
                      CCID"
                    .into(),
            ),
        }
    }

    /// Prints a line per second.
    struct Report {
        clock: Clock,
        began: Instant,
        next: Instant,
        packets: u64,
        bytes: u64,
        last: u64,
    }

    impl Report {
        fn begin() -> Self {
            let clock = Clock::start();
            let began = clock.now();
            Self { clock, began, next: began + SECOND, packets: 0, bytes: 0, last: 0 }
        }

        fn count(&mut self, bytes: usize) {
            self.packets += 1;
            self.bytes += bytes as u64;
        }

        fn look(&mut self, socket: &LinuxSocket, is_sender: bool) {
            if self.clock.now() < self.next {
                return;
            }
            let at = self.next.since(self.began).as_secs_f64();
            self.next += SECOND;
            let mbps = (self.bytes - self.last) as f64 * 8.0 / 1e6;
            self.last = self.bytes;
            let known = if is_sender { of_sender(socket) } else { of_receiver(socket) };
            println!("{at:.0} s: {mbps:.3} Mbps{known}");
        }

        fn end(&self, what: &str) {
            let seconds = self.clock.now().since(self.began).as_secs_f64();
            let mbps = self.bytes as f64 * 8.0 / 1e6 / seconds;
            println!(
                "{what} {} datagrams, {} bytes in {seconds:.2} s: {mbps:.3} Mbps",
                self.packets, self.bytes
            );
        }
    }

    fn of_sender(socket: &LinuxSocket) -> String {
        socket.sender_info().map_or(String::new(), |info| {
            format!(
                ", X {:.3} Mbps, X_recv {:.3} Mbps, X_calc {:.3} Mbps, rtt {:.2} ms, p {:.5}",
                info.rate * 8.0 / 1e6,
                info.receive_rate * 8.0 / 1e6,
                info.computed_rate * 8.0 / 1e6,
                info.rtt * 1e3,
                info.loss_event_rate
            )
        })
    }

    fn of_receiver(socket: &LinuxSocket) -> String {
        socket.receiver_info().map_or(String::new(), |info| {
            format!(
                ", X_recv {:.3} Mbps, rtt {:.2} ms, p {:.5}",
                info.receive_rate * 8.0 / 1e6,
                info.rtt * 1e3,
                info.loss_event_rate
            )
        })
    }

    fn send(
        to: SocketAddr,
        ccid: u8,
        seconds: Duration,
        bytes: usize,
        rate: f64,
    ) -> Result<(), Box<dyn Error>> {
        let socket = LinuxSocket::new(to.is_ipv6(), ccid, SERVICE)?;
        socket.connect(to)?;
        println!(
            "established, sends by CCID {}, receives by CCID {}",
            socket.profiles()?.0,
            socket.profiles()?.1
        );
        let mut report = Report::begin();
        let data = vec![0; bytes];
        let mut into = vec![0; 1 << 16];
        let each =
            Duration::from_secs_f64(if rate.is_finite() { bytes as f64 * 8.0 / rate } else { 0.0 });
        let mut due = report.began;
        let mut is_open = true;
        while is_open && report.clock.now() < report.began + seconds {
            let is_due = due <= report.clock.now();
            if is_due && socket.send(&data)? {
                report.count(bytes);
                due += each;
            } else {
                // No data arrives here: this is a wait that ends when the connection does.
                is_open = socket.receive(&mut into, MOMENT)?.is_some();
            }
            report.look(&socket, true);
        }
        let last = of_sender(&socket);
        report.end("sent");
        println!("at the end{last}");
        Ok(())
    }

    fn receive(is_six: bool, port: u16, ccid: u8) -> Result<(), Box<dyn Error>> {
        let listening = LinuxSocket::new(is_six, ccid, SERVICE)?;
        let socket = listening.accept(port, is_six, || println!("listens"))?;
        println!(
            "established, sends by CCID {}, receives by CCID {}",
            socket.profiles()?.0,
            socket.profiles()?.1
        );
        let mut report = Report::begin();
        let mut into = vec![0; 1 << 16];
        let mut last = String::new();
        loop {
            match socket.receive(&mut into, SECOND)? {
                None => break,
                Some(None) => {}
                Some(Some(len)) => report.count(len),
            }
            report.look(&socket, false);
            last = of_receiver(&socket);
        }
        report.end("received");
        println!("at the end{last}");
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
