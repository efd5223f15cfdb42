//! The calls of `gh`.

use ralph_config::types::Tasks as Table;
use ralph_engine::tasks::tracker::github::{BLOCKED, Issue};
use ralph_engine::text;
use ralph_workspace::Workspace;

use super::program::{Program, Said};
use crate::error::Error;

/// Of an issue that may be worked on.
pub(super) const FIELDS: &str = "number,title,body,state,url,labels,milestone";
/// Of one that is closed: its text isn't needed.
pub(super) const FEW_FIELDS: &str = "number,title,state,url,labels";
/// With what was said below it.
pub(super) const ALL_FIELDS: &str = "number,title,body,state,url,labels,milestone,comments";

/// The code with which `gh` ends if nobody is logged in.
const NO_LOGIN: i32 = 4;
const LOG_IN: &str = "log in with `gh auth login`, or set GH_TOKEN";

/// Of what it complains if a person has to set something right, and what.
const SETUP: [(&[&str], &str); 4] = [
    (
        &[
            "gh auth login",
            "not logged in",
            "bad credentials",
            "authentication",
        ],
        LOG_IN,
    ),
    (
        &[
            "no git remotes",
            "none of the git remotes",
            "resolve to a repository",
            "not a git repository",
        ],
        "name the repository in [tasks] repo, and see that you may read it",
    ),
    (
        &["has disabled issues"],
        "turn issues on in the repository's settings",
    ),
    (
        &["unknown json field", "unknown flag", "unknown command"],
        "install a newer `gh`",
    ),
];
/// Of what it complains if it may be better by itself.
const TROUBLE: [(&[&str], &str); 2] = [
    (
        &["rate limit"],
        "wait until GitHub answers again, then run again",
    ),
    (
        &[
            "error connecting",
            "dial tcp",
            "no such host",
            "timeout",
            "connection",
        ],
        "see to the network, then run again",
    ),
];

/// `gh`, and what it is asked about.
pub(super) struct Gh {
    pub program: Program,
    table: Table,
}

impl Gh {
    /// It runs in the root of `ws`; `source` is what people call it.
    pub fn new(ws: &Workspace, table: &Table, source: String) -> Gh {
        let program = Program {
            name: "gh",
            source,
            install: "install the GitHub CLI (https://cli.github.com), or set [tasks] source",
            env: &[
                "GH_TOKEN",
                "GITHUB_TOKEN",
                "GH_ENTERPRISE_TOKEN",
                "GITHUB_ENTERPRISE_TOKEN",
                "GH_HOST",
                "GH_REPO",
                "GH_CONFIG_DIR",
            ],
            set: &[
                ("GH_PROMPT_DISABLED", "1"),
                ("GH_NO_UPDATE_NOTIFIER", "1"),
                ("NO_COLOR", "1"),
            ],
            ws: ws.clone(),
            timeout: table.timeout,
        };
        Gh {
            program,
            table: table.clone(),
        }
    }

    /// Runs it with the repository named.
    pub async fn run(&self, args: &[&str]) -> Result<Said, Error> {
        let said = self.program.run(&self.with_repo(args)).await?;
        if said.ok {
            return Ok(said);
        }
        // Not an answer but a reason why there is none, whatever was asked.
        let words = text::one_line(&said.err, 300);
        for (signs, advice) in SETUP {
            if said.complains(signs) {
                return Err(self.program.setup(words, advice));
            }
        }
        if said.code == Some(NO_LOGIN) {
            return Err(self.program.setup(words, LOG_IN));
        }
        for (signs, advice) in TROUBLE {
            if said.complains(signs) {
                return Err(self.program.trouble(words, advice));
            }
        }
        Ok(said)
    }

    fn with_repo<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        let mut all = args.to_vec();
        if !self.table.repo.is_empty() {
            all.extend(["--repo", &self.table.repo]);
        }
        all
    }

    /// Runs what has to succeed.
    pub async fn must(&self, args: &[&str]) -> Result<Said, Error> {
        let said = self.run(args).await?;
        match said.ok {
            true => Ok(said),
            false => Err(self.program.failed(args, &said)),
        }
    }

    /// The issues of a state, the newest, with these fields.
    pub async fn issues(&self, state: &str, fields: &str) -> Result<Vec<Issue>, Error> {
        let limit = self.table.limit.to_string();
        let mut args = vec!["issue", "list", "--state", state, "--limit", &limit];
        args.extend(["--json", fields]);
        if !self.table.label.is_empty() {
            args.extend(["--label", &self.table.label]);
        }
        let said = self.must(&args).await?;
        Issue::many(&said.out).map_err(|why| self.program.garbage(&args, &why, &said.out))
    }

    /// One issue; none if there is no such.
    pub async fn view(&self, number: u64, fields: &str) -> Result<Option<Issue>, Error> {
        let number = number.to_string();
        let args = ["issue", "view", &number, "--json", fields];
        let said = self.run(&args).await?;
        if !said.ok {
            // That the repository can't be seen is another matter.
            let gone = [
                "could not resolve to an issue",
                "could not resolve to a pull",
            ];
            return match said.complains(&gone) {
                true => Ok(None),
                false => Err(self.program.failed(&args, &said)),
            };
        }
        let issues =
            Issue::many(&said.out).map_err(|why| self.program.garbage(&args, &why, &said.out))?;
        Ok(issues.into_iter().next())
    }

    /// Makes the label of blocked tasks, unless it is there.
    pub async fn make_label(&self) -> Result<(), Error> {
        let about = "ralph doesn't take this up until the label is off";
        let args = [
            "label",
            "create",
            BLOCKED,
            "--color",
            "D93F0B",
            "--description",
            about,
        ];
        let said = self.run(&args).await?;
        match said.ok || said.complains(&["already exists"]) {
            true => Ok(()),
            false => Err(self.program.failed(&args, &said)),
        }
    }
}
