//! A screen of figures in a table that changes while a terminal shows it.

use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::widgets::{Paragraph, Row, Table};
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

/// Lines above the table.
const HEADLINES: u16 = 3;
/// Columns that names have at least.
const NAME_WIDTH: usize = 12;

/// What is on the screen at a time.
pub(crate) struct Screen<'a> {
    /// Two lines at most.
    pub(crate) headline: String,
    /// Heads of the columns, the first that of names.
    pub(crate) heads: &'a [&'a str],
    /// A cell for each head.
    pub(crate) rows: Vec<Vec<String>>,
}

/// What to do next.
pub(crate) type Turn<'a> = ControlFlow<(), Option<Screen<'a>>>;

/// Draws what `next` gives, `every` so long, until that breaks. It is told whether somebody asked
/// for the end, by q or Ctrl-C.
///
/// # Errors
/// The terminal cannot be drawn on.
pub(crate) fn keep<'a>(every: Duration, mut next: impl FnMut(bool) -> Turn<'a>) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let kept = (|| {
        let mut is_over = false;
        while let ControlFlow::Continue(screen) = next(is_over) {
            if let Some(screen) = screen {
                terminal.draw(|frame| draw(frame, &screen))?;
            }
            is_over = loop {
                match event::poll(every)? {
                    false => break false,
                    true if is_end(&event::read()?) => break true,
                    true => {}
                }
            };
        }
        Ok(())
    })();
    ratatui::restore();
    kept
}

fn is_end(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Char('q') || (is_control && key.code == KeyCode::Char('c'))
}

/// Draws a screen on a frame of any size.
pub(crate) fn draw(frame: &mut Frame<'_>, screen: &Screen<'_>) {
    let areas = Layout::vertical([Constraint::Length(HEADLINES), Constraint::Min(0)]);
    let [head, body] = areas.areas(frame.area());
    frame.render_widget(Paragraph::new(screen.headline.as_str()), head);
    let rows = &screen.rows;
    // The heads take a line.
    let lines = usize::from(body.height).saturating_sub(1);
    // Where not all rows fit, the last line counts those that are left out.
    let shown = if rows.len() > lines { lines.saturating_sub(1) } else { rows.len() };
    let left_out = rows.len() - shown;
    frame.render_widget(table(screen.heads, &rows[..shown]), body);
    if left_out > 0 {
        let more = format!("... and {left_out} more, which a higher terminal shows");
        let last = Rect { y: body.bottom().saturating_sub(1), height: body.height.min(1), ..body };
        frame.render_widget(Paragraph::new(more), last);
    }
}

/// The rows below their heads. Figures are as wide as their heads, so that names have the rest.
fn table<'a>(heads: &'a [&'a str], rows: &'a [Vec<String>]) -> Table<'a> {
    let longest = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let name = Constraint::Length(longest.max(NAME_WIDTH).try_into().unwrap_or(u16::MAX));
    let widths =
        [name].into_iter().chain(heads[1..].iter().map(|head| Constraint::Min(head.len() as u16)));
    let rows = rows.iter().map(|row| Row::new(row.iter().map(String::as_str)));
    let heads = Row::new(heads.iter().copied()).bold();
    Table::new(rows, widths.collect::<Vec<_>>()).header(heads)
}
