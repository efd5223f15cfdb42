//! Store and queue in one SQLite file, in WAL mode, each commit synced.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};

use tokio::sync::Notify;

use super::lent::Lent;
use super::recent::Recent;
use super::{Idempotency, Queue, Run, Status, Store, StoreError, StoredEvent, Submitted, Wanted};
use crate::auth::Scope;

const FILE: &str = "store.sqlite";
/// `PRAGMA user_version`
const VERSION: i64 = 1;
const SCHEMA: &str = "
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, workspace TEXT NOT NULL,
    status TEXT NOT NULL, created TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX runs_workspace ON runs (workspace, seq);
CREATE INDEX runs_status ON runs (status, seq);
CREATE TABLE keys (
    whose TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, run TEXT NOT NULL,
    PRIMARY KEY (whose, key)) WITHOUT ROWID;
CREATE TABLE events (
    run TEXT NOT NULL, id INTEGER NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (run, id)) WITHOUT ROWID;
CREATE TABLE queue (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE, taken INTEGER NOT NULL DEFAULT 0);
PRAGMA user_version = 1;
";
const INSERT: &str = "INSERT INTO events (run, id, kind, data) VALUES (?1, ?2, ?3, ?4)";

/// Two read at a time: one that looks through all runs keeps nobody waiting.
const READERS: usize = 2;

/// The file. Cheap to clone.
#[derive(Clone)]
pub struct Sqlite {
    writer: Arc<Lent>,
    readers: Arc<Lent>,
    recent: Arc<Recent>,
    /// Something was put into the queue.
    pushed: Arc<Notify>,
}

impl From<rusqlite::Error> for StoreError {
    fn from(e: rusqlite::Error) -> StoreError {
        StoreError(e.to_string())
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(e: serde_json::Error) -> StoreError {
        StoreError(e.to_string())
    }
}

impl Sqlite {
    /// Opens the one of a service's data directory.
    ///
    /// # Errors
    /// The disk refuses, it is damaged, or a newer ralph made it.
    pub fn open(dir: &Path) -> Result<Sqlite, StoreError> {
        let path = dir.join(FILE);
        let connect = || -> Result<Connection, rusqlite::Error> {
            let c = Connection::open(&path)?;
            c.busy_timeout(std::time::Duration::from_secs(10))?;
            c.pragma_update(None, "journal_mode", "WAL")?;
            c.pragma_update(None, "synchronous", "FULL")?;
            Ok(c)
        };
        let shown = |e: rusqlite::Error| StoreError(format!("{}: {e}", path.display()));
        let mut writer = connect().map_err(shown)?;
        let version: i64 = writer
            .pragma_query_value(None, "user_version", |r| r.get(0))
            .map_err(shown)?;
        if version == 0 {
            let t = writer.transaction().map_err(shown)?;
            t.execute_batch(SCHEMA).map_err(shown)?;
            t.commit().map_err(shown)?;
        } else if version != VERSION {
            return Err(StoreError(format!(
                "{}: made by another version of ralph (its schema is {version}, here it is {VERSION})",
                path.display()
            )));
        }
        let reader = || -> Result<Connection, rusqlite::Error> {
            let c = connect()?;
            c.pragma_update(None, "query_only", true)?;
            Ok(c)
        };
        let readers: Result<Vec<Connection>, _> = (0..READERS).map(|_| reader()).collect();
        Ok(Sqlite {
            writer: Lent::new(vec![writer]),
            readers: Lent::new(readers.map_err(shown)?),
            recent: Arc::default(),
            pushed: Arc::default(),
        })
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer
            .on(move |c| {
                let t = c.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
                let done = work(&t)?;
                t.commit()?;
                Ok(done)
            })
            .await
    }

    /// Writes a run, and what belongs to it.
    async fn write_run(
        &self,
        run: &Run,
        more: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let (run, recent) = (run.clone(), self.recent.clone());
        self.writer
            .on(move |c| {
                let write = || {
                    let t =
                        c.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
                    update(&t, &run)?;
                    more(&t)?;
                    Ok(t.commit()?)
                };
                let written = write();
                match written {
                    Ok(()) => recent.written(&run),
                    Err(_) => recent.forget(&run.run_id),
                }
                written
            })
            .await
    }
}

fn body(row: &Row<'_>) -> rusqlite::Result<(u64, String)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn find(c: &Connection, id: &str) -> Result<Option<Run>, StoreError> {
    let found: Option<String> = c
        .query_row("SELECT body FROM runs WHERE id = ?1", [id], |r| r.get(0))
        .optional()?;
    Ok(found.map(|text| serde_json::from_str(&text)).transpose()?)
}

fn former(c: &Connection, key: &Idempotency) -> Result<Option<Submitted>, StoreError> {
    let former: Option<(String, String)> = c
        .query_row(
            "SELECT digest, run FROM keys WHERE whose = ?1 AND key = ?2",
            [&key.whose, &key.key],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .optional()?;
    let Some((digest, run)) = former else {
        return Ok(None);
    };
    if digest != key.digest {
        return Ok(Some(Submitted::Differs));
    }
    let gone = || StoreError(format!("{run} is gone"));
    let found = find(c, &run)?.ok_or_else(gone)?;
    Ok(Some(Submitted::Repeated(Box::new(found))))
}

fn update(c: &Connection, run: &Run) -> Result<(), StoreError> {
    let changed = c.execute(
        "UPDATE runs SET status = ?2, body = ?3 WHERE id = ?1",
        params![run.run_id, run.status.word(), serde_json::to_string(run)?],
    )?;
    match changed {
        1 => Ok(()),
        _ => Err(StoreError(format!("{} is gone", run.run_id))),
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn submit(&self, run: &Run, key: Option<&Idempotency>) -> Result<Submitted, StoreError> {
        let (run, key) = (run.clone(), key.cloned());
        self.write(move |t| {
            if let Some(key) = &key {
                if let Some(former) = former(t, key)? {
                    return Ok(former);
                }
                t.execute(
                    "INSERT INTO keys (whose, key, digest, run) VALUES (?1, ?2, ?3, ?4)",
                    [&key.whose, &key.key, &key.digest, &run.run_id],
                )?;
            }
            t.execute(
                "INSERT INTO runs (id, workspace, status, created, body) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    run.run_id,
                    run.workspace,
                    run.status.word(),
                    run.created_at,
                    serde_json::to_string(&run)?
                ],
            )?;
            Ok(Submitted::New)
        })
        .await
    }

    async fn submitted(&self, key: &Idempotency) -> Result<Option<Submitted>, StoreError> {
        let key = key.clone();
        self.readers.on(move |c| former(c, &key)).await
    }

    async fn run(&self, id: &str) -> Result<Option<Run>, StoreError> {
        let writes = match self.recent.get(id) {
            Ok(run) => return Ok(Some(run)),
            Err(writes) => writes,
        };
        let id = id.to_owned();
        let found = self.readers.on(move |c| find(c, &id)).await?;
        if let Some(run) = &found {
            self.recent.read(run, writes);
        }
        Ok(found)
    }

    async fn update(&self, run: &Run) -> Result<(), StoreError> {
        self.write_run(run, |_| Ok(())).await
    }

    async fn finish(&self, run: &Run, event: &StoredEvent) -> Result<(), StoreError> {
        let (id, event) = (run.run_id.clone(), event.clone());
        self.write_run(run, move |t| {
            t.execute(INSERT, params![id, event.id, event.kind, event.data])?;
            Ok(())
        })
        .await
    }

    async fn runs(&self, wanted: &Wanted) -> Result<(Vec<Run>, Option<u64>), StoreError> {
        let w = wanted.clone();
        let slugs = match &w.scope {
            Scope::All => None,
            Scope::Only(slugs) => Some(serde_json::to_string(slugs)?),
        };
        self.readers
            .on(move |c| {
                let mut statement = c.prepare(
                    "SELECT seq, body FROM runs
                 WHERE (?1 IS NULL OR seq < ?1) AND (?2 IS NULL OR workspace = ?2)
                   AND (?3 IS NULL OR status = ?3) AND (?4 IS NULL OR created >= ?4)
                   AND (?5 IS NULL OR workspace IN (SELECT value FROM json_each(?5)))
                   AND (?7 IS NULL OR created < ?7)
                 ORDER BY seq DESC LIMIT ?6",
                )?;
                let limit = i64::try_from(w.limit).unwrap_or(i64::MAX).saturating_add(1);
                let before = w.before.map(|b| i64::try_from(b).unwrap_or(i64::MAX));
                let status = w.status.map(Status::word);
                let rows = statement.query_map(
                    params![before, w.workspace, status, w.since, slugs, limit, w.until],
                    body,
                )?;
                let mut found = Vec::new();
                let mut last = None;
                for row in rows {
                    let (seq, text) = row?;
                    if found.len() == w.limit {
                        return Ok((found, last));
                    }
                    found.push(serde_json::from_str(&text)?);
                    last = Some(seq);
                }
                Ok((found, None))
            })
            .await
    }

    async fn unfinished(&self) -> Result<Vec<Run>, StoreError> {
        self.readers.on(|c| {
            let mut statement = c.prepare(
                "SELECT seq, body FROM runs WHERE status IN ('queued', 'running', 'paused') ORDER BY seq",
            )?;
            let rows = statement.query_map([], body)?;
            rows.map(|row| Ok(serde_json::from_str(&row?.1)?)).collect()
        })
        .await
    }

    async fn append(&self, run: &str, events: &[StoredEvent], kept: u64) -> Result<(), StoreError> {
        let (run, events) = (run.to_owned(), events.to_vec());
        self.write(move |t| {
            let mut insert = t.prepare(INSERT)?;
            for event in &events {
                insert.execute(params![run, event.id, event.kind, event.data])?;
            }
            if let Some(old) = events.last().and_then(|e| e.id.checked_sub(kept)) {
                t.execute(
                    "DELETE FROM events WHERE run = ?1 AND id <= ?2",
                    params![run, old],
                )?;
            }
            Ok(())
        })
        .await
    }

    async fn events(
        &self,
        run: &str,
        after: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let (run, after) = (run.to_owned(), i64::try_from(after).unwrap_or(i64::MAX));
        self.readers
            .on(move |c| {
                let mut statement = c.prepare(
                "SELECT id, kind, data FROM events WHERE run = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
            )?;
                let limit = i64::try_from(limit).unwrap_or(i64::MAX);
                let rows = statement.query_map(params![run, after, limit], |r| {
                    Ok(StoredEvent {
                        id: r.get(0)?,
                        kind: r.get(1)?,
                        data: r.get(2)?,
                    })
                })?;
                let (mut events, mut all) = (Vec::new(), 0);
                for event in rows {
                    let event: StoredEvent = event?;
                    all += event.data.len();
                    events.push(event);
                    if all >= bytes {
                        break;
                    }
                }
                Ok(events)
            })
            .await
    }

    async fn bounds(&self, run: &str) -> Result<(u64, u64), StoreError> {
        let run = run.to_owned();
        self.readers
            .on(move |c| {
                Ok(c.query_row(
                    "SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM events WHERE run = ?1",
                    [run],
                    |r| Ok((r.get(0)?, r.get(1)?)),
                )?)
            })
            .await
    }
}

#[async_trait]
impl Queue for Sqlite {
    async fn push(&self, run: &str) -> Result<(), StoreError> {
        let run = run.to_owned();
        self.write(move |t| {
            t.execute("INSERT OR IGNORE INTO queue (run) VALUES (?1)", [run])?;
            Ok(())
        })
        .await?;
        self.pushed.notify_one();
        Ok(())
    }

    async fn take(&self) -> Result<String, StoreError> {
        const NEXT: &str = "UPDATE queue SET taken = 1
             WHERE seq = (SELECT min(seq) FROM queue WHERE taken = 0) RETURNING run";
        loop {
            let next = |t: &rusqlite::Transaction<'_>| {
                Ok(t.query_row(NEXT, [], |r| r.get(0)).optional()?)
            };
            if let Some(run) = self.write(next).await? {
                return Ok(run);
            }
            self.pushed.notified().await;
        }
    }

    async fn done(&self, run: &str) -> Result<(), StoreError> {
        let run = run.to_owned();
        self.write(move |t| {
            t.execute("DELETE FROM queue WHERE run = ?1", [run])?;
            Ok(())
        })
        .await
    }

    async fn recover(&self) -> Result<(), StoreError> {
        self.write(|t| {
            t.execute("UPDATE queue SET taken = 0", [])?;
            Ok(())
        })
        .await
    }

    async fn waiting(&self) -> Result<u64, StoreError> {
        self.readers
            .on(|c| {
                let count = "SELECT count(*) FROM queue WHERE taken = 0";
                Ok(c.query_row(count, [], |r| r.get(0))?)
            })
            .await
    }
}
