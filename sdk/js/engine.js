// What differs between the engines, and what both lack.

// Of 64-bit numbers SpiderMonkey wants a BigInt, QuickJS a number, and neither takes the other's.
// Only the first has a console.
const wide = typeof console === "undefined" ? Number : BigInt;

/** For a parameter of type u64. */
export const u64 = (number) => wide(number);

/** UTF-8 as a string; what isn't UTF-8 comes as Latin-1. */
export function text(bytes) {
  let escaped = "";
  for (const byte of bytes) escaped += "%" + byte.toString(16).padStart(2, "0");
  try {
    return decodeURIComponent(escaped);
  } catch {
    return unescape(escaped);
  }
}

/** A string as UTF-8. */
export function utf8(string) {
  const escaped = unescape(encodeURIComponent(string.toWellFormed?.() ?? string));
  return Uint8Array.from(escaped, (character) => character.charCodeAt(0));
}
