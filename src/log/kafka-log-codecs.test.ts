import { expect, test } from '@jest/globals';
import { compress } from 'snappyjs';
import { unframeSnappy } from './kafka-log-codecs.ts';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const block = (part: string) => compress(new TextEncoder().encode(part));

test('snappy framed by Java clients is read block by block', () => {
  const header = Buffer.from('82534e415050590000000001' + '00000001', 'hex');
  const blocks = ['first ', 'second ', 'third'].map(block).flatMap((bytes) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  expect(text(unframeSnappy(Buffer.concat([header, ...blocks])))).toBe('first second third');
});

test('one bare snappy block of other clients is read', () => {
  expect(text(unframeSnappy(block('a bare block')))).toBe('a bare block');
});
