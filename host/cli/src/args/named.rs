//! Of commands about what has a name: tasks, agents.

use clap::{Args as ClapArgs, Subcommand};

use crate::complete;

#[derive(ClapArgs)]
pub struct TaskArgs {
    #[command(subcommand)]
    pub command: TaskCommand,
}

#[derive(Subcommand)]
#[command(defer = true)]
pub enum TaskCommand {
    /// All tasks, in the file's order
    List,
    /// One task, with what its next attempt is told
    Show {
        #[arg(add = complete::tasks())]
        id: String,
    },
    /// Add a task at the end
    Add {
        title: String,
        /// Behind this task instead
        #[arg(long, value_name = "ID", add = complete::tasks())]
        after: Option<String>,
        /// A criterion; may be given several times
        #[arg(long, value_name = "TEXT")]
        accept: Vec<String>,
        /// A task that has to be done first; may be given several times
        #[arg(long, value_name = "ID", add = complete::tasks())]
        depends: Vec<String>,
    },
    /// Mark a task as done
    Done {
        #[arg(add = complete::tasks())]
        id: String,
    },
    /// Mark a task as blocked
    Block {
        #[arg(add = complete::tasks())]
        id: String,
        /// Why; its next attempt is told
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Open a blocked task again
    Unblock {
        #[arg(add = complete::tasks())]
        id: String,
    },
    /// Open a task again and forget its attempts
    Retry {
        #[arg(add = complete::tasks())]
        id: String,
    },
}

#[derive(ClapArgs)]
pub struct AgentArgs {
    #[command(subcommand)]
    pub command: AgentCommand,
}

#[derive(Subcommand)]
#[command(defer = true)]
pub enum AgentCommand {
    /// Ask agents' programs for version and login, at no cost; exit code 1 if one can't work
    Check {
        /// Agents as `[agents.NAME]`; without any, those which a run would use
        #[arg(add = complete::agents())]
        names: Vec<String>,
    },
}
