//! Interface `agent-check`: is a driver's program fit to work?

use crate::Error;
pub use crate::bindings::agent_check::exports::ralph::plugin::agent_check::{
    Answer, Condition, Login, Probe,
};

/// Says how to see, at no cost, which version of its program is there and whether
/// it has a login. The host runs the commands. Must be pure, as the driver is.
pub trait AgentCheck {
    /// What to run, at most 8 commands.
    ///
    /// # Errors
    /// The configuration is wrong.
    fn probes() -> Result<Vec<Probe>, Error>;

    /// What came of it: an answer for each probe, in their order. `env_names` are
    /// the names of all environment variables which the program gets.
    ///
    /// # Errors
    /// The configuration is wrong.
    fn read(answers: &[Answer], env_names: &[String]) -> Result<Condition, Error>;
}

/// Exports a type that implements [`AgentCheck`] beside the component's driver.
#[macro_export]
macro_rules! agent_check {
    ($check:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct RalphCheck;
            impl $crate::__private::agent_check::exports::ralph::plugin::agent_check::Guest
                for RalphCheck
            {
                fn probes() -> Result<Vec<$crate::Probe>, $crate::Error> {
                    <$check as $crate::AgentCheck>::probes()
                }
                fn read(
                    answers: Vec<$crate::Answer>,
                    env_names: Vec<String>,
                ) -> Result<$crate::Condition, $crate::Error> {
                    <$check as $crate::AgentCheck>::read(&answers, &env_names)
                }
            }
            $crate::__private::agent_check::export!(
                RalphCheck with_types_in $crate::__private::agent_check
            );
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_agent_check<T: $crate::AgentCheck>() {}
            is_agent_check::<$check>();
        };
    };
}

impl Probe {
    /// The program as in [`Launch`](crate::Launch).
    pub fn new<S: Into<String>>(
        program: impl Into<String>,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        Probe {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: Vec::new(),
        }
    }
}

impl Answer {
    /// One that ended by itself. For tests.
    pub fn new(code: i32, stdout: &str, stderr: &str) -> Self {
        Answer {
            code: Some(code),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    /// Did it end with exit code 0?
    pub fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    /// The first version number on standard output, e.g. `1.2.3`.
    pub fn version(&self) -> Option<String> {
        let text = crate::text::decode(&self.stdout);
        text.split(|c: char| c.is_whitespace() || c == '(' || c == ',')
            .map(|word| word.trim_start_matches('v').trim_end_matches('.'))
            .find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))
            .map(str::to_owned)
    }

    /// Why it did not succeed, for [`Condition::problems`].
    pub fn complaint(&self, what: &str) -> String {
        let tail = match crate::text::last_lines(&self.stderr, 1) {
            tail if tail.is_empty() => crate::text::last_lines(&self.stdout, 1),
            tail => tail,
        };
        let how = self
            .code
            .map_or("gave no answer".to_owned(), |c| format!("ended with {c}"));
        format!("{what} {how}: {tail}")
            .trim_end_matches([' ', ':'])
            .to_owned()
    }
}

impl Condition {
    /// Of a program that told its version; its login is not known yet.
    pub fn of(version: &Answer, what: &str) -> Self {
        let mut condition = Condition {
            version: version.version(),
            login: Login::Unknown,
            login_detail: String::new(),
            problems: Vec::new(),
        };
        if !version.succeeded() {
            condition.problems.push(version.complaint(what));
        }
        condition
    }

    /// Says how it stands with the login.
    pub fn login(mut self, login: Login, detail: impl Into<String>) -> Self {
        self.login = login;
        self.login_detail = detail.into();
        self
    }
}

/// The first of `wanted` that is among the names of environment variables.
pub fn first_of<'a>(wanted: &[&'a str], env_names: &[String]) -> Option<&'a str> {
    wanted
        .iter()
        .find(|w| env_names.iter().any(|n| n == *w))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        for (printed, version) in [
            ("codex-cli 0.171.0\n", Some("0.171.0")),
            ("2.1.332 (Claude Code)\n", Some("2.1.332")),
            ("GitHub Copilot CLI 1.0.102.\nRun x", Some("1.0.102")),
            ("tool v3.4\n", Some("3.4")),
            ("no number", None),
            ("", None),
        ] {
            let found = Answer::new(0, printed, "").version();
            assert_eq!(found.as_deref(), version, "{printed}");
        }
    }

    #[test]
    fn a_failure_is_a_problem_with_its_last_line() {
        let c = Condition::of(&Answer::new(1, "", "usage:\nbad flag\n"), "x --version");
        assert_eq!(c.problems, ["x --version ended with 1: bad flag"]);
        assert_eq!((c.version, c.login), (None, Login::Unknown));
    }
}
