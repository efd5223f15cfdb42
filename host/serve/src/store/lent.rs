//! Connections to the file, each lent to one piece of work at a time, in the order in which they were
//! asked for. Whoever waits has no thread.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::StoreError;

pub(super) struct Lent {
    free: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

/// Comes back also from work that panics.
struct Loan(Arc<Lent>, Option<Connection>);

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(connection) = self.1.take() {
            self.0.free().push(connection);
        }
    }
}

impl Lent {
    pub(super) fn new(connections: Vec<Connection>) -> Arc<Lent> {
        Arc::new(Lent {
            places: Arc::new(Semaphore::new(connections.len())),
            free: Mutex::new(connections),
        })
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does this with one of them. Once begun, it is done even if nobody waits for it any more.
    pub(super) async fn on<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let gone = |e: &dyn std::fmt::Display| StoreError(e.to_string());
        let place = self.places.clone().acquire_owned().await;
        let place = place.map_err(|e| gone(&e))?;
        let mut loan = Loan(self.clone(), self.free().pop());
        let done = tokio::task::spawn_blocking(move || {
            // Given up last, when the connection is back.
            let _place = place;
            let done = match &mut loan.1 {
                Some(connection) => work(connection),
                None => Err(StoreError("no connection is free".to_owned())),
            };
            drop(loan);
            done
        });
        done.await.unwrap_or_else(|e| Err(gone(&e)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[tokio::test]
    async fn work_that_panics_gives_its_connection_back() {
        let lent = Lent::new(vec![Connection::open_in_memory().unwrap()]);
        let panics = lent.on(|_| -> Result<(), StoreError> { panic!("on purpose") });
        assert!(panics.await.is_err());
        let one = lent.on(|c| Ok(c.query_row("SELECT 1", [], |r| r.get::<_, u32>(0))?));
        assert_eq!(one.await.unwrap(), 1);
    }
}
