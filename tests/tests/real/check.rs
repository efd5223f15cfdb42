//! `ralph agent check`: the real programs' versions and logins.

use ralph_tests::model::{Model, Step};

use crate::cli::{Bench, Cli, installed};

fn idle() -> Model {
    Model::start(|_| Step::Status(500, ralph_tests::model::Trouble::Plain))
}

#[test]
fn version_and_login_are_told_without_asking_the_model() {
    for cli in installed() {
        let bench = Bench::new(cli, idle(), "", "");
        let ran = bench.start(&["agent", "check", "--json"]).wait().expect(0);
        let agent = ran.json()["result"]["agents"][0].clone();
        let version = match cli {
            Cli::Codex => "0.171.0",
            Cli::Claude => "2.1.332",
            Cli::Copilot => "1.0.102",
        };
        assert_eq!(agent["condition"]["version"], version, "{agent}");
        assert_eq!(agent["condition"]["login"], "yes", "{agent}");
        // The program itself, where npm has put a script before it.
        let program = agent["program"].as_str().unwrap();
        let script = program.ends_with(".js") || program.ends_with(".cjs");
        assert!(!script, "{program}");
        assert_eq!(bench.model.requests(), 0, "{}", cli.name());
    }
}

#[test]
fn a_missing_login_is_told() {
    for cli in installed() {
        let bench = Bench::new(cli, idle(), "", "");
        let mut command = bench.command(&["agent", "check"]);
        let said = match cli {
            Cli::Codex => {
                command.env_remove("OPENAI_API_KEY");
                "OPENAI_API_KEY"
            }
            Cli::Claude => {
                command.env_remove("ANTHROPIC_API_KEY");
                "claude auth login"
            }
            // Whether GitHub would let it in shows only when it works.
            Cli::Copilot => continue,
        };
        let ran = bench.project.start_command(command).wait();
        ran.expect(1).says("FAIL").says(said);
    }
}
