/**
 * Cuts a text to at most `length` UTF-16 units, one less where the cut would fall inside a surrogate pair: JSON and Postgres
 * refuse half of one, and with it the row or event that holds it.
 */
export function cutText(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, splitsPair(text, length) ? length - 1 : length);
}

/** Returns the last `length` units of a text, one less where they would begin with the second half of a pair. */
export function cutFront(text: string, length: number): string {
  const from = text.length - length;
  return from <= 0 ? text : text.slice(splitsPair(text, from) ? from + 1 : from);
}

/**
 * Returns the units [from, to) of a text, each pair with the range that its first half lies in: adjoining ranges give the whole
 * text when they are put together. A range may be one unit longer than asked for.
 */
export function rangeOf(text: string, from: number, to: number): string {
  const whole = (at: number) => (splitsPair(text, at) ? at + 1 : at);
  return text.slice(whole(from), whole(to));
}

function splitsPair(text: string, at: number): boolean {
  // NaN beyond the ends
  return isBetween(text.charCodeAt(at - 1), 0xd800, 0xdbff) && isBetween(text.charCodeAt(at), 0xdc00, 0xdfff);
}

function isBetween(unit: number, low: number, high: number): boolean {
  return unit >= low && unit <= high;
}
