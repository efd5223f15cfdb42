//! Files and their fingerprints, with the project's canonicalisers.

use std::sync::Arc;

use async_trait::async_trait;
use ralph_config::types::FingerprintHash;
use ralph_plugins::{Host, PluginError};
use ralph_prompts::{Algorithm, CanonicalError, Canonicaliser, Forms, Store};
use tokio::sync::OnceCell;

use crate::bus::Bus;
use crate::control::{Control, Stopping};
use crate::error::Error;
use crate::project::Project;
use crate::registry::Registry;
use crate::services::CallServices;
use crate::trust::Trust;

/// The project's files. Nothing is loaded yet.
pub fn store(project: &Project, host: Host) -> Store {
    let config = &project.config.fingerprints;
    let algorithm = match config.hash {
        FingerprintHash::Sha256 => Algorithm::Sha256,
        FingerprintHash::Blake3 => Algorithm::Blake3,
    };
    let (control, stopping) = Control::new();
    let components = Components {
        registry: Registry::new(host, project),
        project: project.clone(),
        trusted: OnceCell::new(),
        _control: control,
        stopping,
    };
    let forms = Forms::new(config.forms.clone());
    Store::new(project.ws.clone(), forms, algorithm, Arc::new(components))
}

struct Components {
    registry: Registry,
    project: Project,
    trusted: OnceCell<()>,
    /// Nobody stops a canonicaliser: it has its limits.
    _control: Control,
    stopping: Stopping,
}

impl Components {
    async fn made(&self, name: &str, path: &str, content: &[u8]) -> Result<Vec<u8>, Error> {
        // Whoever has given a built-in name another source, or another name one at all.
        let table = self.project.config.plugins.get(name);
        if table.is_some_and(|t| !t.source.starts_with("builtin:")) && !self.project.accepted {
            self.trusted
                .get_or_try_init(|| async { Trust::of(&self.project)?.demand() })
                .await?;
        }
        let bound = self.registry.canonicaliser(name).await?;
        let services = CallServices::plain(name, &Bus::default(), &self.stopping);
        let ctx = Arc::new(services).context(&bound.config, None, path);
        Ok(bound.plugin.canonicalise(&ctx, path, content).await?)
    }
}

#[async_trait]
impl Canonicaliser for Components {
    async fn canonical(
        &self,
        name: &str,
        path: &str,
        content: &[u8],
    ) -> Result<Vec<u8>, CanonicalError> {
        self.made(name, path, content).await.map_err(|e| match e {
            Error::Plugin(PluginError::Refused { message, .. }) => CanonicalError::Refused(message),
            e @ Error::Untrusted(_) => CanonicalError::Untrusted(e.to_string()),
            e => CanonicalError::Failed(e.with_advice()),
        })
    }
}
