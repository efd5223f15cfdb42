"""Asks another agent about the work, and reads `VERDICT: yes` or `VERDICT: no` in its answer."""

import ralph


def prompt(it: ralph.Iteration, evidence) -> str:
    task = it.task.title if it.task else "(none)"
    complaint = ""
    if evidence.complaint:
        complaint = f"Your last answer could not be read: {evidence.complaint}\n"
    return (
        f"The task was: {task}\n\nThe change:\n{evidence.diff}\n\nIs the task done? "
        f"End with a line `VERDICT: yes` or `VERDICT: no`.\n{complaint}"
    )


def decide(answer: str) -> ralph.Verdict:
    lines = answer.splitlines()
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if last == "VERDICT: yes":
        return ralph.passes("the task is done")
    if last == "VERDICT: no":
        return ralph.fail(lines[0])
    raise ralph.Refusal("the last line is no verdict")


Judge = ralph.judge(prompt, decide)
