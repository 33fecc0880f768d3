/** What a server says of the text of a token: its bytes, or a text in their place; null where it says nothing. */
export type Piece = Uint8Array | null;

const CHARACTER = 4; // bytes of one in UTF-8 at most
const CUT = Buffer.from('\u{FFFD}');

/**
 * Finds where in a response the text of each token ends, in code points. A token whose text is not in the response (the one that
 * ends a reply, a special one) is empty; of a character that several tokens make up, the last has it. Null where the pieces do
 * not make up the response: nothing is recorded rather than something wrong.
 */
export function tokenEnds(response: string, pieces: readonly Piece[]): readonly number[] | null {
  const whole = Buffer.from(response, 'utf8');
  const ends: number[] = []; // in bytes
  let at = 0;
  let cut = 0; // tokens before that hold parts of characters alone
  for (const piece of pieces) {
    if (piece === null) return null;
    const part = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    if (cut === 0 && part.length > 0 && placeOf(whole, part, at, 0) === at) at += part.length;
    else if (isCut(part)) cut++;
    else if (part.length > 0) {
      const found = placeOf(whole, part, at, cut);
      if (found !== -1) {
        if (cut > 0) ends[ends.length - 1] = found;
        at = found + part.length;
        cut = 0;
      }
    }
    ends.push(at);
  }
  if (cut > 0 && whole.length - at <= cut * CHARACTER) at = ends[ends.length - 1] = whole.length;
  return at === whole.length ? inCodePoints(whole, ends) : null;
}

/** Engines write a part of a character as U+FFFD, or as the bytes that it is. */
function isCut(part: Buffer): boolean {
  return part.length > 0 && part.length % CUT.length === 0 && part.every((byte, i) => byte === CUT[i % CUT.length]);
}

/** Where a piece follows: at once, or behind the characters that cut tokens before it made up. */
function placeOf(whole: Buffer, part: Buffer, at: number, cut: number): number {
  const last = Math.min(at + cut * CHARACTER, whole.length - part.length);
  for (let place = at; place <= last; place++) if (part.compare(whole, place, place + part.length) === 0) return place;
  return -1;
}

/** Counts whole characters: one that is cut by an end belongs to the token behind it. */
function inCodePoints(whole: Buffer, ends: readonly number[]): readonly number[] {
  let [byte, points] = [0, 0];
  return ends.map((end) => {
    for (let next = byte + widthAt(whole, byte); byte < whole.length && next <= end; next = byte + widthAt(whole, byte)) {
      byte = next;
      points++;
    }
    return points;
  });
}

function widthAt(whole: Buffer, place: number): number {
  const first = whole[place] ?? 0;
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/**
 * Moves ends to a part of the response that is recorded in its place. Null where it is no part of it.
 */
export function endsWithin(part: string, response: string, ends: readonly number[]): readonly number[] | null {
  if (part === response) return ends;
  const from = response.indexOf(part);
  if (from === -1) return null;
  const before = Array.from(response.slice(0, from)).length;
  const length = Array.from(part).length;
  return ends.map((end) => Math.min(length, Math.max(0, end - before)));
}
