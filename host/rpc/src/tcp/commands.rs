//! The port for `ralph`'s own commands.

use async_trait::async_trait;

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluated {
    /// What it would print on standard output.
    pub output: String,
    /// What went wrong.
    pub error: Option<String>,
    /// The exit code it would have.
    pub code: u8,
}

impl Evaluated {
    /// It couldn't be begun: what the command line says is at fault.
    pub fn usage(error: impl Into<String>) -> Evaluated {
        Evaluated {
            output: String::new(),
            error: Some(error.into()),
            code: 3,
        }
    }
}

/// Whoever knows the commands.
#[async_trait]
pub trait Commands: Send + Sync {
    /// Carries one command line out, as after `ralph`, in this process.
    async fn eval(&self, code: &str) -> Evaluated;
}
