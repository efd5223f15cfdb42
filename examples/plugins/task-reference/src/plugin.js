// What an iteration has written can be traced: commits that it made itself keep to a form and name
// their task, and no TODO is added that names none.
//
//   config = { subject = "^(feat|fix|docs|test|chore)(\\(.+\\))?: ", since = "origin/main" }
import { diff } from "../sdk/js/changes.js";
import { run } from "../sdk/js/process.js";
import * as ralph from "../sdk/js/index.js";

const DEFAULTS = {
  // Commits from there to HEAD are looked at. Where there is no such place, none are.
  since: "@{upstream}",
  // A subject has to fit this, if it isn't empty.
  subject: "",
  max_subject: 72,
  // A commit has to name a task, in subject or body.
  require_task: true,
  // What names a task, beside the id of the one at hand.
  task: "(#|GH-|[A-Z]{2,}-)[0-9]+",
  todo: "\\b(TODO|FIXME)\\b",
  max_diff: 4 * 1024 * 1024,
};

export const gate = ralph.gate((iteration) => {
  const config = ralph.config(DEFAULTS);
  const task = pattern(config, "task");
  const own = iteration.task?.id;
  const named = (text) => task.test(text) || (own !== undefined && words(text).includes(own));
  const commits = log(config.since);
  const findings = [
    ...commits.flatMap((commit) => [...form(commit, config, named)]),
    ...todos(config, named),
  ];
  const seen = `${commits.length} commits`;
  if (findings.length > 0) return ralph.fail(`${findings.length} without a trace, ${seen} looked at`, findings);
  return ralph.pass(`${seen} and all TODOs name their task`);
});

function pattern(config, key) {
  try {
    return new RegExp(config[key]);
  } catch (e) {
    throw new ralph.Refusal("invalid-config", `\`${key}\`: ${e.message}`);
  }
}

const words = (text) => text.split(/[^\w.-]+/).map((word) => word.replace(/[.-]+$/, ""));

function* form(commit, config, named) {
  const short = commit.hash.slice(0, 10);
  const about = (message, rule) => ralph.finding(`${short} "${commit.subject}": ${message}`, { rule });
  if (config.subject !== "" && !pattern(config, "subject").test(commit.subject)) {
    yield about(`the subject doesn't fit ${config.subject}`, "subject");
  }
  if ([...commit.subject].length > config.max_subject) {
    yield about(`the subject is longer than ${config.max_subject} characters`, "subject-length");
  }
  if (config.require_task && !named(`${commit.subject}\n${commit.body}`)) {
    yield about("it names no task", "task-reference");
  }
}

/** The commits since a place, newest first. */
function log(since) {
  if (since.startsWith("-")) throw new ralph.Refusal("invalid-config", "`since` can't be an option");
  // Fields end with 0x1f, commits with 0x1e: neither stands in a message that people write.
  const args = ["log", "--no-show-signature", "--format=%H%x1f%s%x1f%b%x1e", `${since}..HEAD`, "--"];
  const output = run("git", args);
  if (output.code !== 0) {
    ralph.log(`git knows no ${since}: no commit is looked at`, "debug");
    return [];
  }
  return output.stdout
    .split("\x1e")
    .map((record) => record.trim())
    .filter((record) => record !== "")
    .map((record) => {
      const [hash, subject, body = ""] = record.split("\x1f");
      return { hash, subject, body };
    });
}

/** Added lines with a TODO that names no task. */
function* todos(config, named) {
  const todo = pattern(config, "todo");
  const { text, omittedBytes } = diff(config.max_diff);
  if (omittedBytes > 0) ralph.log(`${omittedBytes} bytes of the diff weren't looked at`, "warn");
  let path;
  let line = 0;
  let inside = false;
  for (const row of text.split("\n")) {
    if (row.startsWith("diff --git ")) {
      [path, inside] = [undefined, false];
    } else if (!inside && row.startsWith("+++ b/")) {
      path = row.slice(6).replace(/\t$/, "");
    } else if (row.startsWith("@@")) {
      line = Number(/\+(\d+)/.exec(row)?.[1] ?? 0);
      inside = true;
    } else if (inside && row.startsWith("+")) {
      const added = row.slice(1);
      if (todo.test(added) && !named(added)) {
        yield ralph.finding(`names no task: ${added.trim()}`, { path, line, rule: "todo" });
      }
      line += 1;
    } else if (inside && row.startsWith(" ")) {
      line += 1;
    }
  }
}
