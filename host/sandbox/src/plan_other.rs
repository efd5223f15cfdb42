//! Where there is neither Landlock nor seccomp: nothing is enforced, and that is said.

use ralph_process::Spawn;

use crate::enforced::Enforced;
use crate::policy::{Place, Policy, Profile};

/// A child can't be confined as planned.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox can't be made: {0}")]
pub struct SandboxError(String);

/// A policy, and what of it this machine can enforce: nothing.
#[derive(Debug, Clone)]
pub struct Plan {
    enforced: Enforced,
}

impl Plan {
    /// Looks at what can be enforced.
    pub async fn new(policy: Policy) -> Plan {
        let enforced = match policy.profile {
            Profile::Off => Enforced::off(),
            profile => Enforced::nothing(profile, "there is no sandbox for this system yet".into()),
        };
        Plan { enforced }
    }

    /// What holds: nothing.
    pub fn enforced(&self) -> &Enforced {
        &self.enforced
    }

    /// Nothing does.
    pub fn forbids_mounts(&self) -> bool {
        false
    }

    /// There is nothing to foresee.
    ///
    /// # Errors
    /// None.
    pub fn foresee(&self, _: Place) -> Result<Foreseen, SandboxError> {
        Ok(Foreseen)
    }

    /// Leaves the child as it is.
    ///
    /// # Errors
    /// None.
    pub fn confine(
        &self,
        _: &Place,
        _: Option<Foreseen>,
        _: &mut Spawn,
    ) -> Result<Confined, SandboxError> {
        Ok(Confined {
            enforced: self.enforced.clone(),
        })
    }
}

/// Nothing.
#[derive(Debug)]
pub struct Foreseen;

/// What stands beside a child while it runs.
#[derive(Debug)]
pub struct Confined {
    enforced: Enforced,
}

impl Confined {
    /// Does nothing.
    ///
    /// # Errors
    /// None.
    pub fn started(&mut self) -> Result<(), SandboxError> {
        Ok(())
    }

    /// What holds the child: nothing.
    pub fn enforced(&self) -> &Enforced {
        &self.enforced
    }

    /// None are held.
    pub fn refused_hosts(&self) -> Vec<String> {
        Vec::new()
    }
}
