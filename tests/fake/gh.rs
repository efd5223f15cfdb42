//! What the stand-in knows of `gh`.

use serde_json::{Value, json};

use crate::{Answer, Call};

const LABEL: &str = "\u{0}labels";

pub fn answer(call: &mut Call) -> Answer {
    if call.is(&["label", "create"]) {
        call.issues
            .push(json!({ "number": 0, "title": LABEL, "name": call.args[2] }));
        return Ok(String::new());
    }
    if call.is(&["issue", "list"]) {
        return list(call);
    }
    if call.is(&["issue", "create"]) {
        return Ok(create(call));
    }
    let number: u64 = call.args[2].parse().expect("a number");
    let labels: Vec<String> = call
        .issues
        .iter()
        .filter(|i| i["title"] == LABEL)
        .map(|i| i["name"].as_str().unwrap().to_owned())
        .collect();
    let (comment, body) = (call.option("--comment"), call.option("--body"));
    let (add, remove) = (call.option("--add-label"), call.option("--remove-label"));
    let fields = call.option("--json");
    let verb = call.args[1].clone();
    let Some(issue) = call.issues.iter_mut().find(|i| i["number"] == number) else {
        let text = format!(
            "GraphQL: Could not resolve to an issue or pull request with the number of {number}. (repository.issue)"
        );
        return Err((text, 1));
    };
    let say = |issue: &mut Value, text: String| {
        let all = issue["comments"].as_array_mut().unwrap();
        all.push(json!({ "body": text }));
    };
    match verb.as_str() {
        "view" => return Ok(only(issue, &fields.expect("--json")).to_string()),
        "close" if issue["state"] == "CLOSED" => {}
        "close" => {
            if let Some(text) = comment {
                say(issue, text);
            }
            issue["state"] = "CLOSED".into();
            issue["closed_times"] = (issue["closed_times"].as_u64().unwrap_or(0) + 1).into();
        }
        "reopen" => issue["state"] = "OPEN".into(),
        "comment" => say(issue, body.expect("--body")),
        "edit" => {
            if let Some(label) = add {
                if !labels.contains(&label) {
                    return Err((
                        format!("failed to update https://x/{number}: '{label}' not found"),
                        1,
                    ));
                }
                let all = issue["labels"].as_array_mut().unwrap();
                all.push(json!({ "id": "L", "name": label, "color": "D93F0B" }));
            }
            if let Some(label) = remove {
                let all = issue["labels"].as_array_mut().unwrap();
                all.retain(|l| l["name"] != label.as_str());
            }
        }
        other => panic!("gh issue {other}"),
    }
    Ok(String::new())
}

fn list(call: &Call) -> Answer {
    let (state, label) = (call.option("--state").unwrap(), call.option("--label"));
    let limit: usize = call.option("--limit").unwrap().parse().unwrap();
    let fields = call.option("--json").unwrap();
    let mut found: Vec<Value> = call
        .issues
        .iter()
        .filter(|i| i["title"] != LABEL)
        .filter(|i| i["state"].as_str().unwrap().eq_ignore_ascii_case(&state))
        .filter(|i| {
            let has = |l: &str| {
                i["labels"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|x| x["name"] == l)
            };
            label.as_deref().is_none_or(has)
        })
        .map(|i| only(i, &fields))
        .collect();
    // The newest first.
    found.sort_by_key(|i| std::cmp::Reverse(i["number"].as_u64()));
    found.truncate(limit);
    Ok(Value::Array(found).to_string())
}

fn create(call: &mut Call) -> String {
    let last = call
        .issues
        .iter()
        .filter_map(|i| i["number"].as_u64())
        .max();
    let number = last.unwrap_or(0) + 1;
    let labels: Vec<Value> = call
        .option("--label")
        .map(|l| json!({ "name": l }))
        .into_iter()
        .collect();
    let url = format!("https://github.com/o/r/issues/{number}");
    call.issues.push(json!({
        "number": number, "title": call.option("--title"), "body": call.option("--body"),
        "state": "OPEN", "url": url, "labels": labels, "milestone": null, "comments": [],
    }));
    url
}

fn only(issue: &Value, fields: &str) -> Value {
    fields
        .split(',')
        .map(|f| (f.to_owned(), issue[f].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
