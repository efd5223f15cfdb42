//! Who asks, and what they may do.
//!
//! A bearer token is shown to each [`Verifier`] in turn: the static tokens of `serve.toml`, then
//! the minted ones. An identity provider of one's own is another `Verifier`, put before or behind
//! them in [`Access::new`]; nothing else knows where an [`Identity`] came from.

pub mod jwt;
mod rate;
mod tokens;

use std::collections::BTreeSet;
use std::fmt;

use ralph_runner::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use jwt::{Claims, Keys};
pub use tokens::Tokens;

use crate::problem::Problem;
use crate::settings::Settings;
use rate::Rates;

/// What somebody may do; each may do what those before may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads.
    Observer,
    /// Edits prompts, submits and steers runs.
    Operator,
    /// Deletes prompts, cancels runs, reads the audit.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Observer => "observer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        })
    }
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Reads runs, events, artefacts, prompts, numbers.
    Read,
    /// Writes a prompt.
    EditPrompt,
    /// Deletes a prompt.
    DeletePrompt,
    /// Submits a run.
    Submit,
    /// Pauses a run, lets it go on, gives its next prompt a text.
    Steer,
    /// Cancels a run.
    Cancel,
    /// Reads the audit.
    ReadAudit,
}

impl Action {
    /// The least role that may.
    pub fn role(self) -> Role {
        match self {
            Action::Read => Role::Observer,
            Action::EditPrompt | Action::Submit | Action::Steer => Role::Operator,
            Action::DeletePrompt | Action::Cancel | Action::ReadAudit => Role::Admin,
        }
    }
}

/// In which workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// In all.
    All,
    /// In these.
    Only(BTreeSet<String>),
}

impl Scope {
    /// Is this one of them?
    pub fn has(&self, workspace: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Only(slugs) => slugs.contains(workspace),
        }
    }
}

/// Who bears a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// For the audit; also what requests are counted by.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Where.
    pub scope: Scope,
    /// Until when, seconds since 1970; `None`: as long as the service runs.
    pub until: Option<u64>,
}

/// Knows the bearers of one kind of token.
pub trait Verifier: Send + Sync {
    /// Who bears this? `None`: it is none of this kind, ask the next. Compares in constant time.
    ///
    /// # Errors
    /// It is of this kind, and no good: why, for its bearer. Nobody else is asked.
    fn verify(&self, bearer: &str) -> Result<Option<Identity>, String>;
}

/// Everything that decides who comes in.
pub struct Access {
    verifiers: Vec<Box<dyn Verifier>>,
    rates: Rates,
}

impl Access {
    /// As `serve.toml` says.
    ///
    /// # Errors
    /// There is no token at all, or one can't be read.
    pub fn new(settings: &Settings) -> Result<Access, Error> {
        let tokens = Tokens::read(settings)?;
        let keys = Keys::read(settings)?;
        if tokens.is_empty() && keys.is_empty() {
            return Err(Error::Usage(
                "nobody could ask for anything: set RALPH_SERVE_TOKEN, or write a [tokens.<name>] or [keys.<kid>] into serve.toml".into(),
            ));
        }
        Ok(Access {
            verifiers: vec![Box::new(tokens), Box::new(keys)],
            rates: Rates::new(settings.serve.rate),
        })
    }

    /// Who bears this token, if they don't ask too often.
    pub fn admit(&self, bearer: &str) -> Result<Identity, Problem> {
        let mut found = Err("the token isn't known here".to_owned());
        for verifier in &self.verifiers {
            match verifier.verify(bearer) {
                Ok(None) => continue,
                Ok(Some(identity)) => found = Ok(identity),
                Err(why) => found = Err(why),
            }
            break;
        }
        // Wrong ones are counted together: trying out tokens is slow.
        let name = found.as_ref().map_or("", |identity| &identity.name);
        if let Err(seconds) = self.rates.take(name) {
            let status = axum::http::StatusCode::TOO_MANY_REQUESTS;
            let detail = format!("too many requests; wait {seconds} s");
            return Err(Problem::new(status, "rate-limited", detail).retry_after(seconds));
        }
        found.map_err(Problem::unauthenticated)
    }
}
