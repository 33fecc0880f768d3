import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { outliveClosedPipes } from './closed-pipes.ts';

const fault = (code: string) => Object.assign(new Error(`write ${code}`), { code });

test('a pipe closed by its reader is ignored, and another output failure is thrown', () => {
  const output = new EventEmitter();
  outliveClosedPipes([output]);
  outliveClosedPipes([output]);
  expect(output.listenerCount('error')).toBe(1);
  for (const code of ['EPIPE', 'ERR_STREAM_DESTROYED']) expect(() => output.emit('error', fault(code))).not.toThrow();
  expect(() => output.emit('error', fault('EIO'))).toThrow('EIO');
});
