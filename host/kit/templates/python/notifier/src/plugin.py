"""Has a program tell of a run's end: `logger`, which writes to the system's log."""

import ralph
import ralph_process


def notify(notice) -> None:
    output = ralph_process.run("logger", "-t", "ralph", f"{notice.project}: {notice.text}")
    if output.code != 0:
        raise ralph.Refusal(f"logger ended with {output.code}")


Notifier = ralph.notifier(notify)
