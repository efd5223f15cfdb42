//! What was enforced of what was asked for.

use serde::Serialize;

use crate::policy::{Limits, Profile};

/// How much of a policy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Nothing.
    None,
    /// Some of it; [`Enforced::missing`] says what doesn't.
    Partial,
    /// All that the layer promises.
    Full,
}

impl Level {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Partial => "partial",
            Level::Full => "full",
        }
    }
}

/// For records and for people: what holds a program, and what doesn't.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Enforced {
    /// What was asked for.
    pub profile: Profile,
    /// How much of it holds.
    pub level: Level,
    /// Who enforces it: `landlock`, `bubblewrap`, `none`.
    pub layer: &'static str,
    /// Whom it can talk to, and what holds it to that.
    pub network: String,
    /// How files inside the writable tree that may not change are protected.
    pub protected: &'static str,
    /// Resource limits.
    pub limits: Limits,
    /// What was asked for and doesn't hold, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What this layer doesn't promise on any kernel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<&'static str>,
}

/// How `network` begins where a closed one has no loopback either.
pub(crate) const CLOSED_WHOLLY: &str = "closed, loopback included";
/// Changes are found afterwards.
pub(crate) const BY_HASH: &str = "compared by hash afterwards";
/// Changes are impossible.
#[cfg(target_os = "linux")]
pub(crate) const BY_VIEW: &str =
    "read-only in the program's view; compared by hash afterwards as well";
/// In a worktree of its own.
#[cfg(target_os = "linux")]
pub(crate) const BY_BOTH: &str = "git's hooks and configuration lie outside the writable tree; the rest is compared by hash afterwards";

impl Enforced {
    /// Nothing was asked for.
    pub(crate) fn off() -> Enforced {
        Enforced {
            profile: Profile::Off,
            level: Level::None,
            layer: "none",
            network: "open".into(),
            protected: BY_HASH,
            limits: Limits::default(),
            missing: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Nothing of what was asked for holds.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn nothing(profile: Profile, why: String) -> Enforced {
        Enforced {
            profile,
            missing: vec![why],
            ..Enforced::off()
        }
    }

    /// In one line.
    pub fn line(&self) -> String {
        if self.profile == Profile::Off {
            return "off".into();
        }
        let mut line = format!(
            "{}, {} ({}); network: {}; protected files: {}",
            self.profile.word(),
            self.level.word(),
            self.layer,
            self.network,
            self.protected
        );
        for missing in &self.missing {
            line.push_str("; missing: ");
            line.push_str(missing);
        }
        line
    }

    /// Is even what listens on 127.0.0.1 out of reach, the program's own included?
    pub fn lacks_loopback(&self) -> bool {
        self.network.starts_with(CLOSED_WHOLLY)
    }

    /// Does all hold that was asked for?
    pub fn is_whole(&self) -> bool {
        self.profile == Profile::Off || self.level == Level::Full
    }
}
