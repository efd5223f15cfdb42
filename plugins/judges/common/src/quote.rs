//! Text from others inside a prompt: fences that can't be closed from inside, and
//! characters that can't hide.

/// `text` between fences marked `mark`, longer than any run of backticks in it.
pub fn fenced(mark: &str, text: &str) -> String {
    let text = visible(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let line_end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}{mark}\n{text}{line_end}{fence}\n")
}

/// `text` with everything shown that a reader would not see: control characters as
/// their Unicode pictures, bidirectional marks, zero-width and tag characters as
/// `\u{…}`. CR LF becomes LF.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\0'..='\u{1f}' => out.extend(char::from_u32(0x2400 + u32::from(c))),
            '\u{7f}' => out.push('\u{2421}'),
            '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0e}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}' => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_closes_its_own_fence() {
        for text in ["", "a", "```\nb", "a\n``````\n", "`", "~~~"] {
            let fenced = fenced("text", text);
            let fence: String = fenced.chars().take_while(|c| *c == '`').collect();
            assert!(
                fence.len() >= 3
                    && fenced.starts_with(&format!("{fence}text\n"))
                    && fenced.ends_with(&format!("\n{fence}\n")),
                "{fenced}"
            );
            assert!(!text.contains(&fence), "{fenced}");
        }
    }

    #[test]
    fn what_hides_is_shown() {
        assert_eq!(
            visible("a\r\nb\rc\u{1b}[2J\0\u{7f}"),
            "a\nb\u{240d}c\u{241b}[2J\u{2400}\u{2421}"
        );
        assert_eq!(
            visible("\u{202e}x\u{200b}\u{e0041}\u{feff}"),
            "\\u{202e}x\\u{200b}\\u{e0041}\\u{feff}"
        );
        assert_eq!(visible("é 語 😀\te\u{301}"), "é 語 😀\te\u{301}");
    }
}
