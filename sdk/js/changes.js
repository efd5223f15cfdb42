// What an iteration changed. Needs the capability `changes`.
import * as host from "ralph:plugin/changes@0.2.1";
import { u64 } from "./engine.js";

/** The changed files, sorted by path. */
export const files = () => host.files();

/** A unified diff of at most `maxBytes`, and how many bytes of the whole are missing from it. */
export function diff(maxBytes = 4 * 1024 * 1024) {
  const { text, omittedBytes } = host.diff(u64(maxBytes));
  return { text, omittedBytes: Number(omittedBytes) };
}
