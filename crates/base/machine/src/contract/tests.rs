//! The check itself must be able to fail: one obedient machine, and one breach for each rule.

use super::*;

/// An alarm clock: told a span, it rings once when the span is over.
#[derive(Debug, Default)]
struct Alarm {
    breach: Breach,
    due: Option<Instant>,
    rung: Option<Instant>,
    observed: Option<()>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Breach {
    #[default]
    None,
    RingsWheneverWoken,
    RingsForever,
    ObservesForever,
    KeepsAPastDeadline,
    NeverMovesOn,
    PostponesWhenWokenEarly,
}

impl Machine for Alarm {
    type Input = Duration;
    type Output = Instant;
    type Event = ();

    fn handle(&mut self, now: Instant, span: Duration) {
        self.due = Some(now + span);
    }

    fn wake(&mut self, now: Instant) {
        if self.breach == Breach::RingsWheneverWoken {
            self.rung = Some(now);
        }
        let Some(due) = self.due else { return };
        if due <= now {
            self.rung = Some(now);
            self.observed = Some(());
            match self.breach {
                Breach::KeepsAPastDeadline => self.due = Some(Instant::ZERO),
                Breach::NeverMovesOn => {}
                _ => self.due = None,
            }
        } else if self.breach == Breach::PostponesWhenWokenEarly {
            self.due = Some(due + Duration::from_nanos(1));
        }
    }

    fn poll(&mut self, _now: Instant) -> Option<Instant> {
        if self.breach == Breach::RingsForever { self.rung } else { self.rung.take() }
    }

    fn deadline(&self) -> Option<Instant> {
        self.due
    }

    fn event(&mut self) -> Option<()> {
        if self.breach == Breach::ObservesForever { self.observed } else { self.observed.take() }
    }
}

#[test]
fn an_obedient_machine_passes_and_its_outputs_are_returned() {
    let rings = run(Breach::None);
    assert_eq!(rings, [(at_ms(10), at_ms(10)), (at_ms(35), at_ms(35))]);
}

#[test]
#[should_panic(expected = "an early wake produced output")]
fn output_from_an_early_wake_is_found() {
    run(Breach::RingsWheneverWoken);
}

#[test]
#[should_panic(expected = "the drain does not end")]
fn an_endless_drain_is_found() {
    run(Breach::RingsForever);
}

#[test]
#[should_panic(expected = "the events do not end")]
fn endless_events_are_found() {
    run(Breach::ObservesForever);
}

#[test]
#[should_panic(expected = "drained, yet the deadline is 0.000000s")]
fn a_deadline_in_the_past_is_found() {
    run(Breach::KeepsAPastDeadline);
}

#[test]
#[should_panic(expected = "time does not move on")]
fn a_deadline_that_never_moves_on_is_found() {
    run(Breach::NeverMovesOn);
}

#[test]
#[should_panic(expected = "an early wake moved the deadline")]
fn a_deadline_moved_by_an_early_wake_is_found() {
    run(Breach::PostponesWhenWokenEarly);
}

/// Sets the alarm for 10 ms at 0, then at 30 ms for 5 ms.
fn run(breach: Breach) -> Vec<(Instant, Instant)> {
    let mut alarm = Alarm { breach, ..Alarm::default() };
    let inputs =
        [(Instant::ZERO, Duration::from_millis(10)), (at_ms(30), Duration::from_millis(5))];
    check(&mut alarm, inputs, at_ms(100))
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}
