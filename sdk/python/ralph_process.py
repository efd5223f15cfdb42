"""Programs, run by the host in the project's root. Needs the capability `process`."""

from componentize_py_types import Err
from wit_world.imports import process
from wit_world.imports.process import Output

from ralph import Refusal


def run(program: str, *args: str, env=(), stdin: bytes | None = None, timeout_ms=None) -> Output:
    """Runs a program and waits for its end; no shell. One that wasn't granted or isn't there is a
    Refusal; one that fails isn't: look at `code`."""
    command = process.Command(program, list(args), list(env), stdin, timeout_ms)
    try:
        return process.run(command)
    except Err as e:
        kind = "denied" if isinstance(e.value, process.ProcessError_Denied) else "failed"
        raise Refusal(f"{program}: {e.value.value}", kind) from None
