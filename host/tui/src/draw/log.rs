//! The agents' output, wrapped, from the bottom up.

use std::collections::VecDeque;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthChar;

use crate::log::Log;
use crate::theme::Theme;

pub(super) fn draw(frame: &mut Frame<'_>, log: &Log, theme: Theme, area: Rect) {
    let [title, view] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let what = log.filter.as_deref().unwrap_or("all tasks");
    let place = match log.below {
        0 => "follows".to_owned(),
        n => format!("{n} lines below"),
    };
    let head = format!("── output of {what} · {place} ──");
    frame.render_widget(Paragraph::new(head).style(theme.quiet()), title);
    let (width, height) = (usize::from(view.width), usize::from(view.height));
    let mut rows: VecDeque<Line<'_>> = VecDeque::new();
    for line in log.upwards() {
        if rows.len() >= height || width == 0 {
            break;
        }
        let style = match line.text.as_bytes() {
            _ if log.matches(&line.text) => theme.marked(),
            _ if line.ours => theme.busy(),
            [b'~' | b'>', b' ', ..] => theme.quiet(),
            [b'!', b' ', ..] => theme.notice(),
            _ => Style::new(),
        };
        for piece in wrapped(&line.text, width).into_iter().rev() {
            rows.push_front(Line::from(Span::styled(piece, style)));
        }
    }
    while rows.len() > height {
        rows.pop_front();
    }
    frame.render_widget(Paragraph::new(Vec::from(rows)), view);
}

/// Pieces of at most this width; at least one.
fn wrapped(text: &str, width: usize) -> Vec<&str> {
    let (mut pieces, mut from, mut used) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        let wide = c.width().unwrap_or(0);
        if used + wide > width && at > from {
            pieces.push(&text[from..at]);
            (from, used) = (at, 0);
        }
        used += wide;
    }
    pieces.push(&text[from..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_by_what_they_are_wide() {
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("日", 1), ["日"]);
    }
}
