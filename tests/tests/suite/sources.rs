//! A project whose tasks a stand-in for `gh` or `bd` keeps.

use std::fs;
use std::process::Command;

use ralph_tests::{Builder, Live, Project, Ran};
use serde_json::{Value, json};

/// The project, and the stand-in's name.
pub struct Tracked {
    pub p: Project,
    name: &'static str,
}

impl Tracked {
    /// Its `[tasks]` has `source` and these further lines.
    pub fn new(builder: Builder, name: &'static str, lines: &str, issues: &[Value]) -> Tracked {
        let t = Tracked::untrusted(builder, name, lines, issues);
        t.p.trust();
        t
    }

    pub fn untrusted(
        builder: Builder,
        name: &'static str,
        lines: &str,
        issues: &[Value],
    ) -> Tracked {
        let source = if name == "gh" { "github" } else { "beads" };
        let p = builder
            .tasks("NOTES.md", "no tasks here\n")
            .toml(&format!("[tasks]\nsource = \"{source}\"\n{lines}"))
            .untrusted();
        fs::create_dir(p.side("bin")).unwrap();
        let link = p.side("bin").join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fake-tracker"), link).unwrap();
        let t = Tracked { p, name };
        t.write(issues);
        t
    }

    fn home(&self, name: &str) -> std::path::PathBuf {
        self.p.all().join("home").join(name)
    }

    pub fn write(&self, issues: &[Value]) {
        let path = self.home(&format!("{}.json", self.name));
        fs::write(path, serde_json::to_vec(issues).unwrap()).unwrap();
    }

    /// The next call that begins so meets this; with `!` at the end, every such call.
    pub fn fault(&self, what: &str, kind: &str) {
        fs::write(self.home("fault"), format!("{what} {kind}")).unwrap();
    }

    pub fn mended(&self) {
        let _ = fs::remove_file(self.home("fault"));
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.p.command(args);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.p.side("bin").display()));
        command
    }

    pub fn start(&self, args: &[&str]) -> Live {
        self.p.start_command(self.command(args))
    }

    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Ran {
        self.start(args).wait()
    }

    /// All issues as they stand.
    pub fn issues(&self) -> Vec<Value> {
        let path = self.home(&format!("{}.json", self.name));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    /// The issue with this number or id.
    #[track_caller]
    pub fn issue(&self, id: impl Into<Value>) -> Value {
        let id = id.into();
        let all = self.issues();
        let found = all.iter().find(|i| i["number"] == id || i["id"] == id);
        found.unwrap_or_else(|| panic!("{id}: {all:?}")).clone()
    }

    /// How the stand-in was called, arguments parted by blanks; only calls that begin so.
    pub fn calls(&self, beginning: &str) -> Vec<String> {
        let log = fs::read_to_string(self.home(&format!("{}.log", self.name))).unwrap_or_default();
        let lines = log.lines().map(|l| l.replace('\u{1f}', " "));
        lines.filter(|l| l.starts_with(beginning)).collect()
    }
}

/// An open issue of GitHub.
pub fn gh(number: u64, title: &str, body: &str, labels: &[&str]) -> Value {
    let labels: Vec<Value> = labels
        .iter()
        .map(|l| json!({ "id": "L", "name": l }))
        .collect();
    json!({
        "number": number, "title": title, "body": body, "state": "OPEN", "labels": labels,
        "url": format!("https://github.com/o/r/issues/{number}"), "milestone": null, "comments": [],
    })
}

/// An open issue of Beads that waits for others.
pub fn bead(id: &str, title: &str, priority: u32, waits: &[&str]) -> Value {
    let links: Vec<Value> = waits
        .iter()
        .map(|w| json!({ "id": w, "title": "x", "status": "open", "dependency_type": "blocks" }))
        .collect();
    json!({
        "id": id, "title": title, "status": "open", "priority": priority, "issue_type": "task",
        "description": "", "dependencies": links,
    })
}
