const AROUND = 4; // quotes, colon and comma of a name, or the like of a value

/** Returns about how many characters a value has as JSON, or something above `limit` as soon as that is certain. */
export function answerSize(value: unknown, limit: number): number {
  let size = 0;
  const open: unknown[] = [value];
  const count = (part: unknown): void => {
    if (typeof part === 'string') size += part.length + AROUND;
    else if (typeof part !== 'object' || part === null) size += 2 * AROUND;
    else open.push(part);
  };
  while (open.length > 0 && size <= limit) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) count(next);
    else if (Array.isArray(next)) for (const item of next) count(item);
    else if (next instanceof Date) size += 6 * AROUND;
    else
      for (const name in next) {
        size += name.length + AROUND;
        count((next as Record<string, unknown>)[name]);
      }
  }
  return size;
}
