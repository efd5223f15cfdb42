"""What a gate in Python needs of ralph, over the interfaces of wit/.

What doesn't work in the sandbox, and how that shows: a module that isn't imported when the
component is built (at the top of a module) is a ModuleNotFoundError in a call; `open` sees granted
directories only, below `it.workspace` (FileNotFoundError elsewhere); `time` stands still and
`random` draws the same numbers in every call, unless `clock` and `random` are granted; sockets,
threads and subprocesses raise. `print` goes to ralph's log. A call may compute for 5 s.
"""

import json
import os
import traceback

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as _config
from wit_world.imports import log as _log
from wit_world.imports import types
from wit_world.imports.types import Finding, Iteration, Status, Verdict

__all__ = [
    "Finding", "Iteration", "Refusal", "Status", "Verdict",
    "config", "fail", "finding", "gate", "log", "passes", "path", "skip",
]


class Refusal(Exception):
    """The plugin can't answer; `kind` is invalid-config, denied or failed."""

    def __init__(self, message: str, kind: str = "failed"):
        super().__init__(message)
        self.kind = kind


def config(**defaults):
    """The plugin's configuration, laid over the defaults. A key that isn't among these, and one
    whose value is of another type than there, is a Refusal."""
    given = json.loads(_config.get())
    for key, value in given.items():
        if key not in defaults:
            raise Refusal(f"`{key}` is no key of this plugin", "invalid-config")
        wanted = type(defaults[key])
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise Refusal(f"`{key}` should be a {wanted.__name__}", "invalid-config")
    return {**defaults, **given}


def log(message, level: str = "info"):
    """A line for ralph's log; `level` is trace, debug, info, warn or error."""
    _log.log(getattr(_log.Level, level.upper()), str(message))


def passes(summary: str, findings=()) -> Verdict:
    return Verdict(Status.PASS, summary, list(findings))


def fail(summary: str, findings=()) -> Verdict:
    return Verdict(Status.FAIL, summary, list(findings))


def skip(summary: str, findings=()) -> Verdict:
    return Verdict(Status.SKIP, summary, list(findings))


def finding(message: str, path=None, line=None, rule=None) -> Finding:
    return Finding(message, path, line, rule)


def path(it: Iteration, name: str) -> str:
    """Where a file of the project is, if its directory is granted."""
    return os.path.join(it.workspace, name)


_KINDS = {
    "invalid-config": types.PluginError_InvalidConfig,
    "denied": types.PluginError_Denied,
    "failed": types.PluginError_Failed,
}


def gate(check):
    """The class `Gate` of a component: `Gate = ralph.gate(check)`. What `check` raises becomes a
    refusal with its text; without this it would be a crash without one."""

    class Gate(exports.Gate):
        def check(self, it: Iteration) -> Verdict:
            try:
                return check(it)
            except Refusal as e:
                raise Err(_KINDS[e.kind](str(e))) from None
            except Exception:
                raise Err(types.PluginError_Failed(traceback.format_exc().strip())) from None

    return Gate
