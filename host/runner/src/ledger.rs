//! How the loop writes down what happened: journal, its own state, every view, in that order.

use std::collections::BTreeMap;

use ralph_engine::Fact;
use ralph_engine::event::Event;
use ralph_engine::types::Role;

use crate::agent;
use crate::audit::files;
use crate::error::Error;
use crate::journal::{Line, Syncing};
use crate::redact;
use crate::run::Loop;
use crate::steer::Book;

impl Loop {
    /// Into the journal, the state, and before every view.
    pub(crate) fn record(&mut self, fact: Fact) -> Result<(), Error> {
        self.record_all(vec![fact])
    }

    /// Several at once, which stand in the journal one behind the other.
    pub(crate) fn record_all(&mut self, facts: Vec<Fact>) -> Result<(), Error> {
        let facts = redact::facts(facts);
        let desk = self.desk.clone();
        let mut book = desk.book();
        self.fold(book.take_noted())?;
        self.append(&mut book, &facts)?;
        drop(book);
        self.tell(facts);
        Ok(())
    }

    /// Records the start of a phase, unless somebody said something meanwhile.
    pub(crate) fn begin(&mut self, fact: Fact) -> Result<bool, Error> {
        let desk = self.desk.clone();
        let mut book = desk.book();
        let noted = book.take_noted();
        if !noted.is_empty() {
            self.fold(noted)?;
            return Ok(false);
        }
        let facts = redact::facts(vec![fact]);
        self.append(&mut book, &facts)?;
        drop(book);
        self.tell(facts);
        Ok(true)
    }

    fn append(&mut self, book: &mut Book, facts: &[Fact]) -> Result<(), Error> {
        let mut next = self.state.clone();
        for fact in facts {
            next.apply(fact)
                .map_err(|e| Error::Internal(e.to_string()))?;
        }
        let lines = book.journal.append(facts)?;
        self.state = next;
        self.lines.extend(lines);
        book.show(&self.state, facts);
        Ok(())
    }

    fn tell(&self, facts: Vec<Fact>) {
        for fact in facts {
            self.bus.send(&Event::Fact(fact));
        }
    }

    /// Takes in what others journaled over the desk.
    pub(crate) fn fold_noted(&mut self) -> Result<(), Error> {
        let noted = self.desk.book().take_noted();
        self.fold(noted)
    }

    fn fold(&mut self, noted: Vec<Line>) -> Result<(), Error> {
        for line in noted {
            self.state
                .apply(&line.fact)
                .map_err(|e| Error::Internal(e.to_string()))?;
            self.lines.push(line);
        }
        Ok(())
    }

    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.desk.book().journal.sync()
    }

    /// The same, side by side with something else.
    pub(crate) fn syncing(&self) -> Result<Syncing, Error> {
        self.desk.book().journal.syncing()
    }

    /// Writes `state.json`. What was noted is folded first: state and checkpoint must agree.
    pub(crate) fn save(&mut self) -> Result<(), Error> {
        let desk = self.desk.clone();
        let mut book = desk.book();
        self.fold(book.take_noted())?;
        self.file.update(&self.state, book.journal.checkpoint());
        self.file.write(&self.s.project.ws)
    }

    /// Adds the hashes of everything kept of the current attempt beside its receipts.
    pub(crate) fn kept(&self, files: &mut BTreeMap<String, String>) -> Result<(), Error> {
        let places = self.places()?;
        let mut logs = vec![places.log(&self.current()?.agent, "")];
        for (asker, role) in [(&self.s.judge, Role::Judge), (&self.s.review, Role::Review)] {
            if let Some(asker) = asker {
                logs.push(places.log(&asker.agent.name, agent::suffix(role)));
            }
        }
        files::kept(&self.s.project.ws, &places, &logs, files)
    }
}
