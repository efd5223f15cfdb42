//! What a reader gives doesn't depend on what it has read before.

use proptest::prelude::*;

use super::*;
use crate::tasks::{Ids, Reader};

const FILE: &str =
    "# x\n\n- [ ] one\n- [x] US-2: two\n  - [ ] criterion\n- [~] three\n- [-] four\n";

/// What a file says, without where it came from.
fn said(file: &TaskFile) -> String {
    let (entries, warnings) = (file.entries(), file.warnings());
    format!(
        "{entries:?} {warnings:?} {:?} {:?}",
        file.ids(),
        file.bytes()
    )
}

/// Reads with the reader and anew, and compares.
fn read(reader: &mut Reader, text: &[u8], known: &Ids) -> Option<Ids> {
    let ours = reader.read("PRD.md", text, known);
    let anew = TaskFile::parse_known("PRD.md", text, known);
    match (ours, anew) {
        (Ok(ours), Ok(anew)) => {
            assert_eq!(
                said(&ours),
                said(&anew),
                "{}",
                String::from_utf8_lossy(text)
            );
            for entry in anew.entries() {
                assert_eq!(ours.get(&entry.task.id), Some(entry));
            }
            Some(anew.ids().clone())
        }
        (Err(ours), Err(anew)) => {
            assert_eq!(ours.to_string(), anew.to_string());
            None
        }
        (ours, anew) => panic!("{ours:?} is not {anew:?}"),
    }
}

#[test]
fn every_byte_may_change_to_every_mark() {
    let mut reader = Reader::default();
    let ids = read(&mut reader, FILE.as_bytes(), &Ids::default()).unwrap();
    for at in 0..FILE.len() {
        for new in *b" xX-!~[]\n?" {
            let mut text = FILE.as_bytes().to_vec();
            text[at] = new;
            read(&mut reader, &text, &ids);
            read(&mut reader, FILE.as_bytes(), &ids);
        }
    }
}

#[test]
fn a_reading_that_is_kept_stays_as_it_was() {
    let mut reader = Reader::default();
    let ids = Ids::default();
    let before = reader.read("PRD.md", FILE.as_bytes(), &ids).unwrap();
    let ticked = before.set_state("T1", TaskState::Done).unwrap();
    let after = reader.read("PRD.md", &ticked, &ids).unwrap();
    assert_eq!(before.get("T1").unwrap().state, TaskState::Open);
    assert_eq!(after.get("T1").unwrap().state, TaskState::Done);
    assert_eq!(before.bytes(), FILE.as_bytes());
}

#[test]
fn another_file_is_another_reading() {
    let mut reader = Reader::default();
    let ids = Ids::default();
    reader.read("PRD.md", FILE.as_bytes(), &ids).unwrap();
    let error = reader.read("x.json", FILE.as_bytes(), &ids).unwrap_err();
    assert_eq!(error.file, "x.json");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_reads_what_is_there(
        start in super::properties::markdown(),
        steps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4u8), 1..8),
    ) {
        const BYTES: &[u8] = b" xX-!~[]\nab?`#\t1.";
        let mut reader = Reader::default();
        let mut text = start.into_bytes();
        let mut known = Ids::default();
        for (at, byte, how) in steps {
            if let Some(ids) = read(&mut reader, &text, &known)
                && how > 0
            {
                known = ids;
            }
            if text.is_empty() { return Ok(()) }
            let at = at.index(text.len());
            match how {
                0 => { text.remove(at); }
                // A mark, if it finds one there.
                1 | 2 => {
                    let boxes: Vec<usize> = text.windows(3).enumerate()
                        .filter(|(_, w)| w[0] == b'[' && w[2] == b']').map(|(i, _)| i + 1).collect();
                    if let Some(&mark) = boxes.get(at % boxes.len().max(1)) {
                        text[mark] = BYTES[byte.index(6)];
                    }
                }
                _ => text[at] = BYTES[byte.index(BYTES.len())],
            }
        }
        read(&mut reader, &text, &known);
    }
}
