// Server-sent events, as the HTML standard reads them.

/** Turns pieces of text into events: `{ id, event, data }`. */
export class Events {
  #rest = "";
  #id = "";
  #event = "";
  #data = [];
  #first = true;

  /** The events that are whole with this piece. */
  *push(text) {
    if (this.#first && text.length > 0) {
      this.#first = false;
      text = text.replace(/^\ufeff/, "");
    }
    this.#rest += text;
    for (;;) {
      const end = this.#rest.search(/\r\n|\n|\r/);
      // A CR at the end may be the first half of a CR LF.
      if (end < 0 || (this.#rest[end] === "\r" && end === this.#rest.length - 1)) return;
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + (this.#rest.startsWith("\r\n", end) ? 2 : 1));
      const event = this.#line(line);
      if (event) yield event;
    }
  }

  #line(line) {
    if (line === "") {
      const event = { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") };
      const whole = this.#data.length > 0;
      [this.#event, this.#data] = ["", []];
      return whole ? event : undefined;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return undefined;
  }
}

/** The events of a body. */
export async function* events(body) {
  const decoder = new TextDecoder();
  const parser = new Events();
  for await (const chunk of body) yield* parser.push(decoder.decode(chunk, { stream: true }));
}
