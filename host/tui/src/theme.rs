//! Colours, or none.

use ratatui::style::{Color, Modifier, Style};

/// Which styles are used. Without colours the meaning is in words and weight alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Theme {
    /// Are colours wanted?
    pub color: bool,
}

impl Theme {
    fn of(self, color: Color) -> Style {
        if self.color {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }

    /// What went well.
    pub fn good(self) -> Style {
        self.of(Color::Green)
    }

    /// What didn't.
    pub fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What is at work.
    pub fn busy(self) -> Style {
        self.of(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// What a person should see.
    pub fn notice(self) -> Style {
        self.of(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// What is beside the point.
    pub fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What is marked.
    pub fn marked(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
