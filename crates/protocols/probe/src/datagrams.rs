//! The machines of the probe as machines that speak in datagrams.

use crate::{Pinger, PingerInput, Received, Receiver, Sender, SenderInput, Transmit};
use fairwave_machine::datagram::{Datagrams, Incoming, Outgoing};

impl Datagrams for Receiver {
    fn arrived(Incoming { from, bytes, .. }: Incoming) -> Received {
        Received { from, bytes }
    }

    fn departs(Transmit { to, bytes }: Transmit) -> Outgoing {
        Outgoing::new(to, bytes)
    }
}

impl Datagrams for Sender {
    fn arrived(Incoming { from, bytes, .. }: Incoming) -> SenderInput {
        SenderInput::Received(Received { from, bytes })
    }

    fn departs(Transmit { to, bytes }: Transmit) -> Outgoing {
        Outgoing::new(to, bytes)
    }
}

impl Datagrams for Pinger {
    fn arrived(Incoming { from, bytes, .. }: Incoming) -> PingerInput {
        PingerInput::Received(Received { from, bytes })
    }

    fn departs(Transmit { to, bytes }: Transmit) -> Outgoing {
        Outgoing::new(to, bytes)
    }
}
