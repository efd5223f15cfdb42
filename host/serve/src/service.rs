//! The service from its start to its end.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_runner::Error;
use rustix::fs::{FlockOperation, flock};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use crate::app::{App, Shared};
use crate::audit::Audit;
use crate::audit::relay::Relaying;
use crate::auth::Access;
use crate::guard::Names;
use crate::metrics::Metrics;
use crate::runs::{self, Runs};
use crate::server;
use crate::settings::Settings;
use crate::store::sqlite::Sqlite;

/// A directory is waited for so long.
const LOCK_TIME: Duration = Duration::from_secs(3);

/// A service that listens.
pub struct Service {
    app: Shared,
    listener: TcpListener,
    addr: SocketAddr,
    relay: Option<Relaying>,
    tls: Option<TlsAcceptor>,
    _lock: File,
}

impl Service {
    /// Takes its directory and its port.
    ///
    /// # Errors
    /// Another service has one of them, or something in it can't be used.
    pub async fn open(settings: Settings, version: &'static str) -> Result<Service, Error> {
        let access = Access::new(&settings)?;
        let data = settings.data()?;
        let shown = data.display().to_string();
        let io = |source| Error::Io {
            path: shown.clone(),
            source,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&data)
            .map_err(io)?;
        let data = data.canonicalize().map_err(io)?;
        let lock = lock(&data).await?;
        for doubt in settings.doubts() {
            tracing::warn!("{doubt}");
        }
        keep(&settings);
        let audit = Audit::open(&data).map_err(Error::Usage)?;
        let store = Arc::new(Sqlite::open(&data).map_err(|e| Error::Usage(e.to_string()))?);
        let relay = settings.relay.as_ref();
        let relay = relay.map(|r| Relaying::new(data.clone(), r)).transpose();
        let relay = relay.map_err(Error::Usage)?;
        let tls = settings.serve.tls.as_ref();
        let tls = tls.map(crate::tls::acceptor).transpose()?;
        let wanted = settings.serve.listen;
        let listener = TcpListener::bind(wanted)
            .await
            .map_err(|e| Error::Usage(format!("[serve] listen: {wanted}: {e}")))?;
        let addr = listener.local_addr().map_err(io)?;
        let names = Names::new(addr, &settings.serve);
        let app = Arc::new(App {
            runs: Runs::new(settings.serve.max_runs),
            acting: TaskTracker::new(),
            store: store.clone(),
            queue: store,
            closing: watch::channel(false).0,
            settings,
            data,
            access,
            audit,
            metrics: Metrics::default(),
            names,
            draining: watch::channel(false).0,
            version,
        });
        runs::settle(&app).await;
        runs::recover(&app)
            .await
            .map_err(|e| Error::Usage(e.to_string()))?;
        Ok(Service {
            app,
            listener,
            addr,
            relay,
            tls,
            _lock: lock,
        })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The same for people.
    pub fn url(&self) -> String {
        format!("{}{}", self.app.settings.serve.scheme(), self.addr)
    }

    /// Serves until `ending` is done, then ends in good order.
    pub async fn run(self, ending: impl Future<Output = ()>) {
        let app = self.app.clone();
        let dispatching = tokio::spawn(runs::dispatch(app.clone()));
        let relaying = self
            .relay
            .map(|relay| tokio::spawn(relay.go(app.audit.newest())));
        // Whoever asks meanwhile is answered, and streams go on until the runs stand.
        let ending = async {
            ending.await;
            app.draining.send_replace(true);
            runs::drain(&app).await;
            app.closing.send_replace(true);
        };
        server::serve(&self.app, self.listener, self.tls, ending).await;
        dispatching.abort();
        self.app.audit.catch_up().await;
        if let Some(relaying) = relaying {
            relaying.abort();
        }
    }
}

/// Programs of runs come to none of what is the service's own.
fn keep(settings: &Settings) {
    let kept = settings.kept();
    let passing = [Path::new("/tmp"), Path::new("/var/tmp")];
    if let Some(path) = kept
        .iter()
        .find(|p| passing.iter().any(|t| p.starts_with(t)))
    {
        tracing::warn!(
            "{} is kept from agents and gates, which therefore can't put new files right into /tmp: the service's files are better elsewhere",
            path.display()
        );
    }
    ralph_runner::holding::keep(kept);
}

/// One service per directory.
async fn lock(data: &Path) -> Result<File, Error> {
    let path = data.join("lock");
    let io = |source| Error::Io {
        path: path.display().to_string(),
        source,
    };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(io)?;
    let taken = || flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    // What a service that was killed had just begun to start holds it a moment longer.
    let until = Instant::now() + LOCK_TIME;
    let mut mine = taken();
    while !mine && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
        mine = taken();
    }
    if !mine {
        let mut pid = String::new();
        let _ = file.read_to_string(&mut pid);
        return Err(Error::Usage(format!(
            "another service (pid {}) has {}; end it, or give this one another directory ([serve] data)",
            pid.trim(),
            data.display()
        )));
    }
    file.set_len(0).map_err(io)?;
    writeln!(file, "{}", std::process::id()).map_err(io)?;
    Ok(file)
}
