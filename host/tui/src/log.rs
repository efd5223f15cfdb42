//! What agents said: kept up to a bound, scrolled, searched, filtered by task.

use std::collections::VecDeque;

/// Lines that are kept.
pub const KEPT: usize = 20_000;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The task that the agent was at.
    pub task: String,
    /// Free of control characters.
    pub text: String,
    /// Not an agent's words but ours.
    pub ours: bool,
}

/// All of them, and where one looks.
#[derive(Debug, Default)]
pub struct Log {
    lines: VecDeque<Line>,
    /// So many of them are shown.
    count: usize,
    /// Lines below the view, of those that are shown; 0 follows what comes.
    pub below: usize,
    /// Only of this task.
    pub filter: Option<String>,
    /// What is searched for; empty: nothing.
    pub query: String,
}

/// Without control characters; tabs become spaces.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => clean.push_str("    "),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean
}

impl Log {
    /// One more.
    pub fn push(&mut self, task: &str, text: &str, ours: bool) {
        if self.lines.len() == KEPT
            && let Some(oldest) = self.lines.pop_front()
        {
            self.count -= usize::from(self.shows(&oldest));
        }
        let line = Line {
            task: task.to_owned(),
            text: clean(text),
            ours,
        };
        self.count += usize::from(self.shows(&line));
        // Who has scrolled back goes on seeing the same lines.
        if self.below > 0 && self.shows(&line) {
            self.below += 1;
        }
        self.lines.push_back(line);
        self.below = self.below.min(self.last());
    }

    fn shows(&self, line: &Line) -> bool {
        let filter = self.filter.as_deref();
        filter.is_none_or(|task| line.task == task)
    }

    /// What is shown, the newest first, from the bottom of the view upwards.
    pub fn upwards(&self) -> impl Iterator<Item = &Line> {
        self.shown().skip(self.below)
    }

    fn shown(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().rev().filter(|l| self.shows(l))
    }

    /// The farthest one can scroll back.
    fn last(&self) -> usize {
        self.count.saturating_sub(1)
    }

    /// Up is back in time.
    pub fn scroll(&mut self, up: isize) {
        self.below = self.below.saturating_add_signed(up).min(self.last());
    }

    /// To the oldest line.
    pub fn oldest(&mut self) {
        self.below = self.last();
    }

    /// Shows only one task's lines, or all.
    pub fn only(&mut self, task: Option<String>) {
        self.filter = task;
        self.below = 0;
        self.count = self.shown().count();
    }

    /// Does it hold what is searched for? Small letters find capitals too.
    pub fn matches(&self, text: &str) -> bool {
        if self.query.is_empty() {
            return false;
        }
        if self.query.chars().any(char::is_uppercase) {
            return text.contains(&self.query);
        }
        text.to_lowercase().contains(&self.query)
    }

    /// Searches from the bottom of the view; false if there is nothing.
    pub fn find(&mut self, query: &str) -> bool {
        self.query = query.to_owned();
        self.go(self.below, true)
    }

    /// The next one, older or newer.
    pub fn again(&mut self, older: bool) -> bool {
        match older {
            true => self.go(self.below + 1, true),
            false => self.below > 0 && self.go(self.below - 1, false),
        }
    }

    fn go(&mut self, from: usize, older: bool) -> bool {
        let hits: Vec<usize> = (self.shown().enumerate())
            .filter(|(_, line)| self.matches(&line.text))
            .map(|(at, _)| at)
            .collect();
        let hit = match older {
            true => hits.iter().find(|at| **at >= from),
            false => hits.iter().rev().find(|at| **at <= from),
        };
        let Some(at) = hit else { return false };
        self.below = *at;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(count: usize) -> Log {
        let mut log = Log::default();
        for n in 0..count {
            log.push(
                if n % 2 == 0 { "A" } else { "B" },
                &format!("line {n}"),
                false,
            );
        }
        log
    }

    fn bottom(log: &Log) -> &str {
        log.upwards().next().map_or("", |l| &l.text)
    }

    #[test]
    fn who_scrolled_back_keeps_the_view_while_lines_come() {
        let mut log = log(10);
        log.scroll(3);
        assert_eq!(bottom(&log), "line 6");
        log.push("A", "more", false);
        assert_eq!(bottom(&log), "line 6");
        log.scroll(-100);
        assert_eq!(bottom(&log), "more");
        log.scroll(1000);
        assert_eq!(bottom(&log), "line 0");
    }

    #[test]
    fn it_is_bounded() {
        let mut log = log(KEPT + 10);
        log.oldest();
        assert_eq!(bottom(&log), "line 10");
    }

    #[test]
    fn a_search_goes_back_and_forth_within_what_is_shown() {
        let mut log = log(30);
        assert!(!log.find("LINE 2") && log.find("line 2"));
        assert_eq!(bottom(&log), "line 29");
        log.only(Some("A".into()));
        assert!(log.find("line 1"));
        assert_eq!(bottom(&log), "line 18");
        assert!(log.again(true));
        assert_eq!(bottom(&log), "line 16");
        assert!(log.again(false));
        assert_eq!(bottom(&log), "line 18");
        assert!(!log.again(false));
    }

    #[test]
    fn nothing_that_steers_a_terminal_is_kept() {
        let mut log = Log::default();
        log.push("", "a\u{1b}[31m\tb\r\u{7}", false);
        assert_eq!(bottom(&log), "a[31m    b");
    }
}
