/** Readers of JSON from elsewhere: what isn't there, or is something else, is empty. */

export type Fields = Readonly<Record<string, unknown>>;

export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function maybeText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

export function flag(value: unknown): boolean {
  return value === true;
}

/** What a failure says of itself. */
export function reason(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}
