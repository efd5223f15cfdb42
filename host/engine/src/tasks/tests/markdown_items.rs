use super::*;
use crate::tasks::item;

#[test]
fn an_explicit_id_is_taken_off_the_title() {
    for (title, id, rest) in [
        ("**US-1**: Do it", "US-1", "Do it"),
        ("**US-1:** Do it", "US-1", "Do it"),
        ("**US-1: Do it**", "US-1", "Do it"),
        ("**US-1** Do it", "US-1", "Do it"),
        ("**[US-1]** Do it", "US-1", "Do it"),
        ("`US-1`: Do it", "US-1", "Do it"),
        ("US-1: Do it", "US-1", "Do it"),
        ("[US-1] Do it", "US-1", "Do it"),
        ("[US-1]: Do it", "US-1", "Do it"),
        ("US-1 - Do it", "US-1", "Do it"),
        ("US-001 — Do it", "US-001", "Do it"),
        ("FE-API-12: Do it", "FE-API-12", "Do it"),
        ("us-1.2: Do it", "us-1.2", "Do it"),
        ("T7: Do it", "T7", "Do it"),
        ("Do it {#login-form}", "login-form", "Do it"),
        ("Do it <!-- id: a_b.c -->", "a_b.c", "Do it"),
        ("US-1: Do it {#two}", "two", "US-1: Do it"),
    ] {
        assert_eq!(
            item::split_id(title),
            (Some(id.to_owned()), rest.to_owned()),
            "{title}"
        );
    }
}

#[test]
fn what_is_no_id_stays_in_the_title() {
    for title in [
        "Do it",
        "Python3: upgrade",
        "Phase 1: begin",
        "US-1:",
        "US-1",
        "[US-1](url) do",
        "US-one: do",
        "-1: do",
        "US--1: do",
        "Fix US-1: do",
        "1: do",
        "US-1-do it",
        "US-1 do",
        "Do it {#}",
        "Do it {#a b}",
        "{#only}",
        "a: b",
        "**bold** words",
        "é-1: x",
        "Do <!-- note -->",
        "Do it {#../x}",
        "Do it {#.}",
    ] {
        assert_eq!(item::split_id(title), (None, title.to_owned()), "{title}");
    }
}

#[test]
fn dependencies_are_read_as_people_write_them() {
    for (text, want) in [
        ("Depends on: T1, T2", &["T1", "T2"][..]),
        ("depends on: 1, 2", &["1", "2"]),
        ("**Depends on:** T1", &["T1"]),
        ("**Depends on**: `US-1`; US-2.", &["US-1", "US-2"]),
        ("Depends on: T1 and T2", &["T1", "T2"]),
        ("Depends on: T1 (the pärser, later), #3", &["T1", "3"]),
        (
            "Depends on: T1: the parser; T2 — later, T3",
            &["T1", "T2", "T3"],
        ),
        ("Depends on: T1 T2", &["T1", "T2"]),
        ("Depends on: task 1 - set up", &["1"]),
        ("Depends_on: none", &[]),
        ("Depends on: -", &[]),
        ("Depends on:", &[]),
    ] {
        let got: Vec<_> = item::depends(text)
            .unwrap()
            .into_iter()
            .map(|(id, at)| {
                assert!(text[at..].starts_with(&id), "{text}: {id} is not at {at}");
                id
            })
            .collect();
        assert_eq!(got, want, "{text}");
    }
    for text in [
        "Depends on the weather",
        "It depends on: T1",
        "dependson: x",
        "日本語日本語日本語",
        "dépends on: x",
    ] {
        assert_eq!(item::depends(text), None, "{text}");
    }
}

#[test]
fn dependencies_become_ids_and_are_no_criteria() {
    let file = md(
        "- [ ] US-1: a\n- [ ] b\n  - Depends on: 1\n  - real\n- [ ] c\n  Depends on: T2, US-1, 1\n- [ ] d {#4x}\n",
    );
    let deps: Vec<_> = file
        .entries()
        .iter()
        .map(|e| e.task.depends_on.clone())
        .collect();
    assert_eq!(deps[1], ["US-1"]);
    assert_eq!(deps[2], ["T2", "US-1"]);
    assert_eq!(file.entries()[1].task.acceptance, ["real"]);
    assert_eq!(file.entries()[2].task.description, "");
    assert!(file.get("4x").is_some() && file.get("T4").is_none());
}

#[test]
fn what_looks_like_a_box_and_is_none_is_said() {
    let file =
        md("- [?] odd\n- [ ]tight\n- [] empty\n- [x]\n- [ ] a\n  - [?] inside\n- [link](x)\n");
    let lines: Vec<_> = file
        .warnings()
        .iter()
        .map(|w| w.split(':').next().unwrap())
        .collect();
    assert_eq!(lines, ["line 1", "line 2", "line 3", "line 4"]);
    assert_eq!(file.entries()[0].task.acceptance, ["[?] inside"]);
}
