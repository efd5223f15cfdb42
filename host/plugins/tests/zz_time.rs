use ralph_plugins::*;
use std::time::Instant;
#[tokio::test]
async fn t() {
    let dir = std::path::PathBuf::from(std::env::var("RPC").unwrap());
    for pooling in [true, false] {
        for _ in 0..3 {
            let t = Instant::now();
            let host = Host::new(HostOptions {
                cache_dir: Some(dir.clone()),
                pooling,
                ..Default::default()
            })
            .unwrap();
            let a = t.elapsed();
            let mut each = vec![];
            for (_, name, bytes) in builtins() {
                let t = Instant::now();
                host.load(name, "b", bytes).await.unwrap();
                each.push(t.elapsed());
            }
            eprintln!(
                "pool {} new {:?} all {:?} {:?}",
                host.pooled(),
                a,
                t.elapsed(),
                each
            );
        }
    }
}
