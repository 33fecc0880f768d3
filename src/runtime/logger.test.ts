import { describe, expect, test } from '@jest/globals';
import { createLogger, type LoggerOptions } from './logger.ts';

const now = () => new Date('2026-01-02T03:04:05.678Z');

function capture(options: Partial<LoggerOptions>) {
  const lines: string[] = [];
  return { lines, logger: createLogger({ color: false, now, write: (line) => lines.push(line), ...options }) };
}

describe('logger', () => {
  test('a JSON line carries time, level, message and fields, bound ones first', () => {
    const { lines, logger } = capture({ form: 'json' });
    logger.with({ worker: 'api' }).info('listening', { port: 4000 });
    expect(lines).toEqual([
      '{"time":"2026-01-02T03:04:05.678Z","level":"info","message":"listening","worker":"api","port":4000}\n',
    ]);
  });

  test('a level below the configured one is dropped', () => {
    const { lines, logger } = capture({ form: 'human', level: 'warn' });
    logger.debug('a');
    logger.info('b');
    logger.warn('c');
    logger.error('d');
    expect(lines).toEqual(['03:04:05 warn c\n', '03:04:05 error d\n']);
  });

  test('an error is written with its cause, and a cycle or a bigint is harmless', () => {
    const { lines, logger } = capture({ form: 'json' });
    const cycle: Record<string, unknown> = { n: 1n };
    cycle.self = cycle;
    logger.error('failed', { error: new Error('outer', { cause: new Error('inner') }), cycle });
    const line = JSON.parse(lines[0] ?? '') as Record<string, { message?: string; cause?: { message: string } }>;
    expect(line.error?.message).toBe('outer');
    expect(line.error?.cause?.message).toBe('inner');
    expect(line.cycle).toEqual({ n: '1', self: '[seen above]' });
  });

  test('a value that cannot be printed is reported, not thrown', () => {
    const { lines, logger } = capture({ form: 'json' });
    logger.info('x', {
      field: {
        toJSON() {
          throw new Error('no');
        },
      },
    });
    expect(lines).toEqual(['{"unprintable":"Error: no"}\n']);
  });

  test('a person sees the stack of a bug and only the message of a fault', () => {
    const { lines, logger } = capture({ form: 'human' });
    logger.error('failed', { error: new Error('no database') });
    logger.error('failed', { error: new TypeError('x is not a function') });
    expect(lines[0]).toBe('03:04:05 error failed error=no database\n');
    expect(lines[1]).toContain('logger.test.ts');
  });

  test('no field forges a line, turns the direction of one, or moves the cursor of a terminal', () => {
    const name = 'a\n03:04:05 info forged\x9b31m\u202e';
    for (const form of ['json', 'human'] as const) {
      const { lines, logger } = capture({ form });
      logger.error(`failed: ${name}`, { name, error: new TypeError(name) });
      const text = lines.join('');
      expect(text).not.toMatch(/[\x7f-\x9f\u202e]/);
      expect(text.split('\n').filter((line) => line.startsWith('03:04:05'))).toHaveLength(form === 'human' ? 1 : 0);
    }
  });
});
