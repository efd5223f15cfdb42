//! What a child is given, and what is said when it cannot start.

use std::os::unix::fs::PermissionsExt;

use ralph_process::{Spawn, SpawnError, start};

use crate::{SECOND, line, program, sh, to_end};

#[tokio::test]
async fn code_and_stderr_come_back() {
    let (out, end) = to_end(start(sh("echo out; echo err >&2; exit 7")).unwrap()).await;
    assert_eq!(out, b"out\n");
    assert_eq!(
        (end.code, end.signal, end.stderr_tail),
        (Some(7), None, b"err\n".to_vec())
    );
}

#[tokio::test]
async fn a_signal_comes_back_as_signal() {
    let (_, end) = to_end(start(sh("kill -SEGV $$")).unwrap()).await;
    assert_eq!((end.code, end.signal), (None, Some(11)));
}

#[tokio::test]
async fn a_missing_program_is_named_with_the_path_that_was_searched() {
    let error = start(program("no-such-agent", &[])).unwrap_err();
    assert!(matches!(error, SpawnError::NotFound { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("no-such-agent") && text.contains("/bin"),
        "{text}"
    );
}

#[tokio::test]
async fn an_unreadable_directory_in_path_does_not_turn_missing_into_denied() {
    let mut spawn = program("no-such-agent", &[]);
    spawn.env = vec![("PATH".into(), "/dev/null:/bin".into())];
    assert!(matches!(
        start(spawn).unwrap_err(),
        SpawnError::NotFound { .. }
    ));
}

fn script(dir: &std::path::Path, text: &str, mode: u32) {
    let path = dir.join("agent");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
}

fn agent_in(dir: &std::path::Path) -> Spawn {
    Spawn {
        cwd: dir.into(),
        ..program("./agent", &[])
    }
}

#[tokio::test]
async fn a_file_without_the_executable_bit_is_not_executable() {
    let dir = tempfile::tempdir().unwrap();
    script(dir.path(), "#!/bin/sh\n", 0o644);
    let error = start(agent_in(dir.path())).unwrap_err();
    assert!(matches!(&error, SpawnError::NotExecutable { reason, .. } if reason.contains("chmod")));
}

#[tokio::test]
async fn a_missing_interpreter_is_not_taken_for_a_missing_program() {
    let dir = tempfile::tempdir().unwrap();
    script(dir.path(), "#!/no/such/interpreter\n", 0o755);
    let error = start(agent_in(dir.path())).unwrap_err();
    assert!(
        matches!(&error, SpawnError::NotExecutable { reason, .. } if reason.contains("interpreter"))
    );
}

#[tokio::test]
async fn a_path_is_relative_to_the_childs_directory() {
    let dir = tempfile::tempdir().unwrap();
    script(dir.path(), "#!/bin/sh\npwd -P", 0o755);
    let (out, _) = to_end(start(agent_in(dir.path())).unwrap()).await;
    let want = dir.path().canonicalize().unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap().trim(),
        want.to_str().unwrap()
    );
}

#[tokio::test]
async fn a_missing_directory_is_named_instead_of_the_program() {
    let spawn = Spawn {
        cwd: "/no/such/directory".into(),
        ..program("sh", &[])
    };
    let error = start(spawn).unwrap_err();
    assert!(matches!(&error, SpawnError::Other { reason, .. } if reason.contains("/no/such/dir")));
}

#[tokio::test]
async fn too_long_an_argument_is_told_as_such() {
    let long = "x".repeat(2 << 20);
    let error = start(program("true", &[&long])).unwrap_err();
    assert!(
        matches!(error, SpawnError::TooLong { bytes, .. } if bytes > 2 << 20),
        "{error:?}"
    );
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    assert!(matches!(start(sh("true")), Err(SpawnError::Other { .. })));
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_the_marker() {
    let mut spawn = program("env", &[]);
    spawn.env.push(("GIVEN".into(), "yes".into()));
    let (out, _) = to_end(start(spawn).unwrap()).await;
    let out = String::from_utf8(out).unwrap();
    let mut names: Vec<_> = out.lines().map(|l| l.split('=').next().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["GIVEN", "PATH", "RALPH_PROCESS"]);
}

#[tokio::test]
async fn the_child_leads_a_session_of_its_own_and_is_named_by_pid_and_start_time() {
    let mut running = start(sh("cut -d' ' -f6,22 /proc/$$/stat; sleep 60")).unwrap();
    let told = line(&mut running).await;
    assert_eq!(told, format!("{} {}", running.pid(), running.start_time()));
}

#[test]
fn a_child_outlives_the_thread_that_asked_for_it() {
    // The signal on the parent's death comes when the forking *thread* ends.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let handle = runtime.handle().clone();
    let asking = std::thread::spawn(move || {
        let _inside = handle.enter();
        start(sh("sleep 0.3; echo still here")).unwrap()
    });
    let running = asking.join().unwrap();
    let (out, _) = runtime.block_on(to_end(running));
    assert_eq!(out, b"still here\n");
}

#[tokio::test]
async fn a_script_just_written_starts_while_other_threads_fork() {
    let forks = std::thread::spawn(|| {
        (0..60).for_each(|_| {
            std::process::Command::new("true").status().unwrap();
        })
    });
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..30 {
        let _ = std::fs::remove_file(dir.path().join("agent"));
        script(dir.path(), "#!/bin/sh\nexit 3", 0o755);
        let (_, end) = to_end(start(agent_in(dir.path())).unwrap()).await;
        assert_eq!(end.code, Some(3));
        assert!(end.duration < 60 * SECOND);
    }
    forks.join().unwrap();
}
