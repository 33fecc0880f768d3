const AROUND = 4; // quotes, colon and comma of a name, or the like of a value

/** Returns about how many characters a value has as JSON, or something above `limit` as soon as that is certain. */
export function answerSize(value: unknown, limit: number): number {
  let size = 0;
  const open: unknown[] = [value];
  while (open.length > 0 && size <= limit) {
    const next = open.pop();
    if (typeof next === 'string') size += next.length + AROUND;
    else if (typeof next !== 'object' || next === null) size += 2 * AROUND;
    else if (Array.isArray(next)) for (const item of next) open.push(item);
    else if (next instanceof Date) size += 6 * AROUND;
    else
      for (const [name, item] of Object.entries(next)) {
        size += name.length + AROUND;
        open.push(item);
      }
  }
  return size;
}
