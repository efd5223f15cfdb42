//! Facts of a run whose iterations are carried out by workers, each with a
//! journal of its own.

use crate::engine::OutOfOrder;
use crate::fact::Fact;
use crate::state::State;

impl State {
    /// Folds one; the error says why it can't follow.
    pub(crate) fn of_workers(&mut self, fact: &Fact) -> Result<(), OutOfOrder> {
        let bad = |why| Err(OutOfOrder::new(fact, why));
        match fact {
            Fact::Recalled {
                task,
                record,
                iterations,
            } => {
                if self.current.is_some() {
                    return bad("an iteration is on");
                }
                self.iterations = self.iterations.max(*iterations);
                self.tasks.insert(task.clone(), record.clone());
            }
            Fact::Absorbed { task, upto, facts } => {
                if self.current.is_some() || self.run.is_none() {
                    return bad("an iteration is on, or no run");
                }
                if let Some(run) = &mut self.run {
                    run.worked = run.claimed.get(task).filter(|a| !a.is_empty()).cloned();
                }
                let applied = facts.iter().try_for_each(|past| self.apply(&past.fact));
                if let Some(run) = &mut self.run {
                    run.worked = None;
                }
                applied?;
                if self.current.is_some() {
                    return bad("the absorbed iteration has no end");
                }
                self.absorbed.insert(task.clone(), *upto);
                self.free(task);
            }
            Fact::TakenUp => self.take_up(),
            Fact::Released { task } => self.free(task),
            _ => return bad("it is none of a worker's"),
        }
        Ok(())
    }

    fn free(&mut self, task: &str) {
        if let Some(run) = &mut self.run {
            run.claimed.remove(task);
        }
    }
}
