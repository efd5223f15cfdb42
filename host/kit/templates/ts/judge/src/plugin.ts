// Asks another agent about the work, and reads `VERDICT: yes` or `VERDICT: no` in its answer.
import * as ralph from "../sdk/js/index.js";

export const judge = ralph.judge({
  prompt(iteration, evidence) {
    const task = iteration.task?.title ?? "(none)";
    const complaint = evidence.complaint
      ? `Your last answer could not be read: ${evidence.complaint}\n`
      : "";
    return (
      `The task was: ${task}\n\nThe change:\n${evidence.diff}\n\nIs the task done? ` +
      `End with a line \`VERDICT: yes\` or \`VERDICT: no\`.\n${complaint}`
    );
  },

  decide(answer) {
    const lines = answer.split("\n");
    const last = lines.map((line) => line.trim()).findLast((line) => line !== "");
    if (last === "VERDICT: yes") return ralph.pass("the task is done");
    if (last === "VERDICT: no") return ralph.fail(lines[0] ?? "");
    throw new ralph.Refusal("failed", "the last line is no verdict");
  },
});
