//! What a key is to a program on a terminal.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The bytes that a terminal sends for it; empty for those it has none for.
pub fn typed(key: KeyEvent) -> String {
    let text = match key.code {
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => control(c),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "\r".into(),
        KeyCode::Tab => "\t".into(),
        KeyCode::BackTab => "\u{1b}[Z".into(),
        KeyCode::Backspace => "\u{7f}".into(),
        KeyCode::Esc => "\u{1b}".into(),
        KeyCode::Up => "\u{1b}[A".into(),
        KeyCode::Down => "\u{1b}[B".into(),
        KeyCode::Right => "\u{1b}[C".into(),
        KeyCode::Left => "\u{1b}[D".into(),
        KeyCode::Home => "\u{1b}[H".into(),
        KeyCode::End => "\u{1b}[F".into(),
        KeyCode::Insert => "\u{1b}[2~".into(),
        KeyCode::Delete => "\u{1b}[3~".into(),
        KeyCode::PageUp => "\u{1b}[5~".into(),
        KeyCode::PageDown => "\u{1b}[6~".into(),
        _ => String::new(),
    };
    if key.modifiers.contains(KeyModifiers::ALT) && matches!(key.code, KeyCode::Char(_)) {
        return format!("\u{1b}{text}");
    }
    text
}

fn control(c: char) -> String {
    let c = c.to_ascii_uppercase();
    match c {
        ' ' | '2' => "\0".into(),
        // As crossterm names what a terminal sends for `[`, `\`, `]`, `^` and `_`.
        '4'..='7' => char::from((c as u8) - b'4' + 0x1c).to_string(),
        '@'..='_' => char::from((c as u8) & 0x1f).to_string(),
        '?' => "\u{7f}".into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_a_terminal_sends() {
        let key = |code, modifiers| typed(KeyEvent::new(code, modifiers));
        let none = KeyModifiers::NONE;
        assert_eq!(key(KeyCode::Char('ä'), none), "ä");
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), "\u{3}");
        assert_eq!(key(KeyCode::Char('5'), KeyModifiers::CONTROL), "\u{1d}");
        assert_eq!(key(KeyCode::Char('x'), KeyModifiers::ALT), "\u{1b}x");
        assert_eq!(key(KeyCode::Up, none), "\u{1b}[A");
        assert_eq!(key(KeyCode::F(5), none), "");
    }
}
