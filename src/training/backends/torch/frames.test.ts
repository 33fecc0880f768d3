import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { frameReader, writeFrame } from './python-process.ts';

const whole = (parts: readonly Uint8Array[]) => Buffer.concat(parts);

describe('frames', () => {
  test('a written frame is read, however the stream is cut', () => {
    const some = fc.record({ message: fc.dictionary(fc.string(), fc.string()), body: fc.uint8Array({ maxLength: 40 }) });
    fc.assert(
      fc.property(
        fc.array(some, { maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        (frames, cuts) => {
          const bytes = whole(frames.flatMap(({ message, body }) => writeFrame(message, [body])));
          const read = frameReader();
          const found = [];
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const length = cuts[i % cuts.length] ?? 1;
            found.push(...read(bytes.subarray(at, at + length)));
            at += length;
          }
          expect(found.map(({ message, body }) => ({ message, body: [...body] }))).toEqual(
            frames.map(({ message, body }) => ({ message: JSON.parse(JSON.stringify(message)), body: [...body] })),
          );
        },
      ),
    );
  });

  test.each<[string, Uint8Array, RegExp]>([
    ['another magic', Buffer.from('Loading weights: 100%'), /begins with ESPF, not "Load"/],
    ['a message beyond the limit', whole([Buffer.from('ESPF'), Buffer.from([255, 255, 255, 127, 0, 0, 0, 0])]), /longer than/],
    ['a message that is no JSON', whole([Buffer.from('ESPF'), Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{')]), /JSON/],
    [
      'a message that is no object',
      whole([Buffer.from('ESPF'), Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('7')]),
      /object/,
    ],
  ])('a frame with %s is an error', (_what, bytes, reason) => {
    expect(() => frameReader()(bytes)).toThrow(reason);
  });
});
