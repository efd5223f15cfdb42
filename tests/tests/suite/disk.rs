//! A disk that is full, or turns read-only, in the middle of a run: it ends with a clear
//! word, nothing is lost, and the next run goes on.

use std::process::Command;

use ralph_tests::{Builder, Project};

/// A file system of the test's own, put in the place of the repository.
#[derive(Clone, Copy, PartialEq)]
enum Disk {
    /// Can be had by everybody, and fills up.
    Tmpfs,
    /// Only root can have it; it can be made to fail like a broken disk.
    Ext4,
}

/// Runs a script with the project on a disk of its own, in a mount namespace; what it leaves
/// beside the repository is on the real disk. False where no such thing is to be had.
fn on_own_disk(p: &Project, disk: Disk, script: &str) -> bool {
    let mount = match disk {
        Disk::Tmpfs => "mount -t tmpfs -o size=6m none $ALL/mnt",
        Disk::Ext4 => {
            "truncate -s 32M $ALL/img; mkfs.ext4 -q $ALL/img; mount -o loop,errors=remount-ro $ALL/img $ALL/mnt"
        }
    };
    let whole = format!(
        "set -eu\n\
         mkdir $ALL/mnt\n\
         ( {mount} ) || exit 77\n\
         cp -a $ROOT/. $ALL/mnt/; sync -f $ALL/mnt\n\
         mount --move $ALL/mnt $ROOT\n\
         cd $ROOT\n{script}"
    );
    let path = p.script("disk", &whole);
    let inner = p.command(&[]);
    let mut command = Command::new("unshare");
    if disk == Disk::Tmpfs {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", &path]).env_clear();
    for (key, value) in inner.get_envs() {
        if let Some(value) = value {
            command.env(key, value);
        }
    }
    let done = command
        .env("ALL", p.all())
        .env("ROOT", p.root())
        .env("SIDE", p.side("."))
        .env("RALPH", inner.get_program())
        .output();
    let Ok(done) = done else {
        eprintln!("SKIPPED: this machine has no `unshare`");
        return false;
    };
    let out = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    if done.status.code() == Some(77) || out.starts_with("unshare:") {
        eprintln!("SKIPPED: no file system can be mounted here: {out}");
        return false;
    }
    assert!(done.status.success(), "{out}");
    true
}

/// `step`, for the first time, is where the disk gets full or read-only; then it is made
/// usable again and the run gone on with.
fn survives(name: &str, disk: Disk, builder: Builder, mend: &str, word: &str) {
    let p = builder.ready();
    let script = format!(
        "printf 'of the user' >mine.txt; printf 'staged' >staged.txt; git add staged.txt; sync -f .\n\
         sha256sum mine.txt staged.txt >$SIDE/before\n\
         code=0; $RALPH run >$SIDE/first.out 2>&1 || code=$?\n\
         echo $code >$SIDE/first.code\n\
         {mend}\n\
         code=0; $RALPH run >$SIDE/second.out 2>&1 || code=$?\n\
         echo $code >$SIDE/second.code\n\
         $RALPH verify >$SIDE/verify.out 2>&1 || echo broken >>$SIDE/verify.out\n\
         git log --reverse --format=%s >$SIDE/log\n\
         git diff --cached --name-only >$SIDE/staged\n\
         sha256sum -c $SIDE/before >/dev/null\n\
         cp -r .ralph/journal.jsonl PRD.md $SIDE/\n"
    );
    if !on_own_disk(&p, disk, &script) {
        return;
    }
    let first = p.noted("first.out");
    assert_eq!(p.noted("first.code").trim(), "2", "{name}: {first}");
    assert!(first.contains(word), "{name}: {first}");
    assert_eq!(
        p.noted("second.code").trim(),
        "0",
        "{name}: {}",
        p.noted("second.out")
    );
    assert!(
        !p.noted("verify.out").contains("broken"),
        "{name}: {}",
        p.noted("verify.out")
    );
    let log = p.noted("log");
    for task in ["T1", "T2"] {
        assert_eq!(
            log.matches(&format!("ralph: {task}")).count(),
            1,
            "{name}: {log}"
        );
    }
    assert_eq!(p.noted("staged").trim(), "staged.txt", "{name}");
    assert_eq!(
        p.noted("PRD.md").matches("[x]").count(),
        2,
        "{name}: {}",
        p.noted("PRD.md")
    );
    let journal = p.noted("journal.jsonl");
    assert!(
        !journal.contains("\"attempt\":2"),
        "{name}: an attempt was used up: {journal}"
    );
}

/// Fills the disk once; `.git` isn't in the tree.
const FILL: &str = "if [ ! -e $SIDE/filled ]; then : >$SIDE/filled; cat /dev/zero >.git/ballast 2>/dev/null || true; fi\n";
const EMPTY: &str = "rm -f .git/ballast";
const FULL: &str = "full";

const WORK: &str =
    "cat >/dev/null; echo \"line $(count agent)\" >>work.txt; echo 'EXIT_SIGNAL: true'\n";

#[test]
fn a_disk_that_fills_up_while_the_agent_works_ends_the_run_and_nothing_is_lost() {
    let agent = format!("{WORK}{FILL}");
    survives(
        "agent",
        Disk::Tmpfs,
        Project::build().agent(&agent),
        EMPTY,
        FULL,
    );
}

#[test]
fn a_disk_that_fills_up_while_a_gate_runs_ends_the_run_and_nothing_is_lost() {
    let builder = Project::build().agent(WORK).gate("fills", FILL);
    survives("gate", Disk::Tmpfs, builder, EMPTY, FULL);
}

#[test]
fn a_disk_that_fills_up_before_the_commit_ends_the_run_and_nothing_is_lost() {
    let builder = Project::build()
        .agent(WORK)
        .other_agent(
            "rules",
            &format!("cat >/dev/null\n{FILL}echo 'JUDGE_SIGNAL: true'\n"),
        )
        .toml("[judge]\nenabled = true\nagent = \"rules\"\n");
    survives("judge", Disk::Tmpfs, builder, EMPTY, FULL);
}

#[test]
fn a_disk_that_turns_read_only_ends_the_run_and_nothing_is_lost() {
    // Linux makes a file system read-only that has errors; this is how one gets some.
    let agent = format!(
        "{WORK}if [ ! -e $SIDE/filled ]; then : >$SIDE/filled; echo 1 >/sys/fs/ext4/$(basename $(findmnt -no SOURCE -T .))/trigger_fs_error; fi\n"
    );
    let mend = "cd /; umount $ROOT; e2fsck -fy $ALL/img >/dev/null 2>&1 || true; mount -o loop $ALL/img $ROOT; cd $ROOT";
    survives(
        "read-only",
        Disk::Ext4,
        // It plays the broken disk as well, which no agent in a sandbox can.
        Project::build()
            .agent(&agent)
            .toml("[sandbox]\nprofile = \"off\""),
        mend,
        "read-only",
    );
}
