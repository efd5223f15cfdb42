//! What a process has compiled, or found compiled: each component once, however many ask.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many that nobody uses any more are kept; a process may go through any number of them
/// (`ralph plugin dev`), and through files that are none.
const UNUSED: usize = 16;

/// Locked while a component is compiled, so that nobody does it twice. Empty if that failed.
type Place<T> = Arc<Mutex<Option<Arc<T>>>>;

/// Places by the component's digest.
pub(crate) struct Shelf<T>(Mutex<HashMap<[u8; 32], Place<T>>>);

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Shelf(Mutex::default())
    }
}

impl<T> Shelf<T> {
    /// What stands there, or what `make` brings.
    pub(crate) fn get<E>(
        &self,
        digest: [u8; 32],
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let place = self.place(digest);
        let mut place = lock(&place);
        if let Some(found) = &*place {
            return Ok(found.clone());
        }
        let made = Arc::new(make()?);
        *place = Some(made.clone());
        Ok(made)
    }

    fn place(&self, digest: [u8; 32]) -> Place<T> {
        let mut all = lock(&self.0);
        if !all.contains_key(&digest) && all.len() >= UNUSED {
            all.retain(|_, place| used(place));
        }
        all.entry(digest).or_default().clone()
    }
}

/// Somebody has it, or is about to.
fn used<T>(place: &Place<T>) -> bool {
    Arc::strong_count(place) > 1
        || lock(place)
            .as_ref()
            .is_some_and(|it| Arc::strong_count(it) > 1)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn digest(number: u8) -> [u8; 32] {
        [number; 32]
    }

    #[test]
    fn what_is_used_stays_and_the_rest_is_bounded() {
        let shelf: Shelf<u8> = Shelf::default();
        let used: Vec<_> = (0..40)
            .map(|n| shelf.get(digest(n), || Ok::<_, ()>(n)).unwrap())
            .collect();
        assert_eq!(lock(&shelf.0).len(), 40);
        for n in 40..=255 {
            if n % 2 == 0 {
                shelf.get(digest(n), || Ok::<_, ()>(n)).unwrap();
            } else {
                shelf.get(digest(n), || Err(n)).unwrap_err();
            }
            assert!(lock(&shelf.0).len() <= used.len() + 1, "{n}");
        }
        for n in 0..40 {
            let again = shelf.get(digest(n), || Err("made twice")).unwrap();
            assert!(Arc::ptr_eq(&again, &used[usize::from(n)]));
        }
        drop(used);
        for n in 100..=255 {
            shelf.get(digest(n), || Ok::<_, ()>(n)).unwrap();
        }
        assert!(lock(&shelf.0).len() <= UNUSED);
    }

    #[test]
    fn what_failed_is_tried_again_and_what_did_not_is_made_once() {
        let shelf: Shelf<u8> = Shelf::default();
        assert_eq!(shelf.get(digest(1), || Err("no")), Err("no"));
        assert_eq!(*shelf.get(digest(1), || Ok::<_, ()>(7)).unwrap(), 7);
        assert_eq!(*shelf.get(digest(1), || Err("made twice")).unwrap(), 7);
    }
}
