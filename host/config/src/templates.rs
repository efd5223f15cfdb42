//! The `ralph.toml` that `ralph init` writes.

use std::fmt::Write as _;

/// A check that was found in the project, to become a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The gate's name.
    pub name: String,
    /// Program and arguments.
    pub run: Vec<String>,
}

/// `AGENT` is filled in.
const HEAD: &str = "\
# ralph works through the task file, one task per iteration, and accepts what passes the gates.
# Every key, with its default: ralph.toml.example. What is wrong here: ralph doctor.

[loop]
agent = AGENT            # or \"claude\", \"copilot\", or a name from [agents]
max_iterations = 20
max_attempts = 3           # then the task is blocked

# An agent's settings; codex, claude and copilot work without any.
#[agents.claude]
#model = \"sonnet\"
#timeout = \"30m\"

# Any program can be an agent: it gets the prompt on standard input and changes files here.
#[agents.mine]
#argv = [\"my-agent\", \"--headless\"]

# Gates decide whether work is accepted. `run` is a program and its arguments, without a shell.
";

const NO_GATE: &str = "\
# None was found here. Without one, everything an agent says is taken for done.
#[[gates]]
#name = \"tests\"
#run = [\"make\", \"test\"]
#timeout = \"10m\"
";

const TAIL: &str = "
# Keys and tokens in added lines; looks at the diff, runs nothing.
[[gates]]
name = \"no-secrets\"
plugin = \"no-secrets\"

# Another mind rules on the diff.
#[judge]
#enabled = true
#agent = \"claude\"
";

/// A short, commented `ralph.toml` with the given gates. It loads without warnings if the gates'
/// names differ from each other and from `no-secrets`, no `run` is empty, and there is such an agent.
pub fn init_toml(agent: &str, gates: &[Found]) -> String {
    let mut out = HEAD.replace("AGENT", &quoted(agent));
    if gates.is_empty() {
        out.push_str(NO_GATE);
    }
    for (i, gate) in gates.iter().enumerate() {
        let run: Vec<String> = gate.run.iter().map(|w| quoted(w)).collect();
        let gap = if i > 0 { "\n" } else { "" };
        let _ = write!(
            out,
            "{gap}[[gates]]\nname = {}\nrun = [{}]\n",
            quoted(&gate.name),
            run.join(", ")
        );
    }
    out.push_str(TAIL);
    out
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Source, load};

    fn gate(name: &str, run: &[&str]) -> Found {
        Found {
            name: name.to_owned(),
            run: run.iter().map(|s| (*s).to_owned()).collect(),
        }
    }

    #[test]
    fn what_init_writes_loads_without_a_warning() {
        let odd = ["sh", "-c", "echo \"a\" '\\n' \n # é"];
        for gates in [
            vec![],
            vec![gate("tests", &["cargo", "test"])],
            vec![gate("a b", &odd), gate("lint", &["x"])],
        ] {
            let text = init_toml("claude", &gates);
            let loaded = load(&[Source {
                name: "ralph.toml".to_owned(),
                text: text.clone(),
            }])
            .unwrap();
            assert!(loaded.warnings.is_empty(), "{text}");
            assert_eq!(loaded.config.run.agent, "claude");
            let got: Vec<_> = loaded
                .config
                .gates
                .iter()
                .filter(|g| g.plugin.is_none())
                .map(|g| (g.name.clone(), g.run.clone()))
                .collect();
            let want: Vec<_> = gates.into_iter().map(|g| (g.name, g.run)).collect();
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn its_commented_keys_are_right_too() {
        let text: String = init_toml("scripted", &[])
            .lines()
            .map(|l| {
                let key = l
                    .strip_prefix('#')
                    .filter(|r| r.starts_with(|c: char| c == '[' || c.is_ascii_lowercase()));
                format!("{}\n", key.unwrap_or(l))
            })
            .collect();
        let loaded = load(&[Source {
            name: "ralph.toml".to_owned(),
            text,
        }])
        .unwrap();
        assert_eq!(loaded.config.agents.len(), 2);
        assert!(loaded.config.judge.enabled);
    }
}
