// Refuses work that changes too many files.
import { files } from "../sdk/js/changes.js";
import * as ralph from "../sdk/js/index.js";

export const gate = ralph.gate(() => {
  const { max_files: max } = ralph.config({ max_files: 20 });
  const changed = files();
  const summary = `${changed.length} of at most ${max} files changed`;
  if (changed.length <= max) return ralph.pass(summary);
  const rest = changed.slice(max).map(({ path }) =>
    ralph.finding("one file too many", { path, rule: "max-files" })
  );
  return ralph.fail(summary, rest);
});
