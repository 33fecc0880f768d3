/** Every schema refuses what is nested deeper; and a look without end would end the program's stack, not the nesting. */
export const LOOK_DEPTH = 100;

/**
 * Makes every text inside a JSON value storable: half surrogates and NUL become U+FFFD. Postgres and UTF-8 can hold neither, and models
 * do emit them. It is done once, on append; the event lists the paths it touched. Nothing is looked for below LOOK_DEPTH.
 */
export function wellFormed<T>(value: T): { readonly value: T; readonly repaired: readonly string[] } {
  const repaired: string[] = [];
  const repair = (v: unknown, path: string, depth: number): unknown => {
    if (typeof v === 'string') {
      if (v.isWellFormed() && !v.includes('\0')) return v;
      repaired.push(path);
      return v.toWellFormed().replaceAll('\0', '\uFFFD');
    }
    if (typeof v !== 'object' || v === null || depth === LOOK_DEPTH) return v;
    if (Array.isArray(v)) return mapKeeping(v, (item, i) => repair(item, `${path}.${i}`, depth + 1));
    let copy: Record<string, unknown> | undefined;
    for (const [key, item] of Object.entries(v)) {
      const next = repair(item, path === '' ? key : `${path}.${key}`, depth + 1);
      if (next !== item) {
        copy ??= { ...v };
        copy[key] = next;
      }
    }
    return copy ?? v;
  };
  return { value: repair(value, '', 0) as T, repaired }; // repair keeps the shape and changes only strings
}

function mapKeeping(items: readonly unknown[], change: (item: unknown, index: number) => unknown): readonly unknown[] {
  let copy: unknown[] | undefined;
  items.forEach((item, i) => {
    const next = change(item, i);
    if (next !== item) {
      copy ??= [...items];
      copy[i] = next;
    }
  });
  return copy ?? items;
}
