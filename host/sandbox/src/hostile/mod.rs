//! What a hostile agent would try, under each profile and layer.
//!
//! A test starts this very test binary again as the confined program ([`act`]); it
//! tries everything in [`rows::ROWS`] and prints what came of each. What a kernel
//! can't hold is skipped, and said.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod acts;
mod escapes;
mod rows;
mod stage;

use std::collections::BTreeMap;
use std::time::Duration;

use ralph_process::Spawn;

use super::plan::Plan;
use super::policy::{Layer, Limits, Network, Policy, Profile};
use super::rules::Kernel;
use super::{Confined, Enforced};
use rows::{Feature, ROWS};
use stage::Stage;

/// The confined program: not a test, unless a test has started it.
#[test]
fn act() {
    let Some(stage) = Stage::from_env() else {
        return;
    };
    for row in ROWS {
        let outcome = match (row.act)(&stage) {
            Ok(()) => "done".to_owned(),
            Err(e) => format!("refused: {e}"),
        };
        println!("\nROW {} {outcome}", row.name);
    }
}

struct Played {
    /// By row.
    outcomes: BTreeMap<String, String>,
    enforced: Enforced,
    kernel: Kernel,
}

fn policy(profile: Profile, layer: Layer, network: Network) -> Policy {
    Policy {
        profile,
        layer,
        read: Vec::new(),
        write: Vec::new(),
        network,
        limits: Limits {
            processes: Some(64),
            file_size: Some(8 << 20),
            open_files: Some(128),
            memory: Some(4 << 30),
        },
    }
}

async fn play(stage: &Stage, mut policy: Policy, namespace: bool) -> Played {
    let kernel = Kernel::ask();
    // The test binary itself, for a profile that reads only what is listed.
    policy.read.push(stage.program());
    let plan = if namespace {
        Plan::new(policy).await
    } else {
        Plan::on(policy, kernel, Err("this test takes it away".into())).await
    };
    let mut spawn = Spawn {
        args: ["hostile::act", "--exact", "--nocapture"]
            .map(Into::into)
            .to_vec(),
        env: stage.env(),
        timeout: Some(Duration::from_secs(120)),
        ..Spawn::new(stage.program(), stage.project())
    };
    let mut confined: Confined = plan.confine(&stage.place(), None, &mut spawn).unwrap();
    let out = ralph_process::run_noted(spawn, 1 << 20, |_, _| confined.started().unwrap())
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut outcomes: BTreeMap<String, String> = text
        .lines()
        .filter_map(|l| l.strip_prefix("ROW ")?.split_once(' '))
        .map(|(name, outcome)| (name.to_owned(), outcome.to_owned()))
        .collect();
    for row in ROWS {
        let got = outcomes.get_mut(row.name).unwrap_or_else(|| {
            panic!(
                "{} was not tried: {text}\n{}",
                row.name,
                String::from_utf8_lossy(&out.stderr)
            )
        });
        // What counts is what arrived outside.
        if let Some(seen) = row.seen {
            *got = if seen(stage) {
                "done".into()
            } else {
                format!("not seen outside ({got})")
            };
        }
    }
    Played {
        outcomes,
        enforced: confined.enforced().clone(),
        kernel,
    }
}

/// Plays all rows on a stage of their own and compares them with the table.
async fn hold(profile: Profile, layer: Layer) {
    let stage = Stage::new();
    let played = play(&stage, policy(profile, layer, Network::Closed), true).await;
    if layer == Layer::Bubblewrap && played.enforced.layer != "bubblewrap" {
        eprintln!("skipped: {}", played.enforced.missing.join("; "));
        return;
    }
    let mut wrong = Vec::new();
    for row in ROWS {
        let Some(want) = row.expected(profile, layer) else {
            continue;
        };
        if let Some(why) = lacking(row.needs, played.kernel, layer) {
            eprintln!("skipped: {}: {why}", row.name);
            continue;
        }
        let got = &played.outcomes[row.name];
        if (got == "done") != want {
            wrong.push(format!("{}: {got}", row.name));
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{}", played.enforced.line());
}

fn lacking(feature: Feature, kernel: Kernel, layer: Layer) -> Option<&'static str> {
    let root = rustix::process::geteuid().is_root();
    let landlock = layer == Layer::Landlock;
    match feature {
        Feature::Always => None,
        Feature::Files => (landlock && !kernel.files).then_some("no Landlock here"),
        Feature::Scopes => (landlock && !kernel.scopes).then_some("this Landlock has no scopes"),
        Feature::Refer => (landlock && !kernel.refer).then_some("this Landlock knows no moves"),
        Feature::Truncate => {
            (landlock && !kernel.truncate).then_some("this Landlock knows no truncation")
        }
        Feature::Root => (!root).then_some("it takes root to tell"),
        Feature::Ids => {
            (!root || !landlock).then_some("it takes root outside of a user namespace to tell")
        }
        Feature::Disk => stage::disk().is_none().then_some("no block device here"),
        Feature::Interfaces => (stage::interfaces() < 2).then_some("no network here but loopback"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn landlock_read_only() {
    hold(Profile::ReadOnly, Layer::Landlock).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn landlock_workspace_write() {
    hold(Profile::WorkspaceWrite, Layer::Landlock).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn landlock_custom() {
    hold(Profile::Custom, Layer::Landlock).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bubblewrap_read_only() {
    hold(Profile::ReadOnly, Layer::Bubblewrap).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bubblewrap_workspace_write() {
    hold(Profile::WorkspaceWrite, Layer::Bubblewrap).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bubblewrap_custom() {
    hold(Profile::Custom, Layer::Bubblewrap).await;
}

/// With the profile `off` everything that file modes allow is possible: the rows can fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_sandbox_the_same_actions_succeed() {
    let stage = Stage::new();
    let played = play(
        &stage,
        policy(Profile::Off, Layer::Landlock, Network::Closed),
        true,
    )
    .await;
    assert_eq!(played.enforced.line(), "off");
    for name in [
        "read-a-secret",
        "write-into-home",
        "truncate-elsewhere",
        "move-out",
        "link-a-secret-in",
        "write-the-trust-store",
        "read-the-environment-of-others",
        "kill-others",
        "tcp-to-outside",
        "udp-to-outside",
        "abstract-socket",
        "see-interfaces",
        "plant-a-hook",
        "gain-privileges",
        "open-many-files",
        "write-a-huge-file",
        "inherited-descriptor",
        "io-uring",
        "trace-others",
        "open-the-memory-of-others",
        "type-into-a-terminal",
        "set-the-clock",
        "take-much-memory",
    ] {
        if name == "see-interfaces" && stage::interfaces() < 2 {
            continue;
        }
        assert_eq!(played.outcomes[name], "done", "{name}");
    }
}

/// Where no namespace can be had, Landlock's TCP rules and a filter over sockets hold the network.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_network_without_a_namespace() {
    for layer in [Layer::Landlock, Layer::Bubblewrap] {
        let stage = Stage::new();
        let played = play(
            &stage,
            policy(Profile::WorkspaceWrite, layer, Network::Closed),
            false,
        )
        .await;
        if !played.enforced.lacks_loopback() {
            panic!("{}", played.enforced.line());
        }
        for name in [
            "tcp-to-outside",
            "udp-to-outside",
            "raw-socket",
            "netlink-socket",
            "packet-socket",
            "abstract-socket",
        ] {
            assert_ne!(played.outcomes[name], "done", "{name} {layer:?}");
        }
    }
}

/// Without a namespace an allow-list is partial, and said to be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_without_a_namespace_are_partial() {
    if !Kernel::ask().tcp {
        eprintln!("skipped: this Landlock has no TCP rules");
        return;
    }
    for layer in [Layer::Landlock, Layer::Bubblewrap] {
        let stage = Stage::new();
        let allowed = format!("localhost:{}", stage.tcp_port());
        let hosts = vec![ralph_config::HostPattern::parse(&allowed).unwrap()];
        let played = play(
            &stage,
            policy(Profile::WorkspaceWrite, layer, Network::Hosts(hosts)),
            false,
        )
        .await;
        assert!(!played.enforced.is_whole(), "{}", played.enforced.line());
        assert_eq!(
            played.outcomes["connect-through-the-proxy"], "done",
            "{layer:?}"
        );
        for name in [
            "tcp-to-outside",
            "udp-to-outside",
            "raw-socket",
            "netlink-socket",
            "packet-socket",
            "connect-to-another-host",
            "tcp-without-connect",
            "multipath-tcp",
        ] {
            assert_ne!(played.outcomes[name], "done", "{name} {layer:?}");
        }
    }
}

/// With one, there is no way but the proxy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_are_reached_through_the_proxy_and_no_others() {
    for layer in [Layer::Landlock, Layer::Bubblewrap] {
        let stage = Stage::new();
        let allowed = format!("localhost:{}", stage.tcp_port());
        let hosts = vec![ralph_config::HostPattern::parse(&allowed).unwrap()];
        let played = play(
            &stage,
            policy(Profile::WorkspaceWrite, layer, Network::Hosts(hosts)),
            true,
        )
        .await;
        assert_eq!(
            played.outcomes["connect-through-the-proxy"],
            "done",
            "{}",
            played.enforced.line()
        );
        for name in [
            "tcp-to-outside",
            "udp-to-outside",
            "connect-to-another-host",
            "abstract-socket",
        ] {
            assert_ne!(played.outcomes[name], "done", "{name} {layer:?}");
        }
    }
}

/// A kernel that lacks something is reported as partial, with what it lacks.
#[tokio::test]
async fn an_older_kernel_is_partial_and_one_without_landlock_says_so() {
    let older = Kernel {
        scopes: false,
        ..Kernel::ask()
    };
    let policy = Policy {
        limits: Limits::default(),
        ..policy(Profile::WorkspaceWrite, Layer::Landlock, Network::Open)
    };
    let plan = Plan::on(policy.clone(), older, Ok(())).await;
    assert_eq!(plan.enforced().level, super::Level::Partial);
    assert!(
        plan.enforced().missing[0].contains("signals"),
        "{}",
        plan.enforced().line()
    );
    let none = Kernel {
        files: false,
        ..older
    };
    let plan = Plan::on(policy, none, Ok(())).await;
    assert_eq!(
        (plan.enforced().level, plan.enforced().layer),
        (super::Level::Partial, "seccomp")
    );
    assert!(plan.enforced().line().contains("files are not held"));
}

/// In a worktree git's hooks and configuration are out of reach, and git works all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_worktree_landlock_keeps_hooks_and_configuration() {
    if !Kernel::ask().files {
        eprintln!("skipped: no Landlock here");
        return;
    }
    let stage = Stage::with_worktree();
    let played = play(
        &stage,
        policy(Profile::WorkspaceWrite, Layer::Landlock, Network::Closed),
        true,
    )
    .await;
    assert!(
        played
            .enforced
            .protected
            .contains("outside the writable tree"),
        "{}",
        played.enforced.line()
    );
    for name in ["plant-a-hook", "change-git-config"] {
        assert_ne!(played.outcomes[name], "done", "{name}");
    }
    for name in ["write-a-git-object", "write-into-the-project"] {
        assert_eq!(played.outcomes[name], "done", "{name}");
    }
}
