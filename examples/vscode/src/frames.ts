/** A line of the bridge may have so many bytes. */
export const LINE_MAX = 16 * 1024 * 1024;

/**
 * Cuts a stream into lines. A line ends at LF and at nothing else, and is decoded when it is whole:
 * the pieces of a stream may be cut anywhere, in the middle of a character too.
 */
export class Frames {
  private parts: Buffer[] = [];
  private size = 0;

  constructor(private readonly max: number = LINE_MAX) {}

  /** Takes the next piece and gives the lines that it ends, blank ones left out. */
  push(piece: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, from)) {
      this.keep(piece.subarray(from, at));
      from = at + 1;
      const line = Buffer.concat(this.parts).toString("utf8").trim();
      this.parts = [];
      this.size = 0;
      if (line !== "") {
        lines.push(line);
      }
    }
    this.keep(piece.subarray(from));
    return lines;
  }

  private keep(part: Buffer): void {
    this.size += part.length;
    if (this.size > this.max) {
      throw new Error(`the bridge wrote a line of more than ${this.max} bytes`);
    }
    if (part.length > 0) {
      this.parts.push(part);
    }
  }
}
