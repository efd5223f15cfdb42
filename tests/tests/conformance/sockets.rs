//! Where a run's socket is, whose it is, and what else may lie there (F10).

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use ralph_tests::{Client, Live, Project, go, ready, socket, waiting};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A path may have this many bytes.
const PATH_MAX: usize = 107;

fn directory(p: &Project) -> PathBuf {
    socket(p).parent().unwrap().to_owned()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn pid(p: &Project) -> Value {
    Client::of(p).call("get_status", json!({}))["result"]["pid"].clone()
}

fn started(p: &Project) -> Live {
    let run = p.start(&["run"]);
    p.hear("here");
    run
}

fn stopped(p: &Project, run: Live) {
    p.run(&["stop", "--now"]).expect(0);
    run.wait().expect(1);
}

#[test]
fn nobody_but_the_user_can_reach_it_whatever_umask_and_directory_say() {
    let p = ready(waiting());
    fs::create_dir_all(directory(&p)).unwrap();
    fs::set_permissions(directory(&p), Permissions::from_mode(0o777)).unwrap();
    let inner = p.command(&["run"]);
    let mut shell = std::process::Command::new("sh");
    let line = format!("umask 0; exec '{}' run", inner.get_program().display());
    shell.args(["-c", &line]).current_dir(p.root()).env_clear();
    shell.envs(inner.get_envs().filter_map(|(n, v)| Some((n, v?))));
    let run = p.start_command(shell);
    p.hear("here");
    assert_eq!(mode(&directory(&p)), 0o700);
    assert_eq!(mode(&socket(&p)), 0o600);
    assert_eq!(mode(&socket(&p).with_extension("lock")), 0o600);
    stopped(&p, run);
    assert!(!socket(&p).exists(), "it goes with the run");
}

#[test]
fn what_a_killed_run_left_behind_is_replaced() {
    let p = ready(waiting());
    let run = started(&p);
    run.signal(Signal::KILL);
    run.wait();
    assert!(socket(&p).exists() && UnixStream::connect(socket(&p)).is_err());
    let run = started(&p);
    assert_eq!(pid(&p), run.pid());
    stopped(&p, run);
}

/// F01
#[test]
fn a_live_socket_of_somebody_else_is_left_alone_and_the_run_is_found_under_another_name() {
    let p = ready(waiting());
    fs::create_dir_all(directory(&p)).unwrap();
    // Nobody accepts there: a suspended process looks like that.
    let theirs = UnixListener::bind(socket(&p)).unwrap();
    let inode = fs::metadata(socket(&p)).unwrap().ino();
    let run = started(&p);
    drop(theirs);
    stopped(&p, run);
    assert_eq!(
        fs::metadata(socket(&p)).unwrap().ino(),
        inode,
        "not removed"
    );
}

#[test]
fn a_socket_that_was_put_in_its_place_meanwhile_is_not_removed_at_the_end() {
    let p = ready(waiting());
    let run = started(&p);
    let mut client = Client::of(&p);
    fs::remove_file(socket(&p)).unwrap();
    let theirs = UnixListener::bind(socket(&p)).unwrap();
    client.call("stop", json!({"force": true}));
    run.wait().expect(1);
    assert!(socket(&p).exists());
    drop(theirs);
}

#[test]
fn what_is_no_socket_in_its_place_is_refused_before_anything_happens_and_left_alone() {
    for kind in ["file", "link", "link to a socket", "directory", "pipe"] {
        let p = ready(waiting());
        let (at, other) = (socket(&p), p.side("other.sock"));
        fs::create_dir_all(directory(&p)).unwrap();
        let _listener = UnixListener::bind(&other).unwrap();
        match kind {
            "file" => fs::write(&at, "mine").unwrap(),
            "link" => symlink("/nowhere", &at).unwrap(),
            "link to a socket" => symlink(&other, &at).unwrap(),
            "directory" => fs::create_dir(&at).unwrap(),
            _ => {
                p.fifo("other");
                fs::rename(p.side("other.fifo"), &at).unwrap();
            }
        }
        let before = fs::symlink_metadata(&at).unwrap();
        p.run(&["run"]).expect(3).says("isn't a socket");
        let after = fs::symlink_metadata(&at).unwrap();
        assert_eq!(
            (before.ino(), before.len()),
            (after.ino(), after.len()),
            "{kind}"
        );
        assert!(!p.exists(".ralph/journal.jsonl") || p.read(".ralph/journal.jsonl").is_empty());
        assert_eq!(p.count("agent"), 0, "{kind}");
        // Commands that look for the run are not led astray by it.
        p.run(&["ps"]).expect(0).never_says("run-");
        p.run(&["stop"]).expect(1);
    }
}

#[test]
fn a_directory_that_leads_elsewhere_is_refused() {
    let p = ready(waiting());
    let elsewhere = p.side("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir_all(directory(&p).parent().unwrap()).unwrap();
    symlink(&elsewhere, directory(&p)).unwrap();
    p.run(&["run"])
        .expect(3)
        .says("must be a directory of yours");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

/// Of the name that needs a hash the path must fit too: it may be wanted later.
#[test]
fn a_path_of_a_hundred_and_seven_bytes_is_used_and_a_longer_one_gives_way_to_a_short_one() {
    for more in [0, 1] {
        let p = ready(waiting());
        let short = p.all().join("r");
        fs::create_dir(&short).unwrap();
        let rest = "/ralph/sockets/repo-12345678.sock".len();
        let all = p.all().as_os_str().as_bytes().len();
        let long = p.all().join("d".repeat(PATH_MAX - rest - all - 1 + more));
        let with = |args: &[&str]| {
            let mut command = p.command(args);
            command.env("XDG_DATA_HOME", &long);
            command.env("XDG_RUNTIME_DIR", &short);
            p.start_command(command)
        };
        let run = with(&["run"]);
        p.hear("here");
        assert_eq!(long.join("ralph/sockets/repo.sock").exists(), more == 0);
        assert_eq!(fs::read_dir(&short).unwrap().count(), more);
        with(&["ps"]).wait().expect(0).says("run-");
        with(&["stop", "--now"]).wait().expect(0);
        run.wait().expect(1);
        assert_eq!(long.exists(), more == 0);
    }
}

#[test]
fn where_no_path_is_short_enough_the_run_works_and_says_that_it_cannot_be_steered() {
    let p = Project::build().ready();
    let long = p.all().join("d".repeat(PATH_MAX));
    let mut command = p.command(&["run"]);
    command.env("XDG_DATA_HOME", &long);
    command.env("XDG_RUNTIME_DIR", &long);
    p.start_command(command)
        .wait()
        .expect(0)
        .says("longer than the 107 bytes");
}

#[test]
fn a_second_run_of_the_project_is_refused_and_the_first_ones_socket_stays() {
    let p = ready(waiting());
    let run = started(&p);
    let second = p.run(&["run"]);
    assert_ne!(second.code, 0);
    let named = run.pid().to_string();
    assert!(second.stderr.contains(&named), "{}", second.stderr);
    assert_eq!(pid(&p), run.pid());
    go(&p);
    p.hear("here");
    go(&p);
    run.wait().expect(0);
}
