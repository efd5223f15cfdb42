"""What a plugin in Python needs of ralph, over the interfaces of wit/.

What doesn't work in the sandbox, and how that shows: a module that isn't imported when the
component is built (at the top of a module) is a ModuleNotFoundError in a call; `open` sees granted
directories only, below `it.workspace` (FileNotFoundError elsewhere); `time` stands still and
`random` draws the same numbers in every call, unless `clock` and `random` are granted; sockets,
threads and subprocesses raise. `print` goes to ralph's log. A call may compute for 5 s.
"""

import functools
import json
import os
import traceback

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as _config
from wit_world.imports import log as _log

try:
    from wit_world.imports import types
except ImportError:
    # Its name where there are those of `wasi:http`, too.
    from wit_world.imports import ralph_plugin_types as types

Finding, Iteration, Status, Verdict = types.Finding, types.Iteration, types.Status, types.Verdict


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


def _answering(call):
    """What `call` raises becomes a refusal with its text; without this it would be a crash
    without one."""

    @functools.wraps(call)
    def answer(*given):
        try:
            return call(*given)
        except Refusal as e:
            raise Err(_KINDS[e.kind](str(e))) from None
        except Exception:
            raise Err(types.PluginError_Failed(traceback.format_exc().strip())) from None

    return answer


def _component(name: str, **functions):
    """The class by which a component exports an interface."""
    methods = {key: staticmethod(_answering(call)) for key, call in functions.items()}
    return type(name, (getattr(exports, name),), methods)


# What a component exports, by its kind: `Gate = ralph.gate(check)`.


def gate(check):
    return _component("Gate", check=check)


def judge(prompt, decide):
    """`prompt(it, evidence)` writes the question, `decide(answer)` reads the answer."""
    return _component("Judge", prompt=prompt, decide=decide)


def canonicaliser(algorithm: str, canonicalise):
    """`canonicalise(path, content)`; `algorithm` names the form."""
    return _component("Canonicaliser", algorithm=lambda: algorithm, canonicalise=canonicalise)


def tool(tools: dict):
    """Functions, each with the JSON Schema of its keyword arguments. Name and docstring are told."""
    from wit_world.exports.tool import Definition

    by_name = {function.__name__: function for function in tools}

    def listed():
        return [
            Definition(function.__name__, function.__doc__ or "", json.dumps(schema))
            for function, schema in tools.items()
        ]

    def call(name: str, arguments: str) -> str:
        if name not in by_name:
            raise Refusal(f"there is no tool {name}")
        return json.dumps(by_name[name](**json.loads(arguments)))

    return _component("Tool", tools=listed, call=call)


def notifier(notify):
    return _component("Notifier", notify=notify)


def tracker(load, apply, add, begin=lambda task: None):
    return _component("Tracker", load=load, begin=begin, apply=apply, add=add)
