/** Options as a file writes them. */
export type Options = Readonly<Record<string, unknown>>;

/**
 * Puts options over others: parts that are objects field by field, unless they name another method or kind, whose fields would
 * not be theirs.
 */
export function mergeOptions(under: Options, over: Options): Options {
  const merged: Record<string, unknown> = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name];
    merged[name] = isOptions(below) && isOptions(value) && isSame(below, value) ? mergeOptions(below, value) : value;
  }
  return merged;
}

/** Returns options with the value at a path of names changed; objects on the way that are not there are made. */
export function setOption(options: Options, path: readonly string[], value: unknown): Options {
  const [first, ...rest] = path;
  if (first === undefined) return options;
  if (rest.length === 0) return { ...options, [first]: value };
  const below = options[first];
  return { ...options, [first]: setOption(isOptions(below) ? below : {}, rest, value) };
}

/** Returns the value at a path of names; undefined where it leads nowhere. */
export function optionAt(options: unknown, path: readonly string[]): unknown {
  return path.reduce((value, name) => (isOptions(value) && Object.hasOwn(value, name) ? value[name] : undefined), options);
}

/** Returns whether a path of names leads to a value. */
export function hasOption(options: unknown, path: readonly string[]): boolean {
  const [first, ...rest] = path;
  if (first === undefined) return true;
  return isOptions(options) && Object.hasOwn(options, first) && hasOption(options[first], rest);
}

/** Returns whether a value is an object of options, and no list. */
export function isOptions(value: unknown): value is Options {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSame(a: Options, b: Options): boolean {
  const differs = (field: 'name' | 'kind' | 'mode') => a[field] !== undefined && b[field] !== undefined && a[field] !== b[field];
  return !differs('name') && !differs('kind') && !differs('mode') && b.of === undefined;
}
