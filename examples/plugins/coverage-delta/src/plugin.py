"""What an iteration has added is covered by tests, and the whole is covered no less than before.

    config = { report = "coverage.json", new_lines = 80.0, total = 75.0 }

The report is one that a gate before this one, or the agent, has made: coverage.py's JSON
(`coverage json`), or LCOV (`lcov.info`: c8, grcov, cargo llvm-cov, gcov).
"""

import json
import re

import ralph
from wit_world.imports import changes

DEFAULTS = {
    "report": "coverage.json",
    # Of the added lines that could run, this many percent have to.
    "new_lines": 80.0,
    # Of all lines; 0 doesn't look.
    "total": 0.0,
    "max_diff": 8 * 1024 * 1024,
    # So many uncovered lines are told one by one.
    "shown": 50,
}


def check(it: ralph.Iteration) -> ralph.Verdict:
    config = ralph.config(**DEFAULTS)
    added = added_lines(config["max_diff"])
    files = report(it, config["report"])

    covered = sum(len(hit) for hit, _ in files.values())
    whole = covered + sum(len(missed) for _, missed in files.values())
    percent = 100.0 * covered / whole if whole else 100.0

    hits, misses = 0, []
    for path, lines in sorted(added.items()):
        hit, missed = files.get(path, (set(), set()))
        hits += len(lines & hit)
        misses += [(path, line) for line in sorted(lines & missed)]
    seen = hits + len(misses)
    new = 100.0 * hits / seen if seen else 100.0

    summary = f"{percent:.1f} % of {whole} lines are covered, {new:.1f} % of {seen} added ones"
    failed = []
    if new < config["new_lines"]:
        failed += [
            ralph.finding("no test runs this line", path, line, "uncovered")
            for path, line in misses[: config["shown"]]
        ]
    if percent < config["total"]:
        failed.append(ralph.finding(f"{percent:.1f} % of all lines are covered, {config['total']:g} % "
                                    "is the least", rule="total"))
    if failed:
        return ralph.fail(summary, failed)
    if not seen and not config["total"]:
        return ralph.skip("no added line is one that could run")
    return ralph.passes(summary)


def added_lines(limit: int) -> dict[str, set[int]]:
    """By path, the numbers of the lines that were added."""
    diff = changes.diff(limit)
    if diff.omitted_bytes:
        ralph.log(f"{diff.omitted_bytes} bytes of the diff weren't looked at", "warn")
    added: dict[str, set[int]] = {}
    path, line = None, None
    for row in diff.text.split("\n"):
        if row.startswith("diff --git "):
            path, line = None, None
        elif line is None and row.startswith("+++ b/"):
            path = row[6:].removesuffix("\t")
        elif row.startswith("@@"):
            found = re.search(r"\+(\d+)", row)
            line = int(found.group(1)) if found else None
        elif line is not None and path is not None:
            if row.startswith("+"):
                added.setdefault(path, set()).add(line)
            if row.startswith(("+", " ")):
                line += 1
    return added


def report(it: ralph.Iteration, name: str) -> dict[str, tuple[set[int], set[int]]]:
    """By path, the lines that ran and those that could have."""
    try:
        with open(ralph.path(it, name), encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        raise ralph.Refusal(f"there is no report {name}: run the tests with coverage before this gate") from None
    try:
        return from_json(text) if name.endswith(".json") else from_lcov(it, text)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise ralph.Refusal(f"{name} is no report that can be read: {type(e).__name__}: {e}") from None


def from_json(text: str):
    files = json.loads(text)["files"]
    return {
        path.replace("\\", "/"): (set(of["executed_lines"]), set(of["missing_lines"]))
        for path, of in files.items()
    }


def from_lcov(it: ralph.Iteration, text: str):
    files: dict[str, tuple[set[int], set[int]]] = {}
    current = None
    for row in text.splitlines():
        key, _, value = row.partition(":")
        if key == "SF":
            # Absolute where the tool chain says so; the project's root isn't known here.
            current = files.setdefault(value.removeprefix(it.workspace + "/"), (set(), set()))
        elif key == "DA" and current is not None:
            line, count = value.split(",")[:2]
            current[0 if int(count) > 0 else 1].add(int(line))
    if not files:
        raise ValueError("it names no file")
    return files


Gate = ralph.gate(check)
