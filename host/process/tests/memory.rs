//! Memory stays flat whatever is printed. Alone in its process, which it measures.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use ralph_process::{Spawn, start};

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

async fn print(mib: usize) -> usize {
    let mut spawn = Spawn::new("sh", std::env::temp_dir());
    let script = format!("head -c {mib}M /dev/zero | tee /dev/stderr");
    spawn.args = vec!["-c".into(), script.into()];
    spawn.env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    let mut running = start(spawn).unwrap();
    let mut bytes = 0;
    while let Some(piece) = running.next().await {
        bytes += piece.len();
    }
    let end = running.finish().await;
    assert_eq!((end.code, end.stderr_tail.len()), (Some(0), 64 * 1024));
    bytes
}

#[tokio::test]
async fn two_hundred_mib_on_both_streams_take_no_more_memory_than_one() {
    assert_eq!(print(1).await, 1 << 20);
    let before = peak_kib();
    let started = std::time::Instant::now();
    assert_eq!(print(200).await, 200 << 20);
    let more = peak_kib() - before;
    eprintln!("200 MiB twice in {:?}, {more} KiB more", started.elapsed());
    assert!(more < 4096, "{more} KiB");
}
