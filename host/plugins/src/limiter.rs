//! Limits of one store, counted over everything in it: wasmtime's own
//! `StoreLimits` looks at each memory alone.

use wasmtime::ResourceLimiter;

use crate::grants::Limits;

pub(crate) struct Limiter {
    memory: Budget,
    table_elements: Budget,
    instances: usize,
    /// What was refused last, if anything was.
    pub(crate) refused: Option<Refused>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Memory,
    TableElements,
}

/// Tables and memories which one store may have; far more than any tool chain makes.
pub(crate) const MAX_PARTS: usize = 64;

struct Budget {
    used: u64,
    limit: u64,
}

impl Budget {
    fn new(limit: u64) -> Self {
        Budget { used: 0, limit }
    }

    fn take(&mut self, current: usize, desired: usize) -> bool {
        let more = desired.saturating_sub(current) as u64;
        match self.used.checked_add(more) {
            Some(sum) if sum <= self.limit => {
                self.used = sum;
                true
            }
            _ => false,
        }
    }
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Limiter {
        Limiter {
            memory: Budget::new(limits.memory),
            table_elements: Budget::new(limits.table_elements),
            instances: usize::try_from(limits.instances).unwrap_or(usize::MAX),
            refused: None,
        }
    }

    /// All linear memories together, in bytes. They never shrink.
    pub(crate) fn memory(&self) -> u64 {
        self.memory.used
    }
}

/// Growth beyond what the memory or table itself allows is bound to fail, so it
/// isn't counted. Growth that fails for another reason stays counted: the engine
/// does not say reliably which growth it was, and too little is the safe side.
fn beyond(desired: usize, maximum: Option<usize>) -> bool {
    maximum.is_some_and(|maximum| desired > maximum)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if beyond(desired, maximum) {
            return Ok(false);
        }
        let granted = self.memory.take(current, desired);
        if !granted {
            self.refused = Some(Refused::Memory);
        }
        Ok(granted)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if beyond(desired, maximum) {
            return Ok(false);
        }
        let granted = self.table_elements.take(current, desired);
        if !granted {
            self.refused = Some(Refused::TableElements);
        }
        Ok(granted)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        MAX_PARTS
    }

    fn memories(&self) -> usize {
        MAX_PARTS
    }
}
