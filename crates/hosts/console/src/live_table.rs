//! A table of figures that changes while a terminal shows it.

use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::widgets::{Paragraph, Row, Table};
use ratatui::{Frame, Terminal};
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

/// Minimum number of lines above the table.
const HEADLINES: u16 = 3;
/// Width of the gap between two columns.
const GAP: usize = 1;
/// Minimum width of the column of names.
const NAME_WIDTH: usize = 12;

/// Content of the terminal.
pub struct LiveTable<'a> {
    /// Lines above the table. They take at most half of a low terminal.
    pub headline: String,
    /// Heads of the columns, the first that of names, then the most important ones first: a narrow
    /// terminal has no room for the last.
    pub heads: &'a [&'a str],
    /// A cell for each head.
    pub rows: Vec<Vec<String>>,
}

/// The next step: end, leave the terminal as it is, or draw a new table.
pub type Turn<'a> = ControlFlow<(), Option<LiveTable<'a>>>;

/// Draws the result of `next` once in each interval `every`, until `next` breaks. The argument of
/// `next` is whether the user requested the end by q or Ctrl-C. If the terminal changes its size,
/// the screen is redrawn at once.
///
/// # Errors
/// The terminal cannot be drawn on.
pub fn follow<'a>(every: Duration, mut next: impl FnMut(bool) -> Turn<'a>) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    // A closure, so that the terminal is also restored after an error.
    let followed = (|| {
        let mut is_over = false;
        while let ControlFlow::Continue(table) = next(is_over) {
            if let Some(table) = table {
                terminal.draw(|frame| draw(frame, &table))?;
            }
            is_over = loop {
                match event::poll(every)? {
                    false => break false,
                    true => match event::read()? {
                        Event::Resize(..) => break false,
                        event if is_end(&event) => break true,
                        _ => {}
                    },
                }
            };
        }
        Ok(())
    })();
    ratatui::restore();
    followed
}

fn is_end(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Char('q') || (is_control && key.code == KeyCode::Char('c'))
}

/// A table as a terminal of this size shows it, for tests: a line in quotation marks for each of
/// the terminal's.
pub fn on_terminal(table: &LiveTable<'_>, width: u16, height: u16) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| draw(frame, table));
    terminal.backend().to_string()
}

/// Draws a table on a frame of any size.
fn draw(frame: &mut Frame<'_>, table: &LiveTable<'_>) {
    let needed = table.headline.lines().count().saturating_add(1);
    let needed = u16::try_from(needed).unwrap_or(u16::MAX).min(frame.area().height / 2);
    let above = Constraint::Length(needed.max(HEADLINES));
    let [head, body] = Layout::vertical([above, Constraint::Min(0)]).areas(frame.area());
    frame.render_widget(Paragraph::new(table.headline.as_str()), head);
    let rows = &table.rows;
    // The heads take a line.
    let lines = usize::from(body.height).saturating_sub(1);
    // If not all rows fit, the last line shows the number of those left out.
    let shown = if rows.len() > lines { lines.saturating_sub(1) } else { rows.len() };
    let left_out = rows.len() - shown;
    frame.render_widget(widget(table.heads, &rows[..shown], usize::from(body.width)), body);
    if left_out > 0 {
        let more = format!("... and {left_out} more, which a higher terminal shows");
        let last = Rect { y: body.bottom().saturating_sub(1), height: body.height.min(1), ..body };
        frame.render_widget(Paragraph::new(more), last);
    }
}

/// The rows below their heads. Columns of figures are as wide as their heads; the names get the
/// remaining width.
fn widget<'a>(heads: &'a [&'a str], rows: &'a [Vec<String>], width: usize) -> Table<'a> {
    let longest = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let name_width = longest.max(NAME_WIDTH);
    let shown = columns(heads, name_width, width);
    let name = Constraint::Length(name_width.try_into().unwrap_or(u16::MAX));
    let figures = heads[1..shown].iter().map(|head| Constraint::Min(head.len() as u16));
    let widths = [name].into_iter().chain(figures);
    let rows = rows.iter().map(|row| Row::new(row.iter().take(shown).map(String::as_str)));
    let heads = Row::new(heads[..shown].iter().copied()).bold();
    Table::new(rows, widths.collect::<Vec<_>>()).header(heads)
}

/// Number of columns that fit, at least one. Columns are never cut: a truncated number would be
/// misread.
fn columns(heads: &[&str], name_width: usize, width: usize) -> usize {
    let mut end = name_width;
    let figures = heads[1..].iter().take_while(|head| {
        end += GAP + head.chars().count();
        end <= width
    });
    1 + figures.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(width: u16, height: u16, headline: &str) -> String {
        let heads = ["station", "SoC dB", "weight", "source"];
        let row = |number| {
            [format!("02:00:00:00:00:0{number}"), "14.0".into(), "1.00".into(), "report".into()]
        };
        let rows = (1..=3).map(|number| row(number).to_vec()).collect();
        let table = LiveTable { headline: headline.to_owned(), heads: &heads, rows };
        on_terminal(&table, width, height)
    }

    #[test]
    fn a_narrow_terminal_has_whole_columns_or_none() {
        assert!(drawn(38, 8, "wlan0").contains("02:00:00:00:00:01 14.0   1.00   report"));
        let narrow = drawn(37, 8, "wlan0");
        assert!(narrow.contains("02:00:00:00:00:01 14.0") && narrow.contains("weight"), "{narrow}");
        assert!(!narrow.contains("sourc") && !narrow.contains("repor"), "{narrow}");
        let minimum = drawn(10, 8, "wlan0");
        assert!(minimum.contains("02:00") && !minimum.contains("SoC"), "{minimum}");
        drawn(1, 1, "wlan0");
    }

    #[test]
    fn a_low_terminal_counts_the_rows_that_it_has_no_room_for() {
        let low = drawn(60, 6, "wlan0");
        assert!(low.contains("... and 2 more") && low.contains("00:01 "), "{low}");
        assert!(!low.contains("00:02 "), "{low}");
        let several = drawn(60, 12, "wlan0\nwlan1\nwlan2\nwlan3");
        assert!(several.contains("wlan3") && several.contains("00:03 "), "{several}");
    }
}
