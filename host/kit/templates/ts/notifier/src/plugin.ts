// Has a program tell of a run's end: `logger`, which writes to the system's log.
import * as ralph from "../sdk/js/index.js";
import { run } from "../sdk/js/process.js";

export const notifier = ralph.notifier((notice) => {
  const { code } = run("logger", ["-t", "ralph", `${notice.project}: ${notice.text}`]);
  if (code !== 0) throw new ralph.Refusal("failed", `logger ended with ${code}`);
});
