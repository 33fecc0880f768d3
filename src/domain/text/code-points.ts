/** Returns the last `count` code points of a text, as Python's `text[-count:]` does. */
export function lastCodePoints(text: string, count: number): string {
  if (text.length <= count) return text;
  let at = text.length;
  for (let left = count; left > 0 && at > 0; left--) {
    const isPair = at > 1 && isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2));
    at -= isPair ? 2 : 1;
  }
  return text.slice(at);
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
