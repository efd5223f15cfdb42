/// <reference path="./host.d.ts" />
import type { Finding, Iteration, Verdict } from "ralph:plugin/types@0.2.0";

export type { Finding, Iteration, Verdict };
export type RefusalKind = "invalid-config" | "denied" | "failed";

export class Refusal extends Error {
  constructor(kind: RefusalKind, message: string);
  kind: RefusalKind;
}
export function config<T extends object>(defaults: T): T;
export function log(message: unknown, level?: "trace" | "debug" | "info" | "warn" | "error"): void;
export function pass(summary: string, findings?: Finding[]): Verdict;
export function fail(summary: string, findings?: Finding[]): Verdict;
export function skip(summary: string, findings?: Finding[]): Verdict;
export function finding(
  message: string,
  where?: { path?: string; line?: number; rule?: string },
): Finding;
export function gate(check: (iteration: Iteration) => Verdict): {
  check(iteration: Iteration): Verdict;
};
