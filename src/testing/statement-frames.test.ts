import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type SentMessage, StatementFrames } from './statement-frames.ts';

function message(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(type === '' ? 4 : 5);
  if (type !== '') head.write(type);
  head.writeInt32BE(content.length + 4, head.length - 4);
  return Buffer.concat([head, content]);
}
const sent: readonly (readonly [string, Buffer])[] = [
  ['', Buffer.from('\0\x03\0\0user\0espalier\0\0')],
  ['p', Buffer.from('SCRAM')],
  ['Q', Buffer.from('begin\0')],
  ['P', Buffer.from(`mark\0update outbox set ${'x'.repeat(900)}\0\0\0`)],
  ['B', Buffer.from('\0log-append\0\0')],
  ['E', Buffer.from('\0\0\0\0\0')],
  ['S', Buffer.alloc(0)],
  ['d', Buffer.alloc(70_000, 'Q')],
  ['c', Buffer.alloc(0)],
  ['Q', Buffer.from('commit\0')],
];
const bytes = Buffer.concat(sent.map(([type, content]) => message(type, content)));
const starts = sent.map((_, i) => Buffer.concat(sent.slice(0, i).map(([type, content]) => message(type, content))).length);

test('every message is found once, with its statement and its place, however the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 60 }), (cuts) => {
      const frames = new StatementFrames();
      const found: SentMessage[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = cuts[i] ?? bytes.length;
        for (const each of frames.feed(bytes.subarray(at, at + size))) found.push({ ...each, start: each.start + at });
        at += size;
      }
      expect(found.map(({ type, start }) => [type, start])).toEqual(sent.slice(1).map(([type], i) => [type, starts[i + 1]]));
      expect(found.map(({ text }) => text.slice(0, 22))).toEqual([
        ...['', 'begin ', 'mark update outbox set', ' log-append  ', '', '', '', '', 'commit '],
      ]);
    }),
    { numRuns: 200 },
  );
});
