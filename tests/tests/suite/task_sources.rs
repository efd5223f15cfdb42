//! Forms of task files beside checklists, and ids that mean the same for the life of a project.

use ralph_tests::Project;

const YAML: &str = "# mine\nversion: 1\ntasks:\n  - id: 1   # first\n    title: 'Lay the ground'\n\n  # then\n  - {id: two, title: Walls, depends_on: [1]}\n";

#[test]
fn a_yaml_plan_is_worked_through_and_its_comments_stay() {
    let p = Project::build().tasks("tasks.yaml", YAML).ready();
    p.run(&["run"]).expect(0).says("complete: 2 of 2");
    assert_eq!(
        p.read("tasks.yaml"),
        YAML.replace("ground'\n", "ground'\n    completed: true\n")
            .replace("{id: two", "{completed: true, id: two")
    );
    assert_eq!(p.commits(), ["ralph: two Walls", "ralph: 1 Lay the ground"]);
    p.journal();
}

const PRD: &str =
    "{\"userStories\": [{\"id\": \"US-1\", \"title\": \"One\", \"passes\": false}]}\n";

#[test]
fn a_directory_of_tasks_has_its_own_progress() {
    let p = Project::build()
        .tasks("tasks/login/prd.json", PRD)
        .toml("[files]\ntasks = \"tasks/login\"")
        .ready();
    p.run(&["run"]).expect(0).says("complete: 1 of 1");
    assert_eq!(p.read("tasks/login/prd.json"), PRD.replace("false", "true"));
    assert!(p.read("tasks/login/progress.txt").contains("US-1"));
}

#[test]
fn the_one_directory_of_tasks_is_found_and_of_two_one_must_be_named() {
    let p = Project::build().tasks("tasks/login/prd.json", PRD).ready();
    p.run(&["status"]).expect(0).says("tasks/login/prd.json");
    p.write("tasks/other/prd.json", PRD);
    let ran = p.run(&["status"]).expect(3);
    assert!(
        ran.stderr.contains("tasks/login, tasks/other"),
        "{}",
        ran.stderr
    );
}
