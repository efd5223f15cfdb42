//! A worker's commits onto what was merged meanwhile, and commits found by what they say.

use ralph_workspace::Restacked;

use crate::support::{TestRepo, git_in};

fn head(repo: &TestRepo) -> String {
    repo.sh(&["rev-parse", "HEAD"]).trim().to_owned()
}

#[tokio::test]
async fn after_a_death_within_a_restack_the_next_one_comes_to_the_same() {
    let repo = TestRepo::new();
    let base = head(&repo);
    repo.put("work.txt", "work\n");
    repo.commit_all("work");
    let work = head(&repo);
    repo.sh(&["checkout", "-q", "-B", "other", &base]);
    repo.put("shared.txt", "theirs\n");
    repo.commit_all("theirs");
    let theirs = head(&repo);
    repo.sh(&["checkout", "-q", "-B", "onto", &base]);
    repo.put("shared.txt", "ours\n");
    repo.commit_all("ours");
    let onto = head(&repo);
    // A cherry-pick that is half done, and a file of the work that git doesn't know here.
    let picked = git_in(repo.ws.root(), &["cherry-pick", &theirs]);
    assert!(!picked.status.success());
    repo.put("work.txt", "ha");
    match repo.git.restack(&base, &work, &onto).await.unwrap() {
        Restacked::Done { sha } => assert_eq!(sha, head(&repo)),
        Restacked::Conflict { paths } => panic!("{paths:?}"),
    }
    assert_eq!(repo.get("work.txt"), "work\n");
    assert_eq!(repo.get("shared.txt"), "ours\n");
    assert!(repo.status().is_empty(), "{:?}", repo.status());
}

#[tokio::test]
async fn a_commit_says_its_attempts_and_one_that_is_not_there_says_nothing() {
    let repo = TestRepo::new();
    repo.put("a.txt", "a\n");
    repo.commit_all("one\n\nRalph-Attempt: a-1\n");
    let commit = head(&repo);
    let tree = repo.sh(&["rev-parse", "HEAD^{tree}"]).trim().to_owned();
    let asked = [commit, "0".repeat(40), tree];
    let said = repo.git.attempts_of(&asked).await.unwrap();
    assert_eq!(said, [Some(vec!["a-1".to_owned()]), None, None]);
    assert!(repo.git.attempts_of(&["--all".to_owned()]).await.is_err());
    assert!(repo.git.attempts_of(&[]).await.unwrap().is_empty());
}
