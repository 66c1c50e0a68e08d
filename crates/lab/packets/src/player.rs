//! Plays a script in a world, line by line.

use crate::parse::{Act, Options, Shape};
use crate::script::{ROUND_TRIP, Script, Step};
use crate::segment::{Seen, compare, show};
use crate::world::{Answer, Call, Played, World};
use fairwave_units::{Duration, Instant};
use fairwave_wire::tcp::Flags;
use std::collections::VecDeque;

/// Window of a peer that has not written one yet.
const FIRST_WINDOW: u16 = 60_000;

/// A script under way.
struct Player<'w, W> {
    world: &'w mut W,
    /// Segments that left, and that no line has expected yet.
    sent: VecDeque<Seen>,
    /// The window that the peer wrote last.
    window: u16,
}

/// Plays `script` in `world`. The first difference is reported after name and line.
pub(crate) fn play(script: &Script, world: &mut impl World) -> Played<()> {
    let at = |line: usize, what: &str| format!("{}:{line}: {what}", script.name());
    let mut player = Player { world, sent: VecDeque::new(), window: FIRST_WINDOW };
    for step in &script.steps {
        player.take(step).map_err(|what| at(step.line, &what))?;
    }
    let last = script.steps.last().map_or(1, |step| step.line);
    let end = script.end();
    player.pass(end).and_then(|()| player.nothing_unexpected()).map_err(|what| at(last, &what))
}

impl<W: World> Player<'_, W> {
    fn take(&mut self, step: &Step) -> Played<()> {
        if let Act::Leaves(shape) = &step.act {
            return self.leaves(step, shape);
        }
        self.pass(step.at)?;
        self.nothing_unexpected()?;
        let call = match &step.act {
            Act::Leaves(_) => unreachable!("it was taken above"),
            Act::Expect(pairs) => {
                return pairs.iter().try_for_each(|(k, v)| self.expect(step, k, v));
            }
            Act::Establish => return self.establish(step.at),
            Act::Arrives(shape) => return self.arrive(shape.clone()),
            Act::Read(bytes) => Call::Read(*bytes),
            Act::Open => Call::Open,
            Act::Listen => Call::Listen,
            Act::Write(bytes) => Call::Write(*bytes),
            Act::Close => Call::Close,
            Act::Abort => Call::Abort,
        };
        self.world.call(call)
    }

    /// Time passes until `at`.
    fn pass(&mut self, at: Instant) -> Played<()> {
        while let Some(seen) = self.world.departure(at)? {
            self.sent.push_back(seen);
        }
        Ok(())
    }

    fn nothing_unexpected(&self) -> Played<()> {
        self.sent.front().map_or(Ok(()), |seen| Err(unexpected(seen)))
    }

    fn arrive(&mut self, mut shape: Shape) -> Played<()> {
        self.window = shape.window.unwrap_or(self.window);
        shape.window = Some(self.window);
        self.world.arrive(&shape)
    }

    /// The next segment that leaves up to `at`, and whatever may be later in this world.
    fn next(&mut self, at: Instant, late: Duration) -> Played<Option<Seen>> {
        match self.sent.pop_front() {
            Some(seen) => Ok(Some(seen)),
            None => self.world.departure(at + late),
        }
    }

    /// The next segments that leave must be those of `shape`.
    fn leaves(&mut self, step: &Step, shape: &Shape) -> Played<()> {
        for n in 0..shape.run {
            let (early, late) = self.world.slack(step.since);
            let Some(seen) = self.next(step.at, late)? else {
                let at = step.at;
                return Err(format!("segment {} of {} did not leave at {at}", n + 1, shape.run));
            };
            if seen.at + early < step.at {
                return Err(unexpected(&seen));
            }
            compare(shape, shape.seq + n * shape.len, &seen, self.world.exactness())?;
            if let Some((value, _)) = seen.options.timestamps {
                let nominal = (step.at.as_nanos() / 1_000_000) as u32;
                let written = shape.options.as_ref().and_then(|options| options.timestamps);
                self.world.note_stamp(written.map_or(nominal, |(value, _)| value), value);
            }
        }
        Ok(())
    }

    /// An active open that the peer answers a round trip later with the same options.
    fn establish(&mut self, at: Instant) -> Played<()> {
        self.world.call(Call::Open)?;
        let (_, late) = self.world.slack(Duration::ZERO);
        let syn = self.world.departure(at + late)?.ok_or("no SYN left")?;
        if let Some((value, _)) = syn.options.timestamps {
            self.world.note_stamp(0, value);
        }
        let answered = at + ROUND_TRIP;
        self.pass(answered)?;
        self.nothing_unexpected()?;
        let stamps = syn.options.timestamps.map(|_| (0, 0));
        let options = Options { timestamps: stamps, ..syn.options };
        let flags = Flags { syn: true, ack: true, ece: syn.flags.ece, ..Flags::default() };
        let ack = Some(1);
        self.arrive(Shape { flags, ack, run: 1, options: Some(options), ..Shape::default() })?;
        let (_, late) = self.world.slack(Duration::ZERO);
        let ack = self.world.departure(answered + late)?.ok_or("the SYN-ACK was not answered")?;
        let flags = Flags { ack: true, ..Flags::default() };
        let wanted = Shape { flags, ack: Some(1), run: 1, ..Shape::default() };
        compare(&wanted, 1, &ack, self.world.exactness())?;
        if let Some((value, _)) = ack.options.timestamps {
            self.world.note_stamp((answered.as_nanos() / 1_000_000) as u32, value);
        }
        Ok(())
    }

    fn expect(&mut self, step: &Step, key: &str, value: &str) -> Played<()> {
        match self.world.answer(key)? {
            Answer::Hidden => Ok(()),
            Answer::Exactly(reported) if reported == value => Ok(()),
            Answer::Exactly(reported) => Err(format!("{key} is {reported}, not {value}")),
            Answer::Nearly(reported) => {
                let wanted: u64 =
                    value.parse().map_err(|_| format!("{key} is {reported}, not {value}"))?;
                let (_, late) = self.world.slack(Duration::from_millis(wanted).max(step.since));
                let near = reported.abs_diff(wanted) <= late.as_millis();
                if near { Ok(()) } else { Err(format!("{key} is {reported}, not {value}")) }
            }
        }
    }
}

fn unexpected(seen: &Seen) -> String {
    format!("left at {} and was not expected: {}", seen.at, show(seen))
}
