// Brings a text into one form: lines end with LF and without blanks.
import * as ralph from "../sdk/js/index.js";

export const canonicaliser = ralph.canonicaliser("@NAME@-1", (_path, text) =>
  text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => `${line.trimEnd()}\n`)
    .join("")
);
