import fc from 'fast-check';

/**
 * Stands for a piece of JSON text that no JavaScript value is written as: 1e999, a name that occurs twice, brackets without end.
 */
export function raw(text: string): string {
  return `${MARK}${Buffer.from(text).toString('base64')}${MARK}`;
}
const MARK = '\u{1f577}'; // nothing else here holds it
const MARKED = new RegExp(`"${MARK}([A-Za-z0-9+/=]*)${MARK}"`, 'gu');

/** Writes a value as JSON with its raw pieces in their places. */
export function write(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replaceAll(MARKED, (_, text: string) => Buffer.from(text, 'base64').toString());
}

const DEEP = 100_000;
/** JSON texts that parsers, schemas and stores stumble over. */
export const RAW_TEXTS: readonly string[] = [
  ...[
    '1e999',
    '-1e999',
    '9007199254740993',
    '-9007199254740993',
    '-0',
    '1.0',
    '1e-400',
    '0.1e1',
    '123456789012345678901234567890',
  ],
  ...['NaN', 'Infinity', '-Infinity', 'undefined', '01', '0x10', "'x'", '/* x */ 1', '1,', '[1,]', '{"a":1,}', 'nul'],
  ...[
    '{"a":1,"a":2}',
    '{"id":1,"id":"x","id":null}',
    '{"__proto__":{"polluted":true}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
  ],
  ...['{"toString":null,"valueOf":null,"hasOwnProperty":1}', '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"\\u202e\\ufeff"'],
  ...['{"\\u0000":1}', '{"\\ud800":1}', '{"":1}', '{"blob":"../../../etc/passwd","size":1,"mediaType":"x"}', '[[[[[[]]]]]]'],
  ...['['.repeat(DEEP), '['.repeat(DEEP) + ']'.repeat(DEEP), '{"a":'.repeat(DEEP), `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`],
  ...[
    `"${'x'.repeat(300_000)}"`,
    `[${'0,'.repeat(50_000)}0]`,
    `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":0`).join(',')}}`,
  ],
];

/** Texts that mean something to a shell, a path, a database, a terminal, a parser or a regular expression. */
export const TEXTS: readonly string[] = [
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    'x\udfff',
    '\ufeffx',
    '\u202eabc',
    '\r\nx-evil: 1',
    '\u001b[2J',
    '%00',
    '%s%n',
    `\${7*7}`,
    '{{7*7}}',
  ],
  ...[
    '../../../../etc/passwd',
    '..\\..\\x',
    '%2e%2e%2fetc',
    '/dev/zero',
    'file:///etc/passwd',
    'C:\\x',
    '.',
    '..',
    '/',
    '~',
    '-rf',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'null',
    'NaN',
    '1e999',
    '-0',
    "'; drop table events; --",
    '\\',
    '"',
    '<script>alert(1)</script>',
  ],
  ...[
    'x'.repeat(10_000),
    '\u{1f333}'.repeat(5_000),
    '\n'.repeat(20_000),
    "'".repeat(2_000),
    '<'.repeat(5_000),
    '\u0301'.repeat(5_000),
    'ﷺ'.repeat(3_000),
  ],
  ...[
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '2026-02-30T00:00:00.000Z',
    '9'.repeat(400),
    'trees.0:99999999',
  ],
];

const NUMBERS = [-0, -1, 0, 1, 0.1, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53 - 1, 2 ** 53, 2 ** 63, 1e308, 5e-324];

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  {
    weight: 1,
    arbitrary: fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((units) => String.fromCharCode(...units)),
  },
);

/** Any value for a field; some are raw pieces of text, so write it with `write`. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...RAW_TEXTS).map(raw) },
  { weight: 3, arbitrary: hostileText },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(...NUMBERS) },
  { weight: 1, arbitrary: fc.double() },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [null], [[]], {
      blob: 'f'.repeat(64),
      size: 1,
      mediaType: 'text/plain',
    }),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);

/** A change of one place of a value: which place is `place` modulo their number. */
export interface Change {
  readonly place: number;
  readonly how: 'replace' | 'remove' | 'add' | 'twice' | 'swap';
  readonly value: unknown;
  readonly key: string;
}
export const change: fc.Arbitrary<Change> = fc.record({
  place: fc.nat(),
  how: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'twice', 'swap'),
  value: hostileValue,
  key: hostileText.map((text) => text.slice(0, 200)),
});

/** Returns a copy of a JSON value with one place changed: any field at any depth, the whole one too. */
export function changed(value: unknown, { place, how, value: put, key }: Change): unknown {
  const copy = structuredClone(value);
  const places = [...placesOf(copy)];
  const at = places[place % (places.length + 1)];
  if (!at) return how === 'replace' ? put : copy;
  const { holder, name } = at;
  const inner = holder[name];
  const other = places[(place >>> 3) % places.length];
  if (how === 'replace') set(holder, name, put);
  else if (how === 'remove') delete holder[name];
  else if (how === 'swap' && other) set(holder, name, structuredClone(other.holder[other.name]));
  else if (how === 'twice' && !Array.isArray(holder))
    set(holder, name, raw(`${write(inner)},${JSON.stringify(name)}:${write(put)}`));
  else if (typeof inner === 'object' && inner !== null && !Array.isArray(inner))
    set(inner as Holder, key, put); // an object, as just seen
  else set(holder, name, [inner, put]);
  return copy;
}

type Holder = Record<string, unknown>;

/** Sets a member of its own, also where its name is that of the prototype. */
function set(holder: Holder, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

function* placesOf(value: unknown): Generator<{ readonly holder: Holder; readonly name: string }> {
  if (typeof value !== 'object' || value === null) return;
  const holder = value as Holder; // lists are addressed by their indices
  for (const name of Object.keys(holder)) {
    yield { holder, name };
    yield* placesOf(holder[name]);
  }
}

/** A change of bytes: noise somewhere, a cut, a piece twice, a mark in front. */
export interface Damage {
  readonly at: number;
  readonly how: 'noise' | 'cut' | 'repeat' | 'mark' | 'insert';
  readonly noise: Uint8Array;
}
export const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(),
  how: fc.constantFrom('noise', 'cut', 'repeat', 'mark', 'insert'),
  noise: fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 8 }), fc.constantFrom(...NOISE())),
});

/** Overlong UTF-8, half surrogates in UTF-8, NUL, a byte order mark, UTF-16. */
function NOISE(): readonly Uint8Array[] {
  return ['c080', 'c0af', 'e08080', 'eda080', 'edbfbf', 'f8888080', 'f4908080', '00', 'efbbbf', 'fffe', 'ff', '80'].map((hex) =>
    Buffer.from(hex, 'hex'),
  );
}

/** Returns the bytes with the damage done. */
export function damaged(bytes: Buffer, { at, how, noise }: Damage): Buffer {
  const place = bytes.length === 0 ? 0 : at % bytes.length;
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
  switch (how) {
    case 'noise':
      return Buffer.concat([before, noise, after.subarray(noise.length)]);
    case 'cut':
      return before;
    case 'repeat':
      return Buffer.concat([before, after, after]);
    case 'mark':
      return Buffer.concat([Buffer.from('efbbbf', 'hex'), bytes]);
    case 'insert':
      return Buffer.concat([before, noise, after]);
    default:
      return how satisfies never;
  }
}
