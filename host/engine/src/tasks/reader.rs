//! A task file read again and again, as a loop does: what is the same as before isn't parsed anew.

use std::sync::Arc;

use super::error::TaskFileError;
use super::file::TaskFile;
use super::ids::Ids;

/// Remembers the last reading of one task file.
///
/// What [`Reader::read`] gives never depends on what was read before: it is what
/// [`TaskFile::parse_known`] gives for the same bytes and ids.
#[derive(Debug, Default)]
pub struct Reader {
    last: Option<Reading>,
}

#[derive(Debug)]
struct Reading {
    /// The ids that it was read with.
    known: Ids,
    file: Arc<TaskFile>,
}

impl Reader {
    /// As [`TaskFile::parse_known`]. O(bytes) if only the marks of a checklist's tasks have changed
    /// since the last time, or nothing, with a small constant: the bytes are compared.
    ///
    /// # Errors
    /// As [`TaskFile::parse`]; the last reading stays.
    pub fn read(
        &mut self,
        name: &str,
        bytes: &[u8],
        known: &Ids,
    ) -> Result<Arc<TaskFile>, TaskFileError> {
        if let Some(last) = &mut self.last
            && last.file.name() == name
            && (last.known == *known || last.file.ids() == known)
        {
            if last.file.bytes() == bytes {
                return Ok(last.file.clone());
            }
            if let Some(marks) = last.file.marks_in(bytes) {
                // In place, unless somebody still holds the last reading.
                Arc::make_mut(&mut last.file).remark(&marks, bytes);
                return Ok(last.file.clone());
            }
        }
        let file = Arc::new(TaskFile::parse_known(name, bytes, known)?);
        self.last = Some(Reading {
            known: known.clone(),
            file: file.clone(),
        });
        Ok(file)
    }
}
