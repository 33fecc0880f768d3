const SHORT = 48; // characters as JSON: a reference would not be shorter

/** A value of JSON in which what occurs again is written once: `{"$": n}` is the n-th of `shared`. */
export interface SharedValues {
  readonly shared: readonly unknown[];
  readonly root: unknown;
}

/** Writes each object, list and long text of a value once: paths of a tree share steps, prompts share messages. */
export function shareValues(value: unknown): SharedValues {
  const shared: unknown[] = [];
  const places = new Map<string, number>();
  const refer = (written: unknown, text: string) => {
    if (text.length < SHORT) return written;
    const place = places.get(text) ?? shared.push(written) - 1;
    places.set(text, place);
    return { $: place };
  };
  const write = (each: unknown): unknown => {
    if (typeof each === 'string') return each.length < SHORT ? each : refer(each, `"${each}`);
    if (typeof each !== 'object' || each === null) return each;
    if (Array.isArray(each)) {
      const written = each.map(write);
      return refer(written, JSON.stringify(written));
    }
    const entries = Object.entries(each).map(([name, inner]) => [name, write(inner)] as const);
    const written = Object.fromEntries(entries);
    return refer('$' in written ? { $: written } : written, JSON.stringify(written));
  };
  return { root: write(value), shared };
}

/** Returns the value that was written. */
export function readShared({ shared, root }: SharedValues): unknown {
  const read: unknown[] = [];
  const value = (each: unknown): unknown => {
    if (typeof each !== 'object' || each === null) return each;
    if (Array.isArray(each)) return each.map(value);
    if (!('$' in each)) return inner(each);
    return typeof each.$ === 'number' ? read[each.$] : inner(each.$ as object);
  };
  const inner = (each: object) => Object.fromEntries(Object.entries(each).map(([name, part]) => [name, value(part)]));
  for (const each of shared) read.push(value(each)); // one refers to earlier ones alone
  return value(root);
}
