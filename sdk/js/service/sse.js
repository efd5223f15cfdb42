// Server-sent events, as the HTML standard reads them.

/** More characters of one event aren't kept. */
export const EVENT_MAX = 4 * 1024 * 1024;

/** Turns pieces of text into events: `{ id, event, data }`. */
export class Events {
  #max;
  #line = [];
  #length = 0;
  #comment = false;
  #cr = false;
  #first = true;
  #id = "";
  #event = "";
  #data = [];
  #dataLength = 0;
  /** Milliseconds that the service wants to be left alone after a broken connection, if it said so. */
  retry;

  constructor(max = EVENT_MAX) {
    this.#max = max;
  }

  /** The events that are whole with this piece. Throws when one is longer than it may be. */
  *push(text) {
    let at = 0;
    while (at < text.length) {
      // An LF behind a CR belongs to it.
      if (this.#cr && text[at] === "\n") at += 1;
      this.#cr = false;
      if (at === text.length) return;
      const end = lineEnd(text, at);
      this.#keep(text.slice(at, end));
      if (end === text.length) return;
      this.#cr = text[end] === "\r";
      at = end + 1;
      const event = this.#whole();
      if (event) yield event;
    }
  }

  #keep(part) {
    if (this.#first && part.length > 0) {
      this.#first = false;
      part = part.replace(/^\ufeff/, "");
    }
    if (this.#length === 0 && part.startsWith(":")) this.#comment = true;
    if (this.#comment || part.length === 0) return;
    this.#length += part.length;
    if (this.#length + this.#dataLength > this.#max) throw new Error(`an event is longer than ${this.#max} characters`);
    this.#line.push(part);
  }

  #whole() {
    const line = this.#line.join("");
    const comment = this.#comment;
    [this.#line, this.#length, this.#comment, this.#first] = [[], 0, false, false];
    if (comment) return undefined;
    if (line === "") {
      const event = { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") };
      const whole = this.#data.length > 0;
      [this.#event, this.#data, this.#dataLength] = ["", [], 0];
      return whole ? event : undefined;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") {
      this.#data.push(value);
      this.#dataLength += value.length + 1;
    } else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    return undefined;
  }
}

function lineEnd(text, from) {
  const end = /[\r\n]/g;
  end.lastIndex = from;
  return end.exec(text)?.index ?? text.length;
}
