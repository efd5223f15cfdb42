//! Has a program tell of a run's end: `logger`, which writes to the system's log.

use ralph_plugin::process::Command;
use ralph_plugin::{Error, Notice, Notifier};

struct Plugin;

impl Notifier for Plugin {
    fn notify(notice: &Notice) -> Result<(), Error> {
        let text = format!("{}: {}", notice.project, notice.text);
        let output = Command::new("logger").args(["-t", "ralph", &text]).run()?;
        match output.code {
            Some(0) => Ok(()),
            code => Err(Error::failed(format!("logger ended with {code:?}"))),
        }
    }
}

ralph_plugin::notifier!(Plugin);
ralph_plugin::manifest! {
    kinds: ["notifier"],
    capabilities: { "process": ["logger"] }
}
