/** Every schema refuses what is nested deeper; and a look without end would end the program's stack, not the nesting. */
export const LOOK_DEPTH = 100;

/**
 * Makes every text inside a JSON value storable, keys included: half surrogates and NUL become U+FFFD. Postgres and UTF-8 can
 * hold neither, and models do emit them. It is done once, on append; the event lists the paths it touched. Nothing is looked for
 * below LOOK_DEPTH.
 */
export function wellFormed<T>(value: T): { readonly value: T; readonly repaired: readonly string[] } {
  const repaired: string[] = [];
  return { value: repair(value, '', 0, repaired) as T, repaired }; // repair keeps the shape and changes only texts
}

function repair(v: unknown, path: string, depth: number, repaired: string[]): unknown {
  if (typeof v === 'string') {
    const next = storable(v);
    if (next !== v) repaired.push(path);
    return next;
  }
  if (typeof v !== 'object' || v === null || depth === LOOK_DEPTH) return v;
  if (Array.isArray(v)) return mapKeeping(v, (item, i) => repair(item, `${path}.${i}`, depth + 1, repaired));
  const entries = Object.entries(v);
  const names = namesOf(entries.map(([key]) => key));
  let changed = false;
  const next = entries.map(([key, item], i): [string, unknown] => {
    const name = names[i] ?? key;
    const at = path === '' ? name : `${path}.${name}`;
    if (name !== key) repaired.push(at);
    const repairedItem = repair(item, at, depth + 1, repaired);
    changed ||= name !== key || repairedItem !== item;
    return [name, repairedItem];
  });
  return changed ? Object.fromEntries(next) : v; // also of `__proto__`, which an assignment would take for the prototype
}

/**
 * Assigns each key a name that can be stored. One that another key has already gets a further U+FFFD, and behind some of those a
 * number, for the names together not to grow with the square of their count: no field takes the place of another.
 */
function namesOf(keys: readonly string[]): readonly string[] {
  if (keys.every((key) => storable(key) === key)) return keys;
  const taken = new Set(keys);
  const numbers = new Map<string, number>(); // the last one of each name
  return keys.map((key) => {
    const stored = storable(key);
    if (stored === key) return key;
    let name = stored;
    let number = numbers.get(stored) ?? 0;
    for (let more = number === 0 ? 0 : MARKS; taken.has(name); more++) {
      if (more >= MARKS) numbers.set(stored, ++number);
      name = more < MARKS ? `${name}\uFFFD` : `${stored}\uFFFD${number}`;
    }
    taken.add(name);
    return name;
  });
}
const MARKS = 8;

function storable(text: string): string {
  return text.isWellFormed() && !text.includes('\0') ? text : text.toWellFormed().replaceAll('\0', '\uFFFD');
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
