// Programs, run by the host in the project's root. Needs the capability `process`.
import * as host from "ralph:plugin/process@0.2.1";
import { text, u64, utf8 } from "./engine.js";
import { Refusal } from "./index.js";

/**
 * Runs a program and waits for its end; no shell. What it prints comes as text. One that wasn't
 * granted or isn't there is a Refusal; one that fails isn't: look at `code`.
 */
export function run(program, args = [], { env = {}, stdin, timeoutMs } = {}) {
  let output;
  try {
    output = host.run({
      program,
      args,
      env: Object.entries(env),
      stdin: stdin === undefined ? undefined : utf8(stdin),
      timeoutMs: timeoutMs === undefined ? undefined : u64(timeoutMs),
    });
  } catch (e) {
    const why = e.payload ?? e;
    throw new Refusal(why.tag === "denied" ? "denied" : "failed", `${program}: ${why.val ?? why}`);
  }
  return { ...output, stdout: text(output.stdout), stderr: text(output.stderr) };
}
