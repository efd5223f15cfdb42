/// <reference path="./host.d.ts" />
import type { Evidence, Finding, Iteration, Notice, Verdict } from "ralph:plugin/types@0.2.1";

export type { Evidence, Finding, Iteration, Notice, Verdict };
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
export function gate(check: (iteration: Iteration) => Verdict): object;
export function judge(judge: {
  prompt(iteration: Iteration, evidence: Evidence): string;
  decide(answer: string): Verdict;
}): object;
export function canonicaliser(
  algorithm: string,
  canonicalise: (path: string, text: string) => string,
): object;
export function tool(
  tools: Record<
    string,
    { description: string; schema: object; call(given: Record<string, unknown>): object }
  >,
): object;
export function notifier(notify: (notice: Notice) => void): object;
