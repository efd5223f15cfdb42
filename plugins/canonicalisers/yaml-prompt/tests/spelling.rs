//! However the same data is spelled, the canonical bytes are the same.
#![allow(clippy::unwrap_used)]

use canonical_json::Value;
use canonicaliser_yaml_prompt::{canonicalise, scalar};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

/// Data that survives step 2 as it is: NFC, no nulls in mappings, distinct keys.
fn data() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z]{1,6}",
        "[ -~]{0,12}",
        "(yes|no|null|~|1\\.10|0x1f|<|- a|# b|a: b|'|\"|\\{\\}|\\[|&a|\\*a|!t|%|@|`|>|\\|)",
        "[a-zé-ÿ語😀 \n\t]{0,10}",
    ]
    .prop_map(|s: String| s.nfc().collect::<String>());
    // Refused as keys, see the vectors.
    let key = text
        .clone()
        .prop_filter("a key that is refused", |k| k != "<<" && k != "__proto__");
    let leaf = prop_oneof![
        text.clone().prop_map(Value::String),
        any::<bool>().prop_map(Value::Bool),
        (-1_000_000i32..1_000_000).prop_map(|n| Value::Number(f64::from(n) / 8.0)),
    ];
    let value = leaf.prop_recursive(4, 30, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(
                prop_oneof![9 => inner.clone(), 1 => Just(Value::Null)],
                0..5
            )
            .prop_map(Value::Array),
            prop::collection::btree_map(key.clone(), inner, 0..5)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-e]{1,3}", value, 0..5)
        .prop_map(|m| Value::Object(m.into_iter().collect()))
}

/// Takes one of `n` ways, as the test case's dice have it.
struct Dice(Vec<u8>, usize);

impl Dice {
    fn pick(&mut self, n: usize) -> usize {
        self.1 += 1;
        usize::from(self.0[self.1 % self.0.len()]) % n
    }
}

fn plain_is_safe(s: &str) -> bool {
    let mut inner = s.chars();
    inner.next().is_some_and(|c| c.is_alphabetic())
        && inner.all(|c| c.is_alphanumeric())
        && scalar::plain(s) == Ok(Value::String(s.to_owned()))
}

fn string(s: &str, dice: &mut Dice) -> String {
    let single = !s.contains(['\n', '\t']);
    match dice.pick(4) {
        0 if plain_is_safe(s) => s.to_owned(),
        1 if single => format!("'{}'", s.replace('\'', "''")),
        // Decomposed; step 2 composes it again.
        2 => quoted(&s.nfd().collect::<String>(), dice),
        _ => quoted(s, dice),
    }
}

fn quoted(s: &str, dice: &mut Dice) -> String {
    let mut out = String::from('"');
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if dice.pick(5) == 0 => out += &format!("\\U{:08x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

fn shuffled<'a>(entries: &'a [(String, Value)], dice: &mut Dice) -> Vec<&'a (String, Value)> {
    let mut rest: Vec<_> = entries.iter().collect();
    let mut out = Vec::new();
    while !rest.is_empty() {
        out.push(rest.remove(dice.pick(rest.len())));
    }
    out
}

fn flow(value: &Value, dice: &mut Dice) -> String {
    match value {
        Value::Null => ["null", "~", "NULL"][dice.pick(3)].to_owned(),
        Value::Bool(b) => [b.to_string(), b.to_string().to_uppercase()][dice.pick(2)].clone(),
        Value::Number(n) => match dice.pick(3) {
            0 => format!("{n:e}"),
            1 if *n > 0.0 => format!("+{n}"),
            _ => format!("{n}"),
        },
        Value::String(s) => string(s, dice),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|v| flow(v, dice)).collect();
            format!("[{}]", items.join([", ", " ,\n   "][dice.pick(2)]))
        }
        Value::Object(entries) => {
            let mut parts: Vec<_> = shuffled(entries, dice)
                .into_iter()
                .map(|(k, v)| format!("{}: {}", string(k, dice), flow(v, dice)))
                .collect();
            if dice.pick(4) == 0 {
                parts.push("an-entry-that-goes: null".into());
            }
            format!("{{ {} }}", parts.join(", "))
        }
    }
}

/// `value` behind `key:` or `-`, with what leads up to it.
fn block(value: &Value, indent: usize, dice: &mut Dice, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(entries) if !entries.is_empty() && dice.pick(3) > 0 => {
            out.push('\n');
            for (key, value) in shuffled(entries, dice) {
                if dice.pick(4) == 0 {
                    *out += &format!("{pad}# a remark\n\n");
                }
                *out += &format!("{pad}{}:", string(key, dice));
                block(value, indent + 1 + dice.pick(3), dice, out);
            }
        }
        Value::Array(items) if !items.is_empty() && dice.pick(3) > 0 => {
            out.push('\n');
            for item in items {
                *out += &format!("{pad}-");
                block(item, indent + 2, dice, out);
            }
        }
        Value::String(s)
            if s.ends_with('\n')
                && s.starts_with(|c: char| c.is_alphabetic())
                && !s.ends_with("\n\n")
                && !s.contains("\n ")
                && !s.contains("\n\t")
                && dice.pick(2) == 0 =>
        {
            out.push_str(" |\n");
            for line in s.lines() {
                *out += &format!("{pad} {line}\n");
            }
        }
        other => {
            out.push(' ');
            // A flow collection may go on in a further line; it is indented deeply enough.
            *out += &flow(other, dice).replace("\n   ", &format!("\n{pad}  "));
            out.push('\n');
        }
    }
}

fn document(root: &Value, dice: &mut Dice) -> String {
    let Value::Object(entries) = root else {
        unreachable!()
    };
    let mut out = String::new();
    let with_fingerprint = dice.pick(2) == 0;
    if with_fingerprint {
        out += "fingerprint: sha256:abc\n";
    }
    if entries.is_empty() && !with_fingerprint {
        return "{}\n".into();
    }
    for (key, value) in shuffled(entries, dice) {
        out += &string(key, dice);
        out.push(':');
        block(value, 1 + dice.pick(3), dice, &mut out);
    }
    if dice.pick(3) == 0 {
        out.replace('\n', "\r\n")
    } else {
        out
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn key_order_quoting_and_block_or_flow_make_no_difference(root in data(), dice in prop::collection::vec(any::<u8>(), 1..200)) {
        let yaml = document(&root, &mut Dice(dice.clone(), 0));
        prop_assert_eq!(canonicalise(yaml.as_bytes()), Ok(root.canonical()), "{}", yaml);
        let flowed = flow(&root, &mut Dice(dice, 0));
        prop_assert_eq!(canonicalise(flowed.as_bytes()), Ok(root.canonical()), "{}", flowed);
    }

    #[test]
    fn the_canonical_text_is_its_own_canonical_form(root in data()) {
        let once = root.canonical();
        prop_assert_eq!(canonicalise(once.as_bytes()), Ok(once.clone()));
    }

    #[test]
    fn no_input_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), text in "[-?:,\\[\\]{}#&*!|>'\"%@`a-c0-9.~ \n\t]{0,80}") {
        let _ = canonicalise(&bytes);
        let _ = canonicalise(text.as_bytes());
    }
}
