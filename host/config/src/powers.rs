//! What a configuration can make run or reach. A configuration is data from others until somebody
//! has seen this list and agreed to it (`ralph trust`).

use sha2::{Digest, Sha256};

use crate::builtins;
use crate::show;
use crate::types::{
    Agent, Allow, Config, Confine, Gate, Judge, OsSandbox, Profile, Rlimits, Sandbox, Table,
    TaskSource, Tasks,
};

/// One thing that a configuration can make run or reach. Both texts are fit for a terminal: what
/// does not show as itself is written as an escape, and different settings give different texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Power {
    /// Who, e.g. ``gate `tests` runs``.
    pub what: String,
    /// Exactly what, never cut.
    pub detail: String,
}

/// All of it: gate programs, agents' programs, arguments and open sandboxes, plugins that aren't
/// built in, grants. The default configuration has none.
pub fn powers(config: &Config) -> Vec<Power> {
    let mut list = List(Vec::new());
    let default = Config::default();
    if config.run.agent != default.run.agent {
        list.add(
            format!("agent {} works", show::name(&config.run.agent)),
            plugin_of(config, &config.run.agent),
        );
    }
    for name in &config.run.fallback {
        list.add(
            format!("agent {} takes over at a limit", show::name(name)),
            plugin_of(config, name),
        );
    }
    for (name, mode) in &config.modes {
        if let Some(agent) = &mode.agent {
            list.add(
                format!(
                    "agent {} works in mode {}",
                    show::name(agent),
                    show::name(name)
                ),
                plugin_of(config, agent),
            );
        }
    }
    list.tasks(&config.tasks);
    list.sandbox(&config.sandbox);
    for (name, agent) in &config.agents {
        list.agent(config, name, agent);
    }
    for gate in &config.gates {
        list.gate(config, gate);
    }
    list.judge("judge", &config.judge, config);
    list.judge("review", &config.review, config);
    list.words(
        "the end of a run is told by running".into(),
        &config.notify.command,
    );
    if let Some(url) = &config.notify.webhook {
        list.add("the end of a run is told to".into(), show::word(url));
    }
    list.words("tools are offered by plugins".into(), &config.tools.plugins);
    for (ending, form) in &config.fingerprints.forms {
        if config.plugins.contains_key(form) {
            let what = format!(
                "files that end in .{} are read by the plugin",
                show::name(ending)
            );
            list.add(what, show::word(form));
        }
    }
    list.words(
        "the end of a run is told by plugins".into(),
        &config.notify.plugins,
    );
    for (name, plugin) in &config.plugins {
        let shown = show::name(name);
        if plugin.builtin().is_none() {
            list.add(
                format!("plugin {shown} is loaded from"),
                show::word(&plugin.source),
            );
            if let Some(sha256) = &plugin.sha256 {
                let detail = show::word(sha256);
                list.add(format!("plugin {shown} has the SHA-256"), detail);
            }
        } else if builtins::all().contains(&name.as_str()) && plugin.builtin() != Some(name) {
            list.add(
                format!("plugin {shown} is replaced by"),
                show::word(&plugin.source),
            );
        }
        if !only_looks(&plugin.source) {
            list.config(&format!("plugin {shown} is given"), &plugin.config);
        }
        list.grants(&shown, &plugin.allow);
    }
    list.0
}

/// SHA-256, in hexadecimal, over all of it: what may run (in any order), the project's root, and
/// the digests of the plugins' files. Trust is kept under this value; whatever changes it asks anew.
pub fn digest(powers: &[Power], root: &str, plugin_digests: &[(String, String)]) -> String {
    let mut hash = Sha256::new();
    // Each text with its length before it: no two lists run together into the same bytes.
    let mut text = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    text("ralph trust 1");
    text(root);
    let mut pairs: Vec<(&str, &str)> = powers
        .iter()
        .map(|p| (p.what.as_str(), p.detail.as_str()))
        .collect();
    let mut files: Vec<(&str, &str)> = plugin_digests
        .iter()
        .map(|(n, d)| (n.as_str(), d.as_str()))
        .collect();
    for list in [&mut pairs, &mut files] {
        list.sort_unstable();
        list.dedup();
        text(&list.len().to_string());
        for (a, b) in list.iter() {
            text(a);
            text(b);
        }
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn plugin_of(config: &Config, agent: &str) -> String {
    show::word(&config.agent_plugin(agent).unwrap_or_default())
}

/// Built-in plugins whose settings make nothing run: they only look.
fn only_looks(source: &str) -> bool {
    let judging = builtins::JUDGES
        .iter()
        .chain(&builtins::CANONICALISERS)
        .chain(&["diff-scope", "no-secrets"]);
    source
        .strip_prefix("builtin:")
        .is_some_and(|name| judging.into_iter().any(|j| *j == name))
}

struct List(Vec<Power>);

impl List {
    fn add(&mut self, what: String, detail: String) {
        self.0.push(Power { what, detail });
    }

    fn words(&mut self, what: String, words: &[String]) {
        if !words.is_empty() {
            self.add(what, show::words(words));
        }
    }

    fn config(&mut self, what: &str, config: &Table) {
        if !config.is_empty() {
            self.add(what.to_owned(), plain_json(config));
        }
    }

    fn tasks(&mut self, tasks: &Tasks) {
        let words = match tasks.source {
            TaskSource::File => return,
            TaskSource::Beads => vec!["bd".to_owned()],
            TaskSource::Plugin => {
                let name = show::word(&tasks.plugin);
                return self.add("tasks are kept by plugin".into(), name);
            }
            TaskSource::Github => {
                let mut words = vec!["gh".to_owned(), "issue".to_owned()];
                for (option, value) in [("--repo", &tasks.repo), ("--label", &tasks.label)] {
                    if !value.is_empty() {
                        words.extend([option.to_owned(), value.clone()]);
                    }
                }
                words
            }
        };
        self.words("tasks are read and closed by running".into(), &words);
    }

    fn agent(&mut self, config: &Config, name: &str, agent: &Agent) {
        let shown = show::name(name);
        self.words(format!("agent {shown} runs"), &agent.argv);
        self.words(format!("agent {shown} gets the arguments"), &agent.args);
        let own = builtins::AGENTS.contains(&name) && !config.plugins.contains_key(name);
        if agent.plugin.as_deref().is_some_and(|p| !own || p != name) {
            self.add(
                format!("agent {shown} is driven by"),
                plugin_of(config, name),
            );
        }
        if agent.sandbox == Sandbox::Off {
            self.add(
                format!("agent {shown} works"),
                "without its sandbox".to_owned(),
            );
        }
        self.words(
            format!("agent {shown} sees the environment variables"),
            &agent.env,
        );
        self.confine(&format!("agent {shown}"), &agent.confine);
        self.config(&format!("agent {shown} is given"), &agent.config);
    }

    fn gate(&mut self, config: &Config, gate: &Gate) {
        let shown = show::name(&gate.name);
        self.words(format!("gate {shown} runs"), &gate.run);
        if let Some(plugin) = &gate.plugin {
            let source = config.plugin(plugin).map(|p| p.source).unwrap_or_default();
            if !only_looks(&source) {
                self.add(format!("gate {shown} asks the plugin"), show::word(plugin));
                self.config(&format!("gate {shown} is given"), &gate.config);
            }
        }
        self.words(
            format!("gate {shown} sees the environment variables"),
            &gate.env,
        );
        self.confine(&format!("gate {shown}"), &gate.confine);
    }

    /// Whatever isn't the default, the stricter as well: else what is taken back later would ask nobody.
    fn sandbox(&mut self, sandbox: &OsSandbox) {
        let usual = OsSandbox::default();
        let who = "native programs";
        if sandbox.profile != usual.profile {
            self.profile(who, sandbox.profile);
        }
        if sandbox.layer != usual.layer {
            let layer = format!("{:?}", sandbox.layer).to_lowercase();
            self.add(format!("{who} are held by"), layer);
        }
        if sandbox.require {
            self.add(format!("{who} run"), "only in a whole sandbox".to_owned());
        }
        self.words(format!("{who} may read"), &sandbox.read);
        self.words(format!("{who} may read and change"), &sandbox.write);
        if sandbox.network != usual.network {
            self.hosts("agents", &sandbox.network);
        }
        if sandbox.protect != usual.protect {
            let detail = match sandbox.protect.as_slice() {
                [] => "what git and ralph run".to_owned(),
                more => format!("what git and ralph run, and {}", show::words(more)),
            };
            self.add("no agent may change".to_owned(), detail);
        }
        self.rlimits(who, sandbox.limits);
        self.confine("all gates", &sandbox.gates);
    }

    fn confine(&mut self, who: &str, confine: &Confine) {
        if let Some(profile) = confine.profile {
            self.profile(who, profile);
        }
        self.words(format!("{who} may read"), &confine.read);
        self.words(format!("{who} may read and change"), &confine.write);
        if let Some(hosts) = &confine.network {
            self.hosts(who, hosts);
        }
        self.rlimits(who, confine.limits);
    }

    fn profile(&mut self, who: &str, profile: Profile) {
        let detail = match profile {
            Profile::Off => "off: they may do what their user may",
            Profile::ReadOnly => "read-only",
            Profile::WorkspaceWrite => "workspace-write",
            Profile::Custom => "custom",
        };
        self.add(format!("the sandbox of {who} is"), detail.to_owned());
    }

    fn hosts(&mut self, who: &str, hosts: &[String]) {
        let detail = match hosts {
            [] => "nobody".to_owned(),
            hosts => show::words(hosts),
        };
        self.add(format!("{who} may reach"), detail);
    }

    fn rlimits(&mut self, who: &str, limits: Rlimits) {
        if limits != Rlimits::default() {
            let detail = serde_json::to_string(&limits).unwrap_or_default();
            self.add(format!("{who} are limited to"), detail);
        }
    }

    fn judge(&mut self, role: &str, judge: &Judge, config: &Config) {
        if !judge.enabled {
            return;
        }
        if let Some(agent) = &judge.agent {
            self.add(
                format!("{role} asks the agent"),
                format!("{} ({})", show::word(agent), plugin_of(config, agent)),
            );
        }
        let plugin = judge.plugin.as_deref().unwrap_or(role);
        if config.plugin(plugin).is_some_and(|p| p.builtin().is_none()) {
            self.add(format!("{role} asks the plugin"), show::word(plugin));
            self.config(&format!("{role} gives it"), &judge.config);
        }
    }

    fn grants(&mut self, shown: &str, allow: &Allow) {
        self.words(format!("plugin {shown} may read"), &allow.read);
        self.words(format!("plugin {shown} may read and change"), &allow.write);
        self.words(format!("plugin {shown} may run"), &allow.process);
        self.words(
            format!("plugin {shown} may send HTTP requests to"),
            &allow.http,
        );
        self.words(
            format!("plugin {shown} sees the environment variables"),
            &allow.env,
        );
        for (granted, what) in [
            (allow.changes, "what changed"),
            (allow.clock, "the real time"),
            (allow.random, "real randomness"),
        ] {
            if granted {
                self.add(format!("plugin {shown} sees"), what.to_owned());
            }
        }
        for (granted, verb, what) in [
            (allow.state, "keeps", "values of its own"),
            (allow.notify, "tells", "people, by what [notify] names"),
        ] {
            if granted {
                self.add(format!("plugin {shown} {verb}"), what.to_owned());
            }
        }
    }
}

/// JSON in which everything that would hide is an escape. A `\u{…}` is no JSON, which is fine for
/// people; the backslashes of JSON's own escapes are doubled, so nothing is ambiguous.
fn plain_json(config: &Table) -> String {
    let mut out = String::new();
    for (i, piece) in serde_json::Value::Object(config.clone())
        .to_string()
        .split('"')
        .enumerate()
    {
        if i > 0 {
            out.push('"');
        }
        out.push_str(&show::visible(piece));
    }
    out
}
