//! Several runs side by side: where the pane of each is.

use ratatui::layout::{Constraint, Layout, Rect};

/// A pane has at least this many columns,
const WIDTH: u16 = 39;
/// and lines.
const HEIGHT: u16 = 9;

/// The panes that have room, by the number of their runs. The focus has one of them; where not all
/// have one, its neighbours do. Empty: there is room for one run only.
pub(super) fn panes(area: Rect, count: usize, focus: usize) -> Vec<(usize, Rect)> {
    // Between two columns there is a line.
    let most = (
        usize::from(area.width.saturating_add(1) / (WIDTH + 1)),
        usize::from(area.height / HEIGHT),
    );
    let shown = count.min(most.0 * most.1);
    if shown < 2 {
        return Vec::new();
    }
    let (mut columns, mut rows) = (1, 1);
    while columns * rows < shown {
        match columns < most.0 && (columns <= rows || rows == most.1) {
            true => columns += 1,
            false => rows += 1,
        }
    }
    let from = (focus / shown * shown).min(count - shown);
    let runs: Vec<usize> = (from..from + shown).collect();
    let lines = Layout::vertical(vec![Constraint::Fill(1); rows]).split(area);
    let row = |(runs, line): (&[usize], &Rect)| {
        let columns = vec![Constraint::Fill(1); runs.len()];
        let places = Layout::horizontal(columns).spacing(1).split(*line);
        let both = runs.iter().copied().zip(places.iter().copied());
        both.collect::<Vec<_>>()
    };
    runs.chunks(columns)
        .zip(lines.iter())
        .flat_map(row)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: u16, height: u16, count: usize, focus: usize) -> Vec<usize> {
        let all = panes(Rect::new(0, 1, width, height), count, focus);
        for (at, (_, pane)) in all.iter().enumerate() {
            assert!(pane.width >= WIDTH && pane.height >= HEIGHT, "{pane}");
            assert!(pane.right() <= width && pane.bottom() <= height + 1);
            let others = all.iter().skip(at + 1);
            assert!(others.into_iter().all(|(_, o)| !o.intersects(*pane)));
        }
        all.into_iter().map(|(run, _)| run).collect()
    }

    #[test]
    fn as_many_are_shown_as_have_room_and_the_focus_is_among_them() {
        let none: [usize; 0] = [];
        assert_eq!(shown(200, 50, 0, 0), none);
        assert_eq!(shown(200, 50, 1, 0), none);
        assert_eq!(shown(79, 20, 2, 0), [0, 1]);
        assert_eq!(shown(78, 17, 2, 0), none, "too small");
        assert_eq!(shown(78, 18, 2, 1), [0, 1], "one above the other");
        assert_eq!(shown(120, 30, 10, 9), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(shown(80, 20, 9, 0), [0, 1, 2, 3]);
        assert_eq!(shown(80, 20, 9, 5), [4, 5, 6, 7]);
        assert_eq!(shown(80, 20, 9, 8), [5, 6, 7, 8]);
        for (width, height) in [(0, 0), (1, 1), (39, 9), (65535, 1), (1, 65535)] {
            for focus in 0..30 {
                let all = shown(width, height, 30, focus);
                assert!(all.is_empty() || all.contains(&focus));
            }
        }
    }

    #[test]
    fn the_last_row_is_as_wide_as_the_others() {
        let all = panes(Rect::new(0, 0, 161, 40), 3, 0);
        let widths: Vec<u16> = all.iter().map(|(_, pane)| pane.width).collect();
        assert_eq!(widths, [80, 80, 161]);
    }
}
