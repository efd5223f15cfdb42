"""Takes tasks from a text file of the project, `TASKS.txt`: `- title` is open, `+ title` done."""

import ralph
from wit_world.exports import tracker

# Below the granted directory, which is the whole project.
FILE = "/workspace/TASKS.txt"
MARKS = "-+! "


def read() -> list[str]:
    with open(FILE, encoding="utf-8") as file:
        return file.read().splitlines()


def write(lines: list[str]) -> None:
    with open(FILE, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def load() -> list[tracker.Entry]:
    states = {"+": tracker.State.DONE, "!": tracker.State.BLOCKED}
    return [
        tracker.Entry(
            ralph.types.Task(f"T{number}", line.lstrip(MARKS), "", [], None, []),
            states.get(line[:1], tracker.State.OPEN),
        )
        for number, line in enumerate(read(), 1)
    ]


def apply(task: str, outcome: tracker.Outcome) -> bool:
    lines = read()
    number = int(task[1:]) if task[:1] == "T" and task[1:].isdigit() else 0
    if not 0 < number <= len(lines):
        return False
    marks = {tracker.Outcome_Done: "+", tracker.Outcome_Blocked: "!"}
    lines[number - 1] = f"{marks.get(type(outcome), '-')} {lines[number - 1].lstrip(MARKS)}"
    write(lines)
    return True


def add(new: tracker.NewTask) -> str:
    lines = [*read(), f"- {new.title}"]
    write(lines)
    return f"T{len(lines)}"


Tracker = ralph.tracker(load, apply, add)
