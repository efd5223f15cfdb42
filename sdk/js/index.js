// What a plugin in JavaScript or TypeScript needs of ralph, over the interfaces of wit/.
//
// What QuickJS doesn't have in the sandbox, and how that shows: `console`, `fetch`, `setTimeout`,
// `URL`, `TextEncoder`, `structuredClone`, `Intl` and Node's modules aren't there (ReferenceError,
// or esbuild can't resolve them); `Date` stands still and `Math.random` draws the same numbers in
// every call; there are no files. A call may compute for 5 s.
import * as host from "ralph:plugin/config@0.2.1";
import { log as write } from "ralph:plugin/log@0.2.1";
import { text, utf8 } from "./engine.js";

/** The plugin can't answer: its configuration is wrong, a grant is missing, or anything else. */
export class Refusal extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/**
 * The plugin's configuration, laid over `defaults`. A key that isn't among these, and one whose
 * value is of another type than there, is a Refusal.
 */
export function config(defaults) {
  const given = JSON.parse(host.get());
  const type = (value) => (Array.isArray(value) ? "list" : typeof value);
  for (const [key, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaults, key)) {
      throw new Refusal("invalid-config", `\`${key}\` is no key of this plugin`);
    }
    if (type(value) !== type(defaults[key])) {
      throw new Refusal("invalid-config", `\`${key}\` should be a ${type(defaults[key])}`);
    }
  }
  return { ...defaults, ...given };
}

/** A line for ralph's log; `level` is trace, debug, info, warn or error. */
export function log(message, level = "info") {
  write(level, String(message));
}

const verdict = (status) => (summary, findings = []) => ({ status, summary, findings });
export const pass = verdict("pass");
export const fail = verdict("fail");
export const skip = verdict("skip");

/** One remark; `where` may have path, line (from 1) and rule. */
export function finding(message, where = {}) {
  return { message, path: where.path, line: where.line, rule: where.rule };
}

/** A function whose exceptions are refusals with their text; without this they would be crashes without one. */
const answering = (call) => (...given) => {
  try {
    return call(...given);
  } catch (e) {
    const kind = e instanceof Refusal ? e.kind : "failed";
    const text = e instanceof Refusal ? e.message : `${e}\n${e?.stack ?? ""}`.trim();
    throw { tag: kind, val: text };
  }
};

// What a component exports, by its kind: `export const gate = ralph.gate(check)`.

export const gate = (check) => ({ check: answering(check) });

/** `prompt(iteration, evidence)` writes the question, `decide(answer)` reads the answer. */
export const judge = ({ prompt, decide }) => ({ prompt: answering(prompt), decide: answering(decide) });

/** `canonicalise(path, text)` gives a text; `algorithm` names the form. */
export const canonicaliser = (algorithm, canonicalise) => ({
  algorithm: () => algorithm,
  canonicalise: answering((path, content) => utf8(canonicalise(path, text(content)))),
});

/** Tools by name, each with `description`, `schema` (JSON Schema of its arguments) and `call(arguments)`. */
export const tool = (tools) => ({
  tools: answering(() =>
    Object.entries(tools).map(([name, { description, schema }]) => ({
      name,
      description,
      inputSchema: JSON.stringify(schema),
    }))
  ),
  call: answering((name, given) => {
    if (!Object.hasOwn(tools, name)) throw new Refusal("failed", `there is no tool ${name}`);
    return JSON.stringify(tools[name].call(JSON.parse(given)));
  }),
});

/** `notify(notice)`; its `details` are an object. */
export const notifier = (notify) => ({
  notify: answering((notice) => void notify({ ...notice, details: JSON.parse(notice.details) })),
});
