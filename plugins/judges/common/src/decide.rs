//! The verdict out of an answer. The rule stands on the crate's first page.

use ralph_plugin::{Error, Finding, Verdict, text};
use serde_json::Value;

use crate::answer::{Item, items};
use crate::objects::Said;
use crate::rules::{Rules, Token};

/// More findings than this are left out, and it is said.
const MAX_FINDINGS: usize = 100;
/// Bytes of a summary.
const MAX_SUMMARY: usize = 500;
/// Bytes of a finding's message.
const MAX_MESSAGE: usize = 4000;

/// Reads an answer.
///
/// # Errors
/// [`Error::Failed`] if it holds no readable verdict; the text is for the model.
pub fn decide(rules: &Rules, answer: &str) -> Result<Verdict, Error> {
    let answer = text::plain(&answer.replace("\r\n", "\n").replace('\r', "\n"));
    let items = items(&answer);
    match items
        .iter()
        .rposition(|item| !matches!(item, Item::Line(_)))
    {
        Some(at) => match &items[at] {
            Item::Verdict(said) => structured(rules, said, &items[at + 1..]),
            Item::Broken(why) => Err(unreadable(
                rules,
                &format!("the JSON object with the key \"verdict\" could not be read: {why}"),
            )),
            // `rposition` was asked for others.
            Item::Line(_) => Err(unreadable(rules, "there is no verdict in it")),
        },
        None => by_token(rules, &items, &answer),
    }
}

fn unreadable(rules: &Rules, why: &str) -> Error {
    let [yes, no] = rules.tokens.shown();
    Error::failed(format!(
        "the answer could not be read: {why}; end it with one JSON object in a fence marked json, \
         its key \"verdict\" being \"pass\" or \"fail\", or with a last line that is exactly `{yes}` or `{no}`"
    ))
}

fn structured(rules: &Rules, said: &Said, behind: &[Item<'_>]) -> Result<Verdict, Error> {
    let accepts = match &said.verdict {
        Value::Bool(accepts) => *accepts,
        Value::String(word) if word.trim().eq_ignore_ascii_case("pass") => true,
        Value::String(word) if word.trim().eq_ignore_ascii_case("fail") => false,
        other => {
            let shown = text::clip(&other.to_string(), 60);
            return Err(unreadable(
                rules,
                &format!("its \"verdict\" is {shown}, which is neither \"pass\" nor \"fail\""),
            ));
        }
    };
    if tokens(rules, behind).any(|token| token.accepts != accepts) {
        return Err(unreadable(
            rules,
            "its last line contradicts its JSON object",
        ));
    }
    let findings = findings(&said.findings);
    let summary = one_line(said.summary.as_str().unwrap_or_default());
    let summary = match findings.first() {
        _ if !summary.is_empty() => summary,
        Some(first) if !accepts => one_line(&first.message),
        _ => default_summary(rules, accepts),
    };
    let verdict = if accepts {
        Verdict::pass(summary)
    } else {
        Verdict::fail(summary)
    };
    Ok(verdict.with(findings))
}

fn by_token(rules: &Rules, items: &[Item<'_>], answer: &str) -> Result<Verdict, Error> {
    let Some(Item::Line(line)) = items.last() else {
        return Err(unreadable(rules, "there is no verdict in it"));
    };
    let Some(token) = rules.tokens.read(line) else {
        return Err(unreadable(
            rules,
            "there is no verdict in it, and its last line is none",
        ));
    };
    if tokens(rules, items).any(|other| other.accepts != token.accepts) {
        return Err(unreadable(
            rules,
            "it says both yes and no in lines of their own",
        ));
    }
    if token.accepts {
        return Ok(Verdict::pass(default_summary(rules, true)));
    }
    let summary = if token.reason.is_empty() {
        default_summary(rules, false)
    } else {
        one_line(&token.reason)
    };
    // The reasons stand in front of the token line, which is the last one that isn't blank.
    let reasons = answer
        .trim_end()
        .rsplit_once('\n')
        .map_or("", |(before, _)| before.trim());
    let reasons = (!reasons.is_empty()).then(|| Finding::new(text::clip(reasons, MAX_MESSAGE)));
    Ok(Verdict::fail(summary).with(reasons))
}

fn tokens<'a>(rules: &'a Rules, items: &'a [Item<'_>]) -> impl Iterator<Item = Token> + 'a {
    items.iter().filter_map(|item| match item {
        Item::Line(line) => rules.tokens.read(line),
        Item::Verdict(_) | Item::Broken(_) => None,
    })
}

fn default_summary(rules: &Rules, accepts: bool) -> String {
    let verb = if accepts {
        "accepts"
    } else {
        "does not accept"
    };
    format!("the {} {verb} the work", rules.who)
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text::clip(&line, MAX_SUMMARY)
}

/// Whatever can be made of `findings`; a verdict isn't lost over the shape of its remarks.
fn findings(value: &Value) -> Vec<Finding> {
    let all = match value {
        Value::Array(all) => all.as_slice(),
        Value::Null => &[],
        one => std::slice::from_ref(one),
    };
    let mut findings: Vec<_> = all.iter().take(MAX_FINDINGS).filter_map(finding).collect();
    if all.len() > MAX_FINDINGS {
        findings.push(Finding::new(format!(
            "and {} more",
            all.len() - MAX_FINDINGS
        )));
    }
    findings
}

fn finding(value: &Value) -> Option<Finding> {
    let text_at = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|t| !t.is_empty())
    };
    let message = value
        .as_str()
        .or_else(|| text_at("message"))
        .map(str::trim)
        .filter(|m| !m.is_empty());
    let message = match message {
        Some(message) => message.to_owned(),
        None if value.is_object() => value.to_string(),
        None => return None,
    };
    let line = value
        .get("line")
        .and_then(|l| l.as_u64().or_else(|| l.as_str()?.trim().parse().ok()));
    let path = text_at("path")
        .map(|p| p.strip_prefix("./").unwrap_or(p))
        .filter(|p| is_inside(p));
    Some(Finding {
        message: text::clip(&message, MAX_MESSAGE),
        line: line
            .and_then(|l| u32::try_from(l).ok())
            .filter(|l| *l > 0 && path.is_some()),
        path: path.map(str::to_owned),
        rule: text_at("rule").map(|r| text::clip(r, 100)),
    })
}

/// A path relative to the project's root that doesn't leave it.
fn is_inside(path: &str) -> bool {
    path.len() <= 1000
        && !path.contains(char::is_control)
        && path.split('/').all(|part| !part.is_empty() && part != "..")
}

#[cfg(test)]
mod tests;
