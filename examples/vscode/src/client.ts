import { Frames } from "./frames";
import { Fields, fields, number, text } from "./values";

/** An error that the bridge answered. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data: Fields,
  ) {
    super(message);
  }

  /** What kind of trouble with the project it is, as `data.kind` says. */
  get kind(): string {
    return text(this.data["kind"]);
  }
}

/** No answer came, and none will. */
export class NoAnswer extends Error {}

/** An event of the bridge: `type`, `ts`, and what belongs to it. */
export interface BridgeEvent {
  readonly type: string;
  readonly data: Fields;
}

export interface ClientOptions {
  /** Writes a line to the bridge. */
  readonly write: (line: string) => void;
  readonly onEvent: (event: BridgeEvent) => void;
  /** Something on the stream isn't the protocol's; the stream lives on. */
  readonly onNoise: (line: string) => void;
  readonly timeoutMs: number;
}

interface Pending {
  readonly method: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (e: Error) => void;
  readonly timer: NodeJS.Timeout | undefined;
}

/** JSON-RPC over lines: requests with their answers, whatever their order, and events. */
export class Client {
  private readonly frames = new Frames();
  private readonly pending = new Map<number, Pending>();
  private asked = 0;
  private closed: Error | undefined;

  constructor(private readonly options: ClientOptions) {}

  /** Asks. `timeoutMs` of 0 waits for as long as the bridge lives. */
  request(method: string, params: object = {}, timeoutMs = this.options.timeoutMs): Promise<unknown> {
    if (this.closed !== undefined) {
      return Promise.reject(this.closed);
    }
    const id = ++this.asked;
    return new Promise((resolve, reject) => {
      const late = (): void => {
        this.pending.delete(id);
        reject(new NoAnswer(`the bridge hasn't answered \`${method}\` within ${timeoutMs / 1000} s`));
      };
      const timer = timeoutMs > 0 ? setTimeout(late, timeoutMs) : undefined;
      this.pending.set(id, { method, resolve, reject, timer });
      this.options.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }

  /** Takes what the bridge wrote. Throws if a line is too long to be one. */
  receive(piece: Buffer): void {
    for (const line of this.frames.push(piece)) {
      let message: unknown;
      try {
        message = JSON.parse(line);
      } catch {
        this.options.onNoise(line);
        continue;
      }
      this.message(fields(message), line);
    }
  }

  /** Nothing more comes: who waits is told why. */
  close(why: Error): void {
    this.closed ??= why;
    for (const one of this.pending.values()) {
      clearTimeout(one.timer);
      one.reject(this.closed);
    }
    this.pending.clear();
  }

  private message(message: Fields, line: string): void {
    if (message["method"] === "event") {
      const data = fields(message["params"]);
      this.options.onEvent({ type: text(data["type"]), data });
      return;
    }
    const id = message["id"];
    const one = typeof id === "number" ? this.pending.get(id) : undefined;
    if (one === undefined || typeof id !== "number") {
      // An answer that came too late is nobody's any more.
      if (typeof id !== "number" || id > this.asked) {
        this.options.onNoise(line);
      }
      return;
    }
    this.pending.delete(id);
    clearTimeout(one.timer);
    if ("error" in message) {
      const error = fields(message["error"]);
      const said = text(error["message"]) || `\`${one.method}\` failed`;
      one.reject(new RpcError(number(error["code"]), said, fields(error["data"])));
    } else {
      one.resolve(message["result"]);
    }
  }
}
