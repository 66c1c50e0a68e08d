//! The buffer probe over two UDP sockets of this host: a session sends a train of 200 packets, and
//! the receiver accounts for their arrivals.
//!
//! `cargo run -p fairwave-sockets --example probe`

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

#[cfg(target_os = "linux")]
mod linux {
    use fairwave_linux::clock::Clock;
    use fairwave_probe::{
        Account, Plan, Receiver, ReceiverConfig, ReceiverEvent, Sender, SenderConfig, SenderEvent,
        SenderInput, Trial, Way,
    };
    use fairwave_sockets::{Driver, Udp};
    use fairwave_units::{BitRate, Duration};
    use fairwave_wire::probe::Limits;
    use fairwave_wire::seal::Key;
    use std::net::SocketAddr;
    use std::thread;

    /// An error of any kind.
    pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

    const LIMITS: Limits =
        Limits { rate: BitRate::mbps(50), packets: 10_000, duration: Duration::from_secs(20) };
    /// Period after which a loop checks whether the session is over.
    const LOOK: Duration = Duration::from_millis(100);

    /// Serves one session.
    fn receive(mut driver: Driver, key: Key) -> Result<(), Failure> {
        let mut receiver = Receiver::new(ReceiverConfig {
            key,
            cookie_key: Key::new(b"a secret of this receiver alone")?,
            limits: LIMITS,
            sessions: 1,
            idle: Duration::from_secs(5),
        });
        let mut events = Vec::new();
        while !events.iter().any(|event| matches!(event, ReceiverEvent::Ended(_))) {
            let until = driver.now() + LOOK;
            driver.turn(&mut receiver, until, &mut events)?;
        }
        Ok(())
    }

    /// Sends a train, and returns the account of it.
    fn send(to: SocketAddr, key: Key) -> Result<Account, Failure> {
        let interval = Duration::from_millis(10);
        let trial = Trial { payload_bytes: 1400, spaced: 5, interval, train: 200 };
        let mut sender = Sender::new(SenderConfig {
            key,
            receiver: to,
            session: 1,
            nonce: 2,
            limits: LIMITS,
            plan: Plan { trials: vec![trial], rest: Duration::ZERO },
            way: Way::There,
        });
        let mut driver = Driver::new(Udp::connect(to)?, Clock::start());
        let (mut events, mut account) = (Vec::new(), None);
        driver.report(&mut sender, SenderInput::Start, &mut events);
        loop {
            for event in events.drain(..) {
                match event {
                    SenderEvent::Account(one) => account = Some(*one),
                    SenderEvent::Finished(Ok(())) => return account.ok_or("no account".into()),
                    SenderEvent::Finished(Err(why)) => return Err(format!("{why:?}").into()),
                    SenderEvent::Agreed(_) => {}
                }
            }
            let until = driver.now() + LOOK;
            driver.turn(&mut sender, until, &mut events)?;
        }
    }

    /// Both ends, each with a socket and a thread.
    pub(crate) fn probe() -> Result<Account, Failure> {
        let key = Key::new(b"a secret that both ends share")?;
        let socket = Udp::bind("127.0.0.1:0".parse()?)?;
        let at = socket.address()?;
        let driver = Driver::new(socket, Clock::start());
        let of_receiver = key.clone();
        let receiving = thread::spawn(move || receive(driver, of_receiver));
        let account = send(at, key)?;
        receiving.join().map_err(|_| "the receiver panicked")??;
        Ok(account)
    }

    #[test]
    fn the_train_is_accounted_for() {
        let account = probe().expect("a session on the loopback");
        assert_eq!(account.sent.len(), 205);
        assert!(!account.arrived.is_empty());
    }
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), linux::Failure> {
    let account = linux::probe()?;
    let (sent, arrived) = (account.sent.len(), account.arrived.len());
    println!("{arrived} of {sent} packets arrived");
    match fairwave_probe::estimate::naive(&account) {
        Some(packets) => println!("the first gap came after {packets} packets of the train"),
        None => println!("no packet is missing: no buffer on the way filled"),
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the driver of sockets needs Linux");
}
