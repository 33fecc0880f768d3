import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { mediaOf, parseBody } from './parse-body.ts';

const bytes = (text: string) => Buffer.from(text, 'utf8');

describe('mediaOf', () => {
  test.each([
    ['application/json', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['Application/JSON;charset="UTF-8"', 'json'],
    ['application/x-ndjson', 'ndjson'],
    ['application/ndjson', 'ndjson'],
    ['application/json; charset=latin1', undefined],
    ['text/plain', undefined],
    ['', undefined],
  ])('%s is read as %s', (type, media) => expect(mediaOf({ 'content-type': type })).toBe(media));
  test('a missing type is undefined', () => expect(mediaOf({})).toBeUndefined());
});

describe('parseBody', () => {
  test('an object is one value, an array many, and each line one', () => {
    expect(parseBody(bytes('{"a":1}'), 'json', 9)).toEqual({ kind: 'parsed', value: [{ a: 1 }] });
    expect(parseBody(bytes('[1,2]'), 'json', 9)).toEqual({ kind: 'parsed', value: [1, 2] });
    expect(parseBody(bytes('1\r\n\n [2] \n'), 'ndjson', 9)).toEqual({ kind: 'parsed', value: [1, [2]] });
  });

  test.each([
    ['json', '{"a":1,"a":2}', [{ index: 0, path: 'a' }]],
    ['json', '[{},{"data":{"seed":1234567890123456789}}]', [{ index: 1, path: 'data.seed' }]],
    [
      'ndjson',
      '{"a":1e400}\n{}\n{"b":[0,12345678901234567891]}',
      [
        { index: 0, path: 'a' },
        { index: 2, path: 'b.1' },
      ],
    ],
  ] as const)('what a reader of %s would lose of %s is refused by its path', (media, text, problems) => {
    const parsed = parseBody(bytes(text), media, 9);
    if (parsed.kind !== 'refused') throw new Error('it was taken');
    expect(parsed.reply.status).toBe(422);
    expect(JSON.parse(String(parsed.reply.body)).error.problems).toMatchObject(problems);
  });

  test('bad lines are named by line and index', () => {
    const parsed = parseBody(bytes('{}\n{oops\n[]\n{"half"'), 'ndjson', 9);
    expect(parsed.kind === 'refused' && JSON.parse(String(parsed.reply.body)).error.problems).toEqual([
      { index: 1, path: '', message: expect.stringContaining('line 2 is not JSON'), remedy: expect.any(String) },
      { index: 3, path: '', message: expect.stringContaining('line 4 is not JSON'), remedy: expect.any(String) },
    ]);
  });

  test.each([
    ['nothing', '', 'json', 400],
    ['blanks', ' \n ', 'ndjson', 400],
    ['half an array', '[1,', 'json', 400],
    ['too many in an array', '[1,2,3]', 'json', 413],
    ['too many lines', '1\n2\n3', 'ndjson', 413],
  ] as const)('%s is refused', (_name, text, media, status) => {
    const parsed = parseBody(bytes(text), media, 2);
    expect(parsed.kind === 'refused' && parsed.reply.status).toBe(status);
  });

  test('a body that is not UTF-8 is refused', () => {
    const parsed = parseBody(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), 'json', 9);
    expect(parsed.kind === 'refused' && parsed.reply.status).toBe(400);
  });

  test('values written one per line are read back', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { minLength: 1, maxLength: 20 }), (values) => {
        const written = values.map((value) => JSON.stringify(value));
        const expected = { kind: 'parsed', value: written.map((line) => JSON.parse(line)) };
        expect(parseBody(bytes(written.join('\n')), 'ndjson', 20)).toEqual(expected);
        expect(parseBody(bytes(`[${written.join(',')}]`), 'json', 20)).toEqual(expected);
      }),
    );
  });
});
