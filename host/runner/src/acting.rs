//! Plugins that are no part of an iteration: tools, notifiers, trackers. And the component host
//! of this process.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_plugins::{CallContext, Host, HostOptions, Kind, Plugin};

use crate::bus::Bus;
use crate::control::Control;
use crate::error::Error;
use crate::notify::Outlet;
use crate::project::Project;
use crate::registry::{Bound, Registry};
use crate::services::{CallServices, GateAccess};
use crate::trust;

/// The component host with the user's cache: one for the process, made when it is first needed.
///
/// # Errors
/// This machine can't run the engine.
pub fn host() -> Result<Host, Error> {
    static HOST: Mutex<Option<Host>> = Mutex::new(None);
    // Locked while it is made: whoever comes meanwhile gets the same.
    let mut kept = HOST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(host) = &*kept {
        return Ok(host.clone());
    }
    let cache = trust::user_dir("XDG_CACHE_HOME", ".cache").ok();
    let made = Host::new(HostOptions {
        cache_dir: cache.map(|d| d.join("components")),
        ..HostOptions::default()
    })?;
    Ok(kept.insert(made).clone())
}

/// It will be needed soon: makes it beside what the caller has to do until then.
pub fn host_soon() {
    // Whoever needs it makes it if this can't, and is told why it can't be made.
    let _ = std::thread::Builder::new()
        .name("ralph-engine".into())
        .spawn(host);
}

/// A bound plugin with what the host does for it.
pub(crate) struct Acting {
    bound: Bound,
    services: Arc<CallServices>,
    root: std::path::PathBuf,
}

impl Acting {
    /// Programs that it has the host run, if it may, are held as those of gates are, and each may
    /// take `patience`.
    pub(crate) async fn new(
        project: &Project,
        host: Host,
        kind: Kind,
        name: &str,
        patience: Duration,
    ) -> Result<Acting, Error> {
        let registry = Registry::new(host, project);
        let (bound, hold) = registry.acting(kind, name).await?;
        let (_, stopping) = Control::new();
        let services = CallServices {
            gate: Some(GateAccess {
                ws: project.ws.clone(),
                changes: None,
                timeout: patience,
                env: Vec::new(),
                hold: Arc::new(hold),
                outlet: Outlet::of(project),
            }),
            ..CallServices::plain(name, &Bus::default(), &stopping)
        };
        Ok(Acting {
            bound,
            services: Arc::new(services),
            root: project.ws.root().to_owned(),
        })
    }

    pub(crate) fn plugin(&self) -> &Plugin {
        &self.bound.plugin
    }

    /// For one call. What it sees as randomness is the same each time.
    pub(crate) fn context(&self) -> CallContext {
        let root = Some(self.root.clone());
        self.services.context(&self.bound.config, root, "")
    }
}
