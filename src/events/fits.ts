import type { z } from 'zod';

/** Returns whether a value certainly fits a schema, and parsing it would return it as it is. */
export type Fits = (value: unknown) => boolean;

/**
 * Compiles a schema to a look that copies nothing and words nothing: most events fit, and parsing them took half of the time of
 * decoding. False says only that `safeParse` must say: it has the words, and the schemas that nothing here knows.
 */
export function compileFits(schema: z.ZodType): Fits {
  const def = schema._zod.def as unknown as Def; // its parts are read by what `type` says
  const checks = (def.checks ?? []).map(checkOf);
  if (checks.some((check) => check === undefined)) return byParsing(schema);
  const fits = kindOf(def);
  if (fits === undefined) return byParsing(schema);
  const [first, second, ...more] = checks as Fits[]; // none is undefined
  if (!first) return fits;
  if (!second) return (value) => fits(value) && first(value);
  return (value) => fits(value) && first(value) && second(value) && more.every((check) => check(value));
}

interface Def {
  readonly type: string;
  readonly checks?: readonly { readonly _zod: { readonly def: CheckDef } }[];
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly coerce?: boolean;
  readonly shape: Readonly<Record<string, z.ZodType>>;
  readonly catchall?: z.ZodType;
  readonly innerType: z.ZodType;
  readonly element: z.ZodType;
  readonly keyType: z.ZodType;
  readonly valueType: z.ZodType;
  readonly options: readonly z.ZodType[];
  readonly values: readonly unknown[];
  readonly entries: Readonly<Record<string, unknown>>;
}
interface CheckDef {
  readonly check: string;
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly maximum: number;
  readonly minimum: number;
  readonly value: number;
  readonly inclusive: boolean;
  readonly fn?: (value: unknown) => unknown;
  readonly when?: unknown;
}

/** Of a text, number or boolean the schema itself says it at once; a copy of anything else would be one more. */
function byParsing(schema: z.ZodType): Fits {
  return (value) => {
    if (typeof value === 'object' && value !== null) return false;
    const parsed = schema.safeParse(value);
    return parsed.success && Object.is(parsed.data, value);
  };
}

function kindOf(def: Def): Fits | undefined {
  if (def.coerce) return undefined;
  switch (def.type) {
    case 'string': {
      const { format, pattern } = def;
      if (format === undefined) return (value) => typeof value === 'string';
      return format === 'datetime' && pattern ? (value) => typeof value === 'string' && pattern.test(value) : undefined;
    }
    case 'number':
      if (def.format === 'safeint') return Number.isSafeInteger;
      return def.format === undefined ? Number.isFinite : undefined;
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'unknown':
      return () => true;
    case 'literal':
      return among(def.values);
    case 'enum':
      return among(Object.values(def.entries));
    case 'nullable': {
      const inner = compileFits(def.innerType);
      return (value) => value === null || inner(value);
    }
    case 'optional': {
      const inner = compileFits(def.innerType);
      return (value) => value === undefined || inner(value);
    }
    case 'array': {
      const element = compileFits(def.element);
      return (value) => Array.isArray(value) && value.every(element);
    }
    case 'union': {
      const options = def.options.map(compileFits);
      return (value) => options.some((option) => option(value));
    }
    case 'record':
      return recordFits(def);
    case 'object':
      return objectFits(def);
    default:
      return undefined;
  }
}

function among(values: readonly unknown[]): Fits {
  const [only] = values;
  if (values.length === 1) return (value) => value === only;
  const all = new Set(values);
  return (value) => all.has(value);
}

function recordFits({ keyType, valueType }: Def): Fits | undefined {
  if ((keyType._zod.def as unknown as Def).type !== 'string') return undefined;
  const [key, item] = [compileFits(keyType), compileFits(valueType)];
  return (value) =>
    isObject(value) && Object.entries(value).every(([name, held]) => name !== '__proto__' && key(name) && item(held));
}

/**
 * Its fields, and no others, in the order of the schema: parsing returns an object in that order, and its bytes are kept. The
 * loop makes no list of their names, which took half of the time.
 */
function objectFits({ shape, catchall }: Def): Fits | undefined {
  if ((catchall?._zod.def as unknown as Def | undefined)?.type !== 'never') return undefined;
  const names = Object.keys(shape);
  const fits = Object.values(shape).map(compileFits);
  const isOptional = fits.map((field) => field(undefined));
  return (value) => {
    if (!isObject(value)) return false;
    let at = 0;
    for (const name in value) {
      while (names[at] !== name) if (!isOptional[at++]) return false; // also behind the last of them
      const held = value[name];
      if (held === undefined || !fits[at++]?.(held)) return false;
    }
    while (at < names.length) if (!isOptional[at++]) return false;
    return true;
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkOf({ _zod: { def } }: { readonly _zod: { readonly def: CheckDef } }): Fits | undefined {
  const { check, format, pattern, maximum, minimum, value: bound, inclusive, fn, when } = def;
  if (when !== undefined && check !== 'max_length' && check !== 'min_length') return undefined; // theirs asks for a length
  switch (check) {
    case 'string_format':
      if (format !== 'regex' || !pattern || pattern.global || pattern.sticky) return undefined;
      return (value) => pattern.test(value as string); // behind the look at its kind
    case 'max_length':
      return (value) => (value as string).length <= maximum;
    case 'min_length':
      return (value) => (value as string).length >= minimum;
    case 'greater_than':
      return inclusive ? (value) => (value as number) >= bound : (value) => (value as number) > bound;
    case 'less_than':
      return inclusive ? (value) => (value as number) <= bound : (value) => (value as number) < bound;
    case 'custom':
      return typeof fn === 'function' ? (value) => Boolean(fn(value)) : undefined;
    default:
      return undefined;
  }
}
