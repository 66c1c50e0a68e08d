//! The machines of the probe as machines that speak in datagrams.

use crate::{Pinger, PingerInput, Received, Receiver, Sender, SenderInput, Transmit};
use fairwave_machine::datagram::{Datagrams, Incoming, Outgoing};

impl Datagrams for Receiver {
    fn arrived(Incoming { from, to: own, bytes, .. }: Incoming) -> Received {
        Received { from, own, bytes }
    }

    fn departs(Transmit { to, own, bytes }: Transmit) -> Outgoing {
        Outgoing { from: own, ..Outgoing::new(to, bytes) }
    }
}

impl Datagrams for Sender {
    fn arrived(Incoming { from, to: own, bytes, .. }: Incoming) -> SenderInput {
        SenderInput::Received(Received { from, own, bytes })
    }

    fn departs(Transmit { to, own, bytes }: Transmit) -> Outgoing {
        Outgoing { from: own, ..Outgoing::new(to, bytes) }
    }
}

impl Datagrams for Pinger {
    fn arrived(Incoming { from, to: own, bytes, .. }: Incoming) -> PingerInput {
        PingerInput::Received(Received { from, own, bytes })
    }

    fn departs(Transmit { to, own, bytes }: Transmit) -> Outgoing {
        Outgoing { from: own, ..Outgoing::new(to, bytes) }
    }
}
