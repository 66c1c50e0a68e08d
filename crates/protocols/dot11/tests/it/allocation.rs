//! In the steady state a channel does not allocate, aggregating or not.

use fairwave_dot11::channel::{
    Channel, Config, ErrorModel, Input, Mpdu, Output, RadioConfig, RadioId,
};
use fairwave_dot11::{AccessCategory, Mode, Phy, Standard};
use fairwave_machine::Machine;
use fairwave_units::{Dbm, Duration, Instant, Metres, Seed};

struct Cell {
    channel: Channel<u32>,
    mode: Mode,
    now: Instant,
    delivered: u64,
}

impl Cell {
    fn new(standard: Standard) -> Self {
        let phy = Phy::new(standard);
        let errors = ErrorModel::Rate { data: 0.1, control: 0.02 };
        let config = Config { errors, ..Config::new(phy) };
        let radio = |i: u32| RadioConfig {
            name: format!("radio{i}"),
            position: (Metres(f64::from(i)), Metres(0.0)),
            power: Dbm(16.0),
            is_access_point: false,
            path: None,
            snr_trace: None,
            roams: false,
            rates: None,
            capabilities: fairwave_dot11::Capabilities::default(),
        };
        let radios: Vec<RadioConfig> = (0..4).map(radio).collect();
        let channel = Channel::new(config, &radios, Seed(1), "cell");
        Self { channel, mode: phy.modes(1)[4], now: Instant::ZERO, delivered: 0 }
    }

    fn fill(&mut self) {
        for (i, category) in (1..4).zip([AccessCategory::BestEffort, AccessCategory::Video]) {
            let (own, to) = (RadioId(i), RadioId(0));
            let takes = |channel: &Channel<u32>| {
                channel.is_ready(own, category) || channel.has_room(own, category, to, true)
            };
            while takes(&self.channel) {
                let (mode, payload) = (self.mode, 0);
                let mpdu = Mpdu { to: Some(to), bytes: 1538, mode, category, payload };
                self.channel.handle(self.now, Input::Send(own, mpdu));
            }
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        self.fill();
        while let Some(due) = self.channel.deadline().filter(|due| *due <= end) {
            self.now = due;
            self.channel.wake(due);
            while let Some(output) = self.channel.poll(due) {
                self.delivered += u64::from(matches!(output, Output::Deliver { .. }));
            }
            self.channel.released().for_each(drop);
            self.fill();
        }
    }
}

#[test]
fn frames_are_sent_without_allocation() {
    let seen = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(seen.count_total, 1, "the counter does not count");
    for standard in [Standard::A, Standard::N, Standard::Ac] {
        let mut cell = Cell::new(standard);
        cell.run(Duration::from_secs(3));
        let before = cell.delivered;
        let counted = allocation_counter::measure(|| cell.run(Duration::from_secs(1)));
        let delivered = cell.delivered - before;
        assert!(delivered > 500, "{standard:?}: {delivered}");
        assert_eq!(counted.count_total, 0, "{standard:?}: {delivered} frames");
    }
}
