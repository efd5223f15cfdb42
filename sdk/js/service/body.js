// Bodies with a bound.

/** A body as text. Throws when it is longer, and takes no more of it. */
export async function text(answer, max) {
  const pieces = [];
  let length = 0;
  for await (const piece of answer.body ?? []) {
    length += piece.length;
    if (length > max) throw new Error(`the answer is longer than ${max} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}
