//! What one list item says: its marker, its box, its id, its dependencies.

use super::checklist;
use crate::types::TaskState;

/// A list marker and what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// Bytes (and columns) of the marker itself.
    pub width: usize,
    /// `1.` or `1)`, not a bullet.
    pub ordered: bool,
}

/// The marker at the start of `text`, which begins with no blank.
pub(super) fn marker(text: &str) -> Option<Marker> {
    let bytes = text.as_bytes();
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let (width, ordered) = match bytes.first()? {
        b'-' | b'*' | b'+' => (1, false),
        // CommonMark's limit; longer numbers are text.
        b'0'..=b'9' if digits <= 9 && matches!(bytes.get(digits), Some(b'.' | b')')) => {
            (digits + 1, true)
        }
        _ => return None,
    };
    matches!(bytes.get(width), None | Some(b' ' | b'\t')).then_some(Marker { width, ordered })
}

/// Three or more of `-`, `*` or `_`, blanks between them allowed, and nothing else.
pub(super) fn is_break(text: &str) -> bool {
    let mut bytes = text.bytes().filter(|b| !matches!(b, b' ' | b'\t'));
    let Some(first @ (b'-' | b'*' | b'_')) = bytes.next() else {
        return false;
    };
    let mut count = 1;
    for byte in bytes {
        if byte != first {
            return false;
        }
        count += 1;
    }
    count >= 3
}

/// What stands in brackets at the start of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark<'a> {
    /// A box, and the text behind it. The mark itself is one byte, at offset 1.
    Box(TaskState, &'a str),
    /// Meant as a box, it seems, but none: the bracket as written.
    Odd(&'a str),
    /// An item like any other.
    None,
}

pub(super) fn mark(content: &str) -> Mark<'_> {
    let Some(inner) = content.strip_prefix('[') else {
        return Mark::None;
    };
    let Some(close) = inner.find(']').filter(|&i| inner[..i].chars().count() <= 1) else {
        return Mark::None;
    };
    let whole = &content[..close + 2];
    let rest = &inner[close + 1..];
    let state = match &inner.as_bytes()[..close] {
        [mark] => checklist::state(*mark),
        _ => None,
    };
    let Some(state) = state else {
        // `[a](link)` and `[1]: note` are Markdown of other kinds.
        let odd = rest.starts_with([' ', '\t']);
        return if odd { Mark::Odd(whole) } else { Mark::None };
    };
    let title = rest.trim();
    if rest.starts_with([' ', '\t']) && !title.is_empty() {
        return Mark::Box(state, title);
    }
    if rest.starts_with(['(', '[', ':']) {
        Mark::None
    } else {
        Mark::Odd(whole)
    }
}

/// Splits an explicit id off a title: `{#id}` or `<!-- id: x -->` at its end, or one of
/// `US-1: …`, `**US-1**: …`, `**US-1: …**`, `[US-1] …`, `US-1 - …`, `T1: …` at its start.
pub(super) fn split_id(title: &str) -> (Option<String>, String) {
    if let Some((id, rest)) = id_at_end(title) {
        return (Some(id.to_owned()), rest.to_owned());
    }
    match id_at_start(title) {
        Some((id, rest)) => (Some(id.to_owned()), rest),
        None => (None, title.to_owned()),
    }
}

fn id_at_end(title: &str) -> Option<(&str, &str)> {
    let (rest, id) = if let Some(head) = title.strip_suffix('}') {
        let at = head.rfind("{#")?;
        (&head[..at], &head[at + 2..])
    } else {
        let head = title.strip_suffix("-->")?;
        let at = head.rfind("<!--")?;
        let comment = head[at + 4..].trim();
        let id = comment
            .strip_prefix("id")
            .or_else(|| comment.strip_prefix("ID"))?
            .trim_start();
        (&head[..at], id.strip_prefix(':')?.trim())
    };
    let good = !id.is_empty()
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let rest = rest.trim_end();
    (good && id.starts_with(|c: char| c.is_ascii_alphanumeric()) && !rest.is_empty())
        .then_some((id, rest))
}

fn id_at_start(title: &str) -> Option<(&str, String)> {
    let emphasis = ["**", "__", "*", "_", "`"]
        .into_iter()
        .find(|e| title.starts_with(e))
        .unwrap_or("");
    let inner = &title[emphasis.len()..];
    let bracket = inner.starts_with('[');
    let inner = if bracket { &inner[1..] } else { inner };
    let id = &inner[..id_length(inner)?];
    let mut rest = &inner[id.len()..];
    if bracket {
        rest = rest
            .strip_prefix(']')
            .filter(|r| !r.starts_with(['(', '[']))?;
    }
    let mut open = !emphasis.is_empty();
    // In `**US-1:** title` the colon stands inside the emphasis, in `**US-1**: title` outside.
    let mut separated = bracket;
    for _ in 0..2 {
        if open && let Some(r) = rest.strip_prefix(emphasis) {
            (rest, open, separated) = (r, false, true);
        }
        if let Some(r) = separator(rest) {
            (rest, separated) = (r, true);
        }
    }
    let rest = rest.trim_start();
    // `**US-1: title**`: the emphasis went round both.
    let rest = if open {
        rest.strip_suffix(emphasis).unwrap_or(rest)
    } else {
        rest
    }
    .trim();
    (separated && !rest.is_empty()).then(|| (id, rest.to_owned()))
}

/// `:` or a dash with blanks around it.
fn separator(rest: &str) -> Option<&str> {
    if let Some(r) = rest.strip_prefix(':') {
        return Some(r);
    }
    let dash = rest.trim_start();
    let after = dash.strip_prefix(['-', '–', '—'])?;
    (dash.len() < rest.len() && after.starts_with([' ', '\t'])).then_some(after)
}

/// Letters and digits in groups joined by `-`, beginning with a letter and ending with a digit
/// (`US-1`, `FE-API-12`, `T-1.2`), or `T` and digits. Without the dash rule `Python3: …` would be one.
fn id_length(text: &str) -> Option<usize> {
    let length = text
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
        .count();
    let id = text[..length].trim_end_matches(['-', '.']);
    let tail = id.rsplit('-').next().unwrap_or(id);
    let number = |s: &str| {
        !s.is_empty()
            && s.split('.')
                .all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
    };
    let groups = id.split('-').all(|g| !g.is_empty());
    let head = &id[..id.len() - tail.len()];
    let dashed = head.len() > 1
        && !head.contains('.')
        && head.starts_with(|c: char| c.is_ascii_alphabetic());
    let good = groups && ((dashed && number(tail)) || id.strip_prefix('T').is_some_and(number));
    (good && id.len() <= 64).then_some(id.len())
}

/// The ids behind `Depends on:`, each with its byte offset in `text`; `None` if `text` says
/// something else. Ids are separated by commas, semicolons, `and` or blanks; what stands in
/// parentheses or behind a dash is a remark.
pub(super) fn depends(text: &str) -> Option<Vec<(String, usize)>> {
    const EMPHASIS: [char; 2] = ['*', '_'];
    const FILLERS: [&str; 8] = [
        "and", "task", "tasks", "story", "stories", "none", "nothing", "n/a",
    ];
    let start = text.trim_start_matches(EMPHASIS);
    let key = start.get(..10).filter(|k| {
        k.replace(['_', '-'], " ")
            .eq_ignore_ascii_case("depends on")
    })?;
    let rest = start[key.len()..].trim_start_matches(EMPHASIS).trim_start();
    let list = rest.strip_prefix(':')?.trim_start_matches(EMPHASIS);
    let base = text.len() - list.len();
    let list = without_parentheses(list);
    let mut found = Vec::new();
    let mut at = base;
    let mut remark = false;
    for word in list.split_inclusive([',', ';', '&', ' ', '\t']) {
        let begin = at;
        at += word.len();
        let bare = word.trim_end_matches([',', ';', '&', ' ', '\t']);
        remark |= bare == "-" || bare.starts_with(['–', '—', ':']);
        let id = bare.trim_matches(['`', '*', '_', '#', '[', ']', '.']);
        if !remark && !id.is_empty() && !FILLERS.contains(&id.to_ascii_lowercase().as_str()) {
            let inset = bare.find(id).unwrap_or(0);
            found.push((id.trim_end_matches(':').to_owned(), begin + inset));
            remark = id.ends_with(':');
        }
        remark &= !word.ends_with([',', ';', '&']);
    }
    Some(found)
}

/// Blanks in place of what stands in parentheses, byte for byte.
fn without_parentheses(text: &str) -> String {
    let mut depth = 0usize;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        depth += usize::from(c == '(');
        if depth == 0 {
            out.push(c);
        } else {
            out.extend(std::iter::repeat_n(' ', c.len_utf8()));
        }
        depth = depth.saturating_sub(usize::from(c == ')'));
    }
    out
}

/// Column behind the blanks, where a tab goes to the next multiple of four, and the rest.
pub(super) fn indent(text: &str, from: usize) -> (usize, &str) {
    let rest = text.trim_start_matches([' ', '\t']);
    let blanks = &text[..text.len() - rest.len()];
    let column = blanks
        .bytes()
        .fold(from, |c, b| if b == b'\t' { c - c % 4 + 4 } else { c + 1 });
    (column, rest)
}
