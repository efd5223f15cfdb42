/// <reference path="./host.d.ts" />
import type { FileChange } from "ralph:plugin/types@0.2.1";
export function files(): FileChange[];
export function diff(maxBytes?: number): { text: string; omittedBytes: number };
