//! What the schema cannot say: names that must exist, paths that must stay inside, and the like.

use ralph_engine::hosts::HostList;
use ralph_engine::programs::ProgramPattern;

use crate::builtins;
use crate::error::ConfigError;
use crate::origins::Origins;
use crate::paths;
use crate::reference::{Reference, is_sha256};
use crate::show;
use crate::types::{Agent, Config, Gate, Judge, Plugin, PromptBy};
use crate::units::{Size, Span};
use crate::walk::nearest;

/// Longest name of an agent, a gate or a plugin, in bytes.
const NAME_MAX: usize = 64;

/// A raw log is kept in two halves; either holds at least one piece of output.
const LOG_MIN: Size = Size::from_kib(256);

/// All problems of a configuration whose types are right.
pub(crate) fn check(config: &Config, origins: &Origins) -> Vec<ConfigError> {
    let mut checks = Checks {
        config,
        origins,
        errors: Vec::new(),
    };
    checks.run();
    checks.errors
}

pub(crate) struct Checks<'a> {
    pub(crate) config: &'a Config,
    pub(crate) origins: &'a Origins,
    errors: Vec<ConfigError>,
}

impl Checks<'_> {
    fn run(&mut self) {
        let config = self.config;
        self.agents();
        if let Some(mode) = &config.run.mode {
            let known = config.mode_names();
            self.known(&["loop", "mode"], "mode", mode, known);
        }
        for (name, mode) in &config.modes {
            self.name(&["modes", name], name);
            self.mode(name, mode);
        }
        self.budget();
        self.claims();
        self.tasks();
        let files = &config.files;
        let optional = [
            ("tasks", &files.tasks),
            ("prompt", &files.prompt),
            ("template", &files.template),
            ("specs", &files.specs),
        ];
        let optional = optional
            .iter()
            .filter_map(|(key, path)| Some((*key, path.as_ref()?)));
        let always = [
            ("progress", &files.progress),
            ("agents", &files.agents),
            ("feedback", &files.feedback),
        ];
        for (key, path) in optional.chain(always) {
            self.path(&["files", key], path);
        }
        if files.log_size < LOG_MIN {
            let message = format!("`log_size` should be at least {LOG_MIN}");
            self.error(&["files", "log_size"], message, None);
        }
        for (name, agent) in &config.agents {
            self.name(&["agents", name], name);
            self.agent(name, agent);
        }
        self.gates();
        self.judge("judge", &config.judge);
        self.judge("review", &config.review);
        for (name, plugin) in &config.plugins {
            self.name(&["plugins", name], name);
            self.plugin(name, plugin);
        }
        for (table, kind, names) in [
            ("tools", "tool", &config.tools.plugins),
            ("notify", "notifier", &config.notify.plugins),
        ] {
            for (i, name) in names.iter().enumerate() {
                self.own_plugin(&[table, "plugins", &i.to_string()], kind, name);
            }
        }
        for (ending, form) in &config.fingerprints.forms {
            let at = ["fingerprints", "forms", ending];
            if ending.is_empty() || !ending.bytes().all(|b| b.is_ascii_alphanumeric()) {
                let message = format!("{} is no ending; write `toml`", show::name(ending));
                self.error(&at, message, None);
            }
            let own = config.plugins.keys().map(String::as_str);
            let known = own.chain(builtins::CANONICALISERS).collect();
            self.known(&at, "canonicaliser", form, known);
        }
        self.git();
        self.sandbox();
    }

    fn agent(&mut self, name: &str, agent: &Agent) {
        let plugins = self
            .config
            .plugins
            .keys()
            .map(String::as_str)
            .chain(builtins::agent_plugins());
        if let Some(plugin) = &agent.plugin {
            self.known(
                &["agents", name, "plugin"],
                "plugin for an agent",
                plugin,
                plugins.collect(),
            );
        }
        self.argv(&["agents", name, "argv"], &agent.argv);
        self.words(&["agents", name, "args"], &agent.args);
        let driver = self.config.agent_plugin(name).unwrap_or_default();
        if driver == "command" && agent.argv.is_empty() {
            let hint = Some(
                "write the program and its arguments, as in argv = [\"my-agent\", \"--headless\"]"
                    .to_owned(),
            );
            let message = format!(
                "the agent {} has no `argv`, and `command` needs one",
                show::name(name)
            );
            self.error(&["agents", name, "argv"], message, hint);
        }
        for (holder, by) in [
            ("{prompt}", PromptBy::Argument),
            ("{prompt_file}", PromptBy::File),
        ] {
            let at = agent
                .argv
                .iter()
                .position(|a| a.contains(holder))
                .filter(|_| agent.prompt != by);
            if let Some(i) = at.filter(|_| driver == "command") {
                let word = if by == PromptBy::File {
                    "file"
                } else {
                    "argument"
                };
                let message = format!("`{holder}` is filled in only with prompt = \"{word}\"");
                self.error(&["agents", name, "argv", &i.to_string()], message, None);
            }
        }
        for (key, value) in [("model", &agent.model), ("effort", &agent.effort)] {
            // It goes to a command line; one that begins with a dash would be a switch of its own.
            let bad = |v: &&String| {
                v.trim().is_empty() || v.starts_with('-') || v.chars().any(char::is_control)
            };
            if let Some(value) = value.as_ref().filter(bad) {
                let message = format!("`{key}` is {}, which is no name", show::name(value));
                self.error(&["agents", name, key], message, None);
            }
        }
        self.positive(&["agents", name, "timeout"], agent.timeout);
        self.env(&["agents", name, "env"], &agent.env, true);
        self.confine(&["agents", name, "confine"], &agent.confine);
    }

    pub(crate) fn gate_name(&mut self, at: &[&str], what: &str, name: &str) {
        if name.trim() != name || name.is_empty() || name.len() > NAME_MAX || !show::is_plain(name)
        {
            let message = format!(
                "a {what}'s name is 1 to {NAME_MAX} visible characters without blanks around them, not {}",
                show::name(name)
            );
            self.error(at, message, None);
        }
    }

    pub(crate) fn gate(&mut self, index: &str, gate: &Gate) {
        let name = &gate.name;
        self.gate_name(&["gates", index, "name"], "gate", name);
        match (&gate.plugin, gate.run.is_empty()) {
            (None, true) => {
                let hint =
                    Some("write run = [\"program\", \"argument\"] or plugin = \"name\"".to_owned());
                let key = if self.origins.is_set(&["gates", index, "run"]) {
                    "run"
                } else {
                    "name"
                };
                self.error(
                    &["gates", index, key],
                    format!(
                        "the gate {} has neither `run` nor `plugin`",
                        show::name(name)
                    ),
                    hint,
                );
            }
            (Some(_), false) => {
                self.error(
                    &["gates", index, "plugin"],
                    format!("the gate {} has both `run` and `plugin`", show::name(name)),
                    Some("keep one".to_owned()),
                );
            }
            (Some(plugin), true) => {
                let known = self
                    .config
                    .plugins
                    .keys()
                    .map(String::as_str)
                    .chain(builtins::GATES)
                    .collect();
                self.known(
                    &["gates", index, "plugin"],
                    "plugin for a gate",
                    plugin,
                    known,
                );
            }
            (None, false) => self.argv(&["gates", index, "run"], &gate.run),
        }
        self.positive(&["gates", index, "timeout"], gate.timeout);
        self.env(&["gates", index, "env"], &gate.env, true);
        for (i, path) in gate.protect.iter().enumerate() {
            let at = ["gates", index, "protect", &i.to_string()];
            self.path(&at, path.strip_suffix('/').unwrap_or(path));
        }
        self.confine(&["gates", index, "confine"], &gate.confine);
    }

    fn judge(&mut self, table: &str, judge: &Judge) {
        if let Some(agent) = &judge.agent {
            self.agent_name(&[table, "agent"], agent);
        }
        if let Some(plugin) = &judge.plugin {
            let known = self
                .config
                .plugins
                .keys()
                .map(String::as_str)
                .chain(builtins::JUDGES)
                .collect();
            self.known(&[table, "plugin"], "plugin for a judge", plugin, known);
        }
        if let Some(path) = &judge.prompt {
            self.path(&[table, "prompt"], path);
        }
    }

    fn plugin(&mut self, name: &str, plugin: &Plugin) {
        let source = plugin.source.as_str();
        let at = ["plugins", name, "source"];
        if let Some(builtin) = plugin.builtin() {
            self.known(&at, "built-in plugin", builtin, builtins::all());
        } else if let Err(message) = Reference::parse(source) {
            self.error(&at, message, None);
        }
        self.pins(name, plugin);
        for (key, paths) in [("read", &plugin.allow.read), ("write", &plugin.allow.write)] {
            for (i, path) in paths.iter().enumerate() {
                if let Some(message) = paths::grant_problem(path) {
                    self.error(
                        &["plugins", name, "allow", key, &i.to_string()],
                        message,
                        None,
                    );
                }
            }
        }
        for (i, program) in plugin.allow.process.iter().enumerate() {
            let problem = match ProgramPattern::parse(program) {
                _ if !show::is_plain(program) => Some("has characters that don't show".to_owned()),
                parsed => parsed.err(),
            };
            if let Some(problem) = problem {
                let message = format!("the program {} {problem}", show::name(program));
                self.error(
                    &["plugins", name, "allow", "process", &i.to_string()],
                    message,
                    None,
                );
            }
        }
        for (i, host) in plugin.allow.http.iter().enumerate() {
            if let Err(message) = HostList::parse(std::slice::from_ref(host)) {
                self.error(
                    &["plugins", name, "allow", "http", &i.to_string()],
                    message,
                    None,
                );
            }
        }
        self.env(&["plugins", name, "allow", "env"], &plugin.allow.env, false);
        let limits = &plugin.limits;
        let spans = [
            ("time", Some(limits.time)),
            ("start", Some(limits.start)),
            ("wait", limits.wait),
            ("compile", Some(limits.compile)),
        ];
        for (key, span) in spans {
            if let Some(span) = span {
                self.positive(&["plugins", name, "limits", key], span);
            }
        }
        for (key, size) in [
            ("memory", limits.memory),
            ("output", limits.output),
            ("crossing", limits.crossing),
            ("artifact", limits.artifact),
        ] {
            if size.bytes() == 0 {
                self.error(
                    &["plugins", name, "limits", key],
                    format!("`{key}` should be more than nothing"),
                    None,
                );
            }
        }
    }

    /// What the bytes of a plugin must be.
    fn pins(&mut self, name: &str, plugin: &Plugin) {
        let own = plugin.builtin().is_some();
        if let Some(sha256) = &plugin.sha256 {
            let message = if own {
                "a built-in plugin has no `sha256`; it is part of this ralph".to_owned()
            } else if !is_sha256(sha256) {
                format!(
                    "`sha256` should be 64 lower-case hexadecimal digits, not {}",
                    show::name(sha256)
                )
            } else {
                return;
            };
            self.error(&["plugins", name, "sha256"], message, None);
        }
    }

    pub(crate) fn agent_name(&mut self, at: &[&str], name: &str) {
        let known = self
            .config
            .agents
            .keys()
            .map(String::as_str)
            .chain(builtins::AGENTS)
            .collect();
        self.known(at, "agent", name, known);
    }

    /// There are no built-in ones of its kind.
    pub(crate) fn own_plugin(&mut self, at: &[&str], kind: &str, name: &str) {
        let known: Vec<&str> = self.config.plugins.keys().map(String::as_str).collect();
        if known.is_empty() {
            let message = format!("there is no plugin {}", show::name(name));
            let hint = format!("[plugins.NAME] makes a {kind} of a component");
            self.error(at, message, Some(hint));
        } else {
            self.known(at, &format!("plugin for a {kind}"), name, known);
        }
    }

    fn known(&mut self, at: &[&str], what: &str, name: &str, mut known: Vec<&str>) {
        if known.contains(&name) {
            return;
        }
        known.sort_unstable();
        known.dedup();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean \"{}\"?", show::visible(near)),
            None => format!(
                "there are {}",
                known
                    .iter()
                    .take(16)
                    .map(|k| show::word(k))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        self.error(
            at,
            format!("there is no {what} {}", show::name(name)),
            Some(hint),
        );
    }

    /// Names of agents and plugins become names of files and switches.
    fn name(&mut self, at: &[&str], name: &str) {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty()
            || name.len() > NAME_MAX
            || !name.chars().all(good)
            || name.starts_with(['-', '.'])
        {
            let message = format!(
                "{} is no name; use up to {NAME_MAX} letters, digits, `-`, `_` and `.`",
                show::name(name)
            );
            self.error(at, message, None);
        }
    }

    pub(crate) fn path(&mut self, at: &[&str], path: &str) {
        if let Some(message) = paths::problem(path) {
            self.error(at, message, None);
        }
    }

    fn argv(&mut self, at: &[&str], argv: &[String]) {
        if argv
            .first()
            .is_some_and(|program| program.trim().is_empty())
        {
            self.error(&[at, &["0"]].concat(), "the program's name is empty", None);
        }
        self.words(at, argv);
    }

    fn words(&mut self, at: &[&str], words: &[String]) {
        for (i, _) in words.iter().enumerate().filter(|(_, w)| w.contains('\0')) {
            self.error(
                &[at, &[i.to_string().as_str()]].concat(),
                "no argument can hold a NUL character",
                None,
            );
        }
    }

    fn env(&mut self, at: &[&str], names: &[String], endings: bool) {
        for (i, name) in names.iter().enumerate() {
            let bare = if endings {
                name.strip_suffix('*').unwrap_or(name)
            } else {
                name
            };
            let good = bare.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && !bare.starts_with(|c: char| c.is_ascii_digit());
            if !good || name.is_empty() {
                let message = format!("{} is no name of an environment variable", show::name(name));
                let hint = name
                    .contains('=')
                    .then(|| "only names; values come from the environment".to_owned());
                self.error(&[at, &[i.to_string().as_str()]].concat(), message, hint);
            }
        }
    }

    pub(crate) fn positive(&mut self, at: &[&str], span: Span) {
        if span.get().is_zero() {
            let key = at.last().copied().unwrap_or_default();
            self.error(at, format!("`{key}` should be more than nothing"), None);
        }
    }

    pub(crate) fn error(&mut self, at: &[&str], message: impl Into<String>, hint: Option<String>) {
        self.errors.push(self.origins.error(at, message, hint));
    }
}
