//! A terminal: lines that stay scroll by, and below them stands what is going on now.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ralph_engine::event::Event;
use ralph_engine::fact::Phase;
use ralph_runner::View;

use super::model::{Model, Said, Tone};
use crate::out;

/// The live view.
pub struct Live {
    model: Mutex<Model>,
    bar: ProgressBar,
    color: bool,
}

impl Live {
    /// Is there a terminal to draw on?
    pub fn fits() -> bool {
        std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
    }

    pub fn new() -> Live {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
        let style = ProgressStyle::with_template("{spinner} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(120));
        Live {
            model: Mutex::new(Model::new()),
            bar,
            color: out::color(&std::io::stdout()),
        }
    }

    fn paint(&self, said: &Said) -> String {
        let style = match said.tone {
            _ if !self.color => Style::new(),
            Tone::Title => Style::new().bold(),
            Tone::Good => Style::new().fg_color(Some(AnsiColor::Green.into())),
            Tone::Bad => Style::new().fg_color(Some(AnsiColor::Red.into())),
            Tone::Quiet => Style::new().dimmed(),
        };
        let indent = if said.tone == Tone::Title { "" } else { "    " };
        format!("{indent}{style}{}{style:#}", said.text)
    }
}

impl View for Live {
    fn event(&self, event: &Event) {
        let Ok(mut model) = self.model.lock() else {
            return;
        };
        let lines = model.event(event);
        // What an agent says passes by below; only what the host says stays.
        if !matches!(event, Event::Agent { .. }) {
            for said in &lines {
                self.bar.println(self.paint(said));
            }
        }
        if matches!(event, Event::Fact(ralph_engine::Fact::RunEnded { .. })) {
            self.bar.finish_and_clear();
            return;
        }
        let tokens = model.tokens();
        let now = match model.phase {
            None | Some(Phase::Prepare) => "preparing".to_owned(),
            Some(Phase::Gates) => format!("gates ({} answered)", model.gates.0),
            Some(phase) => format!("{phase:?}").to_lowercase(),
        };
        let elapsed = super::model::time(
            u64::try_from(model.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        );
        let mut message = format!(
            "{} · {now} · {elapsed} · {} tokens",
            model.title,
            tokens.input_tokens.saturating_add(tokens.output_tokens)
        );
        if let Some(last) = model.recent.back() {
            message.push_str(&format!(" · {last}"));
        }
        self.bar.set_message(message);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
