import { randomUUID } from 'node:crypto';
import type { JsonBytes } from './json-bytes.ts';

/** A part of an answer that is JSON already. */
export class Written {
  readonly json: JsonBytes;

  constructor(json: JsonBytes) {
    this.json = json;
  }

  /** What `answerSize` would find of its value. */
  get size(): number {
    return this.json.size;
  }

  /** Its value, for who writes JSON in another way than `stringifyWritten`. */
  toJSON(): unknown {
    if (!placing) return JSON.parse(this.json.bytes.toString('utf8'));
    placing.parts.push(this);
    return placing.place;
  }
}

/** While an answer is written: the text that stands for each part, and the parts in their order. */
let placing: { readonly place: string; readonly parts: Written[] } | undefined;

/**
 * Writes an answer, once, as JSON.stringify would, and copies what is written already to its place. As a buffer, which is the
 * body of a response as it is, and its text where it is put into one.
 */
export function stringifyWritten(answer: unknown): string {
  const parts: Written[] = [];
  const place = randomUUID(); // which no value of an answer holds
  placing = { place, parts };
  let text: string;
  try {
    text = JSON.stringify(answer);
  } finally {
    placing = undefined;
  }
  const around = text.split(`"${place}"`);
  const pieces = around.flatMap((piece, i) => [Buffer.from(piece, 'utf8'), ...(parts[i] ? [parts[i].json.bytes] : [])]);
  const whole = Buffer.concat(pieces);
  for (const { json } of parts) json.release();
  return whole as unknown as string; // yoga hands it to a Response, or into a text
}
