import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { outliveClosedPipes } from './closed-pipes.ts';

const fault = (code: string) => Object.assign(new Error(`write ${code}`), { code });

test('a pipe that its reader closed is no fault, another fault of an output is', () => {
  const output = new EventEmitter();
  outliveClosedPipes([output]);
  outliveClosedPipes([output]);
  expect(output.listenerCount('error')).toBe(1);
  for (const code of ['EPIPE', 'ERR_STREAM_DESTROYED']) expect(() => output.emit('error', fault(code))).not.toThrow();
  expect(() => output.emit('error', fault('EIO'))).toThrow('EIO');
});
