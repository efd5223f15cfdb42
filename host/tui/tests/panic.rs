//! A panic leaves the terminal as it was.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::process::{Command, Stdio};

use ralph_tui::screen::Screen;

/// Started by the other test, on a terminal.
#[test]
#[ignore = "is no test of its own"]
fn panicking() {
    let _screen = Screen::take().unwrap();
    panic!("as it was wanted");
}

#[test]
fn a_panic_gives_the_terminal_back_and_its_message_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let exe = std::env::current_exe().unwrap();
    let line = format!(
        "stty -a >before; '{}' --ignored --exact panicking --nocapture; stty -a >after",
        exe.display()
    );
    let ran = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&ran.stdout);
    let left = shown.rfind("\u{1b}[?1049l").unwrap();
    assert!(shown.find("\u{1b}[?1049h").unwrap() < left, "{shown:?}");
    assert!(shown[left..].contains("as it was wanted"), "{shown:?}");
    let stty = |name| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(stty("before"), stty("after"));
}
