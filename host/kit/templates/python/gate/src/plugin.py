"""Refuses work that changes too many files."""

import ralph
from wit_world.imports import changes


def check(it: ralph.Iteration) -> ralph.Verdict:
    limit = ralph.config(max_files=20)["max_files"]
    files = changes.files()
    summary = f"{len(files)} of at most {limit} files changed"
    if len(files) <= limit:
        return ralph.passes(summary)
    rest = [ralph.finding("one file too many", f.path, rule="max-files") for f in files[limit:]]
    return ralph.fail(summary, rest)


Gate = ralph.gate(check)
