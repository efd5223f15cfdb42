//! `{a,b}`: one pattern written for several.

/// One pattern may stand for so many.
pub const MAX_ALTERNATIVES: usize = 256;

/// The patterns without braces that `pattern` stands for.
///
/// # Errors
/// What is wrong with the pattern.
pub fn expand(pattern: &str) -> Result<Vec<String>, &'static str> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(next) = open.pop() {
        match first_group(&next)? {
            None => done.push(next),
            Some(group) => open.extend(group),
        }
        if done.len() + open.len() > MAX_ALTERNATIVES {
            return Err("stands for more than 256 patterns; write fewer braces");
        }
    }
    Ok(done)
}

/// What the first group stands for, or `None` if there is none.
fn first_group(pattern: &str) -> Result<Option<Vec<String>>, &'static str> {
    let mut marks = Vec::new();
    let (mut depth, mut end) = (0, None);
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => {
                // A `]` in the first place of a class belongs to it.
                let body = &pattern[at + 1..];
                let body = body.strip_prefix(['!', '^']).unwrap_or(body);
                let from = pattern.len() - body.len() + usize::from(body.starts_with(']'));
                let close = pattern[from..].find(']').ok_or("has a `[` without a `]`")?;
                while chars
                    .next()
                    .is_some_and(|(inside, _)| inside < from + close)
                {}
            }
            '{' => {
                if depth == 0 {
                    marks.push(at);
                }
                depth += 1;
            }
            ',' if depth == 1 => marks.push(at),
            '}' if depth == 0 => return Err("has a `}` without a `{`"),
            '}' => {
                depth -= 1;
                if depth == 0 {
                    end = Some(at);
                    break;
                }
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err("has a `{` without a `}`");
    }
    let (Some(end), Some(start)) = (end, marks.first().copied()) else {
        return Ok(None);
    };
    marks.push(end);
    let (before, after) = (&pattern[..start], &pattern[end + 1..]);
    Ok(Some(
        marks
            .windows(2)
            .map(|m| format!("{before}{}{after}", &pattern[m[0] + 1..m[1]]))
            .collect(),
    ))
}
