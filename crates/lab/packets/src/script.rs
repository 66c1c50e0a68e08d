//! A whole script: its source, its settings, and what happens line by line.

use crate::parse::{self, Act, Line, Remark, When};
use crate::settings::Settings;
use fairwave_units::{Duration, Instant};

/// A script that has been read.
#[derive(Clone, Debug)]
pub struct Script {
    name: String,
    about: String,
    remark: Option<Remark>,
    pub(crate) settings: Settings,
    pub(crate) steps: Vec<Step>,
}

/// A line with a time.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Number of the line, from 1.
    pub(crate) line: usize,
    /// Time since the script began.
    pub(crate) at: Instant,
    /// Time since whatever happened before.
    pub(crate) since: Duration,
    pub(crate) act: Act,
}

impl Script {
    /// Reads the script `text`, which is called `name` in messages.
    ///
    /// # Errors
    /// Description of the error, after name and line.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let at = |line: usize, what: &str| format!("{name}:{line}: {what}");
        let cites = text.strip_prefix("# ").filter(|rest| {
            rest.starts_with("RFC ") || rest.starts_with("tcp_") || rest.starts_with("Linux")
        });
        let about = cites
            .and_then(|rest| rest.lines().next())
            .ok_or_else(|| at(1, "the first line must cite the source: # RFC N section M: ..."))?;
        let mut script = Self {
            name: name.to_owned(),
            about: about.to_owned(),
            remark: None,
            settings: Settings::default(),
            steps: Vec::new(),
        };
        for (number, line) in (1..).zip(text.lines()) {
            let read = parse::line(line).map_err(|what| at(number, &what))?;
            let taken = read.map_or(Ok(()), |line| script.take(number, line));
            taken.map_err(|what| at(number, &what))?;
        }
        Ok(script)
    }

    fn take(&mut self, number: usize, line: Line) -> Result<(), String> {
        match line {
            Line::Config(_) if !self.steps.is_empty() => Err("config comes first".to_owned()),
            Line::Config(pairs) => pairs.iter().try_for_each(|(k, v)| self.settings.set(k, v)),
            Line::Remark(remark) => {
                self.remark = Some(remark);
                Ok(())
            }
            Line::At(when, act) => self.push(number, when, act),
        }
    }

    fn push(&mut self, line: usize, when: When, act: Act) -> Result<(), String> {
        let now = self.end();
        let at = match when {
            When::Time(at) => at,
            When::After(later) => now + later,
        };
        if at < now {
            return Err(format!("it is {now} already"));
        }
        let before = self.steps.iter().rev().find(|step| step.at < at);
        let since = before.map_or(at.since(Instant::ZERO), |step| at.since(step.at));
        self.steps.push(Step { line, at, since, act });
        Ok(())
    }

    /// Time of the last line: as long does a real world need.
    pub(crate) fn end(&self) -> Instant {
        // `establish` takes a round trip, after which the next line may be written.
        self.steps.last().map_or(Instant::ZERO, |step| match step.act {
            Act::Establish => step.at + ROUND_TRIP,
            _ => step.at,
        })
    }

    /// Duration in real time.
    pub fn length(&self) -> Duration {
        self.end().since(Instant::ZERO)
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Requirement on an endpoint: the source and the rule.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Known deviation of the kernel.
    pub fn remark(&self) -> Option<&Remark> {
        self.remark.as_ref()
    }
}

/// Delay between SYN and SYN-ACK in `establish`.
pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(100);
