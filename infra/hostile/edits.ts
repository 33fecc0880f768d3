import fc from 'fast-check';

/** JSON texts that parsers, schemas and stores stumble over; no JavaScript value is written as most of them. */
export const JSON_TEXTS: readonly string[] = [
  ...['1e999', '-0', '9007199254740993', '123456789012345678901234567890', '1e-400', 'NaN', '01', "'x'", '/**/ 1', '[1,]', 'nul'],
  ...['{"id":1,"id":"x"}', '{"__proto__":{"polluted":true}}', '{"toString":null}', '"\\ud800"', '"\\u0000"', '{"\\u0000":1}'],
  ...['{"":1}', '{"blob":"../../etc/passwd","size":1,"mediaType":"x"}', `"${'x'.repeat(300_000)}"`, `[${'0,'.repeat(50_000)}0]`],
  ...['['.repeat(100_000), '['.repeat(100_000) + ']'.repeat(100_000), `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
];

/** Strings that mean something to a shell, a path, a database, a terminal, a parser or a regular expression. */
const STRINGS: readonly string[] = [
  ...['', '\0', '\ud800', 'x\udfff', '\ufeffx', '\u202eabc', '\r\nx-evil: 1', '\u001b[2J', '%00', '%s%n', '{{7*7}}', '\\', '"'],
  ...[
    '../../../../etc/passwd',
    '/dev/zero',
    'file:///etc/passwd',
    '.',
    '..',
    '-rf',
    "'; drop table events; --",
    '<script>x</script>',
  ],
  ...['__proto__', 'constructor', 'null', '1e999', '2026-02-30T00:00:00.000Z', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  // what lays out, searches or counts text takes long for these
  ...['x', 'x ', '\n', '\u{1f333}', '\u0301', 'ﷺ', '\t', '[Action]', '['].map((each) => each.repeat(100_000)),
  // marks that open and never close
  ...['<tool_call>', '<tool_call>{}', '</tool_call>', '<code>\n', '<think>', 'Action:', "['a' "].map((each) =>
    each.repeat(20_000),
  ),
  ...[`What you can do now: ['a'${' \n'.repeat(20_000)}`, `Goal:${' '.repeat(300_000)}`, `${'a'.repeat(900)}!`],
];

export const hostileString: fc.Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...STRINGS) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.array(fc.nat(0xffff), { maxLength: 40 }).map((units) => String.fromCharCode(...units)) },
);

/** A value in JSON text, written as it is. */
const hostileJson: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...JSON_TEXTS),
  hostileString.map((value) => JSON.stringify(value)),
  fc.oneof(fc.double(), fc.constantFrom(-1, 2 ** 31, 2 ** 53, 1e308)).map((value) => JSON.stringify(value)),
  fc.constantFrom('null', 'true', '[]', '{}', '[null]'),
  fc.json({ maxDepth: 4 }),
);

/** Overlong UTF-8, surrogates in UTF-8, NUL, BOMs. */
const NOISE = ['c080', 'e08080', 'eda080', 'f4908080', '00', 'efbbbf', 'fffe', 'ff'].map((hex) => Buffer.from(hex, 'hex'));

/** A change of a file or a body: of one member of its JSON, or of its bytes. */
export type Edit =
  | {
      readonly kind: 'member';
      readonly at: number;
      readonly how: 'replace' | 'remove' | 'repeat' | 'move';
      readonly json: string;
    }
  | {
      readonly kind: 'bytes';
      readonly at: number;
      readonly how: 'overwrite' | 'cut' | 'double' | 'insert' | 'whole';
      readonly noise: Buffer;
    };

export const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('member' as const),
        at: fc.nat(),
        how: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'repeat', 'move'),
        json: hostileJson,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('bytes' as const),
        at: fc.nat(),
        how: fc.constantFrom('overwrite', 'cut', 'double', 'insert', 'whole'),
        noise: fc.oneof(
          fc.constantFrom(...NOISE),
          fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
          fc.oneof(fc.constantFrom(...JSON_TEXTS), hostileString).map((text) => Buffer.from(text)),
        ),
      }),
    },
  ),
  { maxLength: 3 },
);

/** Returns the bytes with all edits made. Members are those of JSON, or of a line of JSON Lines; other bytes are overwritten. */
export function edited(bytes: Buffer, all: readonly Edit[]): Buffer {
  return all.reduce((now: Buffer, edit) => {
    const at = now.length === 0 ? 0 : edit.at % now.length;
    if (edit.kind === 'member') return memberEdited(now, at, edit) ?? overwritten(now, at, Buffer.from(edit.json.slice(0, 8)));
    switch (edit.how) {
      case 'overwrite':
        return overwritten(now, at, edit.noise);
      case 'cut':
        return now.subarray(0, at);
      case 'double':
        return Buffer.concat([now, now.subarray(at)]);
      case 'insert':
        return Buffer.concat([now.subarray(0, at), edit.noise, now.subarray(at)]);
      case 'whole':
        return edit.noise;
      default:
        return edit satisfies never;
    }
  }, bytes);
}

function overwritten(bytes: Buffer, at: number, noise: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at + noise.length)]);
}

type Holder = Record<string, unknown>;

/** Edits a member of the line that has this byte, or of the whole; undefined where neither is JSON. */
function memberEdited(bytes: Buffer, at: number, edit: Edit & { readonly kind: 'member' }): Buffer | undefined {
  const from = bytes.lastIndexOf('\n', Math.max(0, at - 1)) + 1;
  const to = bytes.indexOf('\n', at) === -1 ? bytes.length : bytes.indexOf('\n', at);
  for (const [start, end] of [[from, to] as const, [0, bytes.length] as const]) {
    const text = jsonEdited(bytes.toString('utf8', start, end), edit);
    if (text !== undefined) return Buffer.concat([bytes.subarray(0, start), Buffer.from(text), bytes.subarray(end)]);
  }
  return undefined;
}
const MARK = '\u{1f577}'; // nothing else here holds it

/** Undefined for what is no JSON, has no members, or is too deep for JSON.stringify. */
function jsonEdited(text: string, { at, how, json }: Edit & { readonly kind: 'member' }): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const members = [...membersOf(value)];
    const member = members[at % members.length];
    if (member === undefined) return undefined;
    const { holder, name } = member;
    const other = members[(at >>> 3) % members.length];
    if (how === 'remove') delete holder[name];
    else set(holder, name, how === 'move' && other ? structuredClone(other.holder[other.name]) : MARK);
    const put = how === 'repeat' ? `null,${JSON.stringify(name)}:${json}` : json;
    // a function: the string may hold what replace takes for a pattern
    return JSON.stringify(value).replace(JSON.stringify(MARK), () => put);
  } catch {
    return undefined;
  }
}

/** Sets a member of its own, also where its name is that of the prototype. */
function set(holder: Holder, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

function* membersOf(value: unknown): Generator<{ readonly holder: Holder; readonly name: string }> {
  if (typeof value !== 'object' || value === null) return;
  const holder = value as Holder; // lists are addressed by their indices
  for (const name of Object.keys(holder)) {
    yield { holder, name };
    yield* membersOf(holder[name]);
  }
}
