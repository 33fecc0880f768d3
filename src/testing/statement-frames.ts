/** A message that a client sent to Postgres: its type letter, the text by which a statement is known, and where it begins. */
export interface SentMessage {
  /** `Q` a simple query, `P` a statement to prepare, `B` the call of a prepared one, `d` data of a COPY, … */
  readonly type: string;
  /** Of Q, P and B the beginning of its content, with spaces for NUL: the statement, or its name. Empty for the others. */
  readonly text: string;
  /** Offset in the chunk that completed `text`; negative when the message began in an earlier one. */
  readonly start: number;
}

const TEXT_LIMIT = 400; // enough to distinguish our statements
const TEXTUAL = new Set(['Q', 'P', 'B']);

/**
 * Reads what a client sends to Postgres, chunk by chunk however they are cut, and returns the messages in it (frontend protocol
 * 3: a length of four bytes without a type for the first message, then a type letter and a length that counts itself). TLS is not
 * understood.
 */
export class StatementFrames {
  #isFirst = true;
  #header: number[] = [];
  #type = '';
  #skip = 0;
  #wanted = 0;
  #text: number[] = [];
  #begun = 0;

  feed(chunk: Uint8Array): readonly SentMessage[] {
    const found: SentMessage[] = [];
    for (let at = 0; at < chunk.length; ) {
      if (this.#skip > 0) {
        const run = Math.min(this.#skip, chunk.length - at);
        for (let i = at; i < at + run && this.#text.length < this.#wanted; i++) this.#text.push(chunk[i] ?? 0);
        this.#skip -= run;
        at += run;
      } else {
        if (this.#header.length === 0) this.#begun = at;
        this.#header.push(chunk[at] ?? 0);
        at++;
        if (this.#header.length < (this.#isFirst ? 4 : 5)) continue;
        this.#open();
      }
      if (this.#type !== '' && this.#text.length === this.#wanted) {
        found.push({ type: this.#type, text: textOf(this.#text), start: this.#begun });
        this.#type = '';
      }
    }
    this.#begun -= chunk.length;
    return found;
  }

  #open(): void {
    const [a = 0, b = 0, c = 0, d = 0] = this.#header.slice(-4);
    this.#type = this.#isFirst ? '' : String.fromCharCode(this.#header[0] ?? 0);
    this.#skip = Math.max(0, ((a << 24) | (b << 16) | (c << 8) | d) - 4);
    this.#wanted = TEXTUAL.has(this.#type) ? Math.min(TEXT_LIMIT, this.#skip) : 0;
    this.#text = [];
    this.#header = [];
    this.#isFirst = false;
  }
}

function textOf(bytes: readonly number[]): string {
  return Buffer.from(bytes).toString('latin1').replaceAll('\0', ' ');
}
