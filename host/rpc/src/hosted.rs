//! A run and its socket, for whoever hosts it: a terminal, the bridge.

use std::sync::Arc;

use ralph_runner::{Begun, Bus, Control, Desk, Error, Opened, Setup, Stopping, Summary, View};

use crate::feed::Feed;
use crate::socket::SocketError;
use crate::tui;

/// A run that has begun, with its socket open.
pub struct Hosted {
    begun: Begun,
    open: Option<tui::Open>,
    /// Why nobody else can steer it, if that is so.
    pub unsteered: Option<String>,
}

impl Hosted {
    /// Takes the project, opens the socket, journals the run's start.
    ///
    /// # Errors
    /// Another run is on, the disk or git refuses, or something odd is where the socket belongs.
    pub async fn begin(
        setup: Setup,
        mut views: Vec<Arc<dyn View>>,
        control: &Control,
        stopping: Stopping,
    ) -> Result<Hosted, Error> {
        setup.foresee().await;
        let feed = Arc::new(Feed::default());
        views.push(feed.clone());
        let root = setup.project.ws.root().to_owned();
        let opened = Opened::new(setup, Bus::new(views), stopping)?;
        let (socket, unsteered) = match tui::take(&root).await {
            Ok(socket) => (Some(socket), None),
            Err(e @ (SocketError::NotASocket { .. } | SocketError::Unsafe { .. })) => {
                return Err(Error::Usage(format!("the run's socket: {e}")));
            }
            // A home that can't be written is no reason not to work.
            Err(e) => (None, Some(e.to_string())),
        };
        let begun = opened.start().await?;
        let open = socket.map(|s| s.open(&root, &begun.desk(), control, &feed));
        Ok(Hosted {
            begun,
            open,
            unsteered,
        })
    }

    /// Where the run is asked and told things.
    pub fn desk(&self) -> Desk {
        self.begun.desk()
    }

    /// Carries it out, then closes the socket.
    ///
    /// # Errors
    /// Not even its end could be recorded.
    pub async fn to_its_end(self) -> Result<Summary, Error> {
        let ran = self.begun.to_its_end().await;
        if let Some(open) = self.open {
            open.close().await;
        }
        ran
    }
}
