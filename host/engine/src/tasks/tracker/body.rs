//! What the text of an issue says: criteria, dependencies, and the rest.

use super::super::{item, section};
use crate::text;

/// An issue's text, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    /// The text without comments, and without what the other two hold.
    pub text: String,
    /// Boxes below a heading "Acceptance criteria"; without such a heading all boxes.
    pub acceptance: Vec<String>,
    /// The words behind `Depends on` and `Blocked by` at the start of a line.
    pub depends: Vec<String>,
}

/// What a line is.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    Text,
    /// The heading of the criteria.
    Heading,
    /// A box, below such a heading or not.
    Box(bool),
    Depends,
}

pub(super) fn read(raw: &str) -> Body {
    let text = without_comments(&text::strip_escapes(&raw.replace("\r\n", "\n")));
    let mut lines: Vec<(&str, Line)> = Vec::new();
    let (mut below, mut all, mut depends) = (Vec::new(), Vec::new(), Vec::new());
    let mut fence: Option<&str> = None;
    let mut criteria: Option<usize> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let ticks = ["```", "~~~"].into_iter().find(|f| bare.starts_with(f));
        let content = match item::marker(bare) {
            Some(marker) => bare[marker.width..].trim_start(),
            None => bare,
        };
        let mut kind = Line::Text;
        if fence.is_some() || ticks.is_some() {
            fence = match fence {
                None => ticks,
                Some(open) if ticks == Some(open) => None,
                Some(open) => Some(open),
            };
        } else if let Some((level, heading)) = section::atx(bare) {
            if criteria.is_some_and(|l| level <= l) {
                criteria = None;
            }
            if criteria.is_none() && is_criteria(heading) {
                (criteria, kind) = (Some(level), Line::Heading);
            }
        } else if let Some(words) = dependencies(content) {
            depends.extend(words);
            kind = Line::Depends;
        } else if let item::Mark::Box(_, title) = item::mark(content)
            && content != bare
        {
            let title = text::one_line(title, 2000);
            if criteria.is_some() {
                below.push(title.clone());
            }
            all.push(title);
            kind = Line::Box(criteria.is_some());
        }
        lines.push((line, kind));
    }
    let named = !below.is_empty();
    let rest = lines.into_iter().filter(|(_, kind)| match kind {
        Line::Text => true,
        Line::Depends => false,
        Line::Heading => !named,
        Line::Box(criterion) => named && !criterion,
    });
    let rest: Vec<&str> = rest.map(|(line, _)| line).collect();
    Body {
        text: rest.join("\n").trim().to_owned(),
        acceptance: if named { below } else { all },
        depends,
    }
}

fn is_criteria(heading: &str) -> bool {
    let words = heading
        .trim_start_matches(|c: char| !c.is_alphabetic())
        .to_lowercase();
    words.starts_with("acceptance")
}

/// The words of `Depends on: #3, #4` or `Blocked by #3`.
fn dependencies(line: &str) -> Option<Vec<String>> {
    let plain: String = line.chars().filter(|c| !matches!(c, '*' | '_')).collect();
    let rest = ["depends on", "depends-on", "blocked by"]
        .into_iter()
        .find_map(|start| {
            let head = plain.get(..start.len())?;
            head.eq_ignore_ascii_case(start)
                .then(|| &plain[start.len()..])
        })?;
    let rest = rest.trim_start().trim_start_matches(':');
    let words = rest.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '&' | '(' | ')'));
    let words: Vec<String> = words
        .map(|w| w.trim_end_matches(['.', ':']))
        .filter(|w| w.contains(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect();
    (!words.is_empty()).then_some(words)
}

/// HTML comments are for whoever fills in a form.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("<!--") {
        out.push_str(&rest[..at]);
        rest = match rest[at..].find("-->") {
            Some(end) => &rest[at + end + 3..],
            None => "",
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_below_acceptance_criteria_are_the_criteria() {
        let body = read(
            "Do it.\r\n\r\n- [ ] a plan\r\n\r\n## ✅ Acceptance Criteria\r\n<!-- one\nper line -->\n- [ ] it works\n* [x] it is *fast*\n- no box\n### Sub\n1. [ ] third\n## Notes\n- [ ] not this\n",
        );
        assert_eq!(body.acceptance, ["it works", "it is *fast*", "third"]);
        assert!(!body.text.contains("per line"), "{}", body.text);
        assert_eq!(
            body.text,
            "Do it.\n\n- [ ] a plan\n\n\n- no box\n### Sub\n## Notes\n- [ ] not this"
        );
    }

    #[test]
    fn without_that_heading_all_boxes_are_and_code_is_none() {
        let body = read("- [ ] one\n```\n- [ ] code\n```\n  - [ ] two\n[ ] no item\n");
        assert_eq!(body.acceptance, ["one", "two"]);
        assert_eq!(read("## Acceptance\nprose only\n").acceptance, [""; 0]);
    }

    #[test]
    fn dependencies_are_read_where_a_line_begins_with_them() {
        let body = read(
            "Depends on: #3, #4 and #5.\n- **Blocked by** #6\nThis depends on #7\ndepends on nothing\n~~~\nDepends on: #8\n~~~\n",
        );
        assert_eq!(body.depends, ["#3", "#4", "#5", "#6"]);
    }

    #[test]
    fn an_open_comment_hides_what_follows_it() {
        assert_eq!(read("a <!-- b\n- [ ] c").text, "a");
    }
}
