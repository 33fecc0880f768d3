import { expect, test } from '@jest/globals';
import { createLogger } from './logger.ts';
import { warnSeldom } from './warn-seldom.ts';

test('what waits is logged the first time and then at most once a minute', () => {
  let now = 0;
  const lines: string[] = [];
  const logger = createLogger({ form: 'json', write: (line) => lines.push(line) });
  const warn = warnSeldom(logger, 'it waits', () => now);
  for (now = 0; now <= 120_000; now += 2_000) warn(new Error(`tried at ${now}`));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject(
    [0, 60_000, 120_000].map((at) => ({ level: 'warn', message: 'it waits', error: `tried at ${at}` })),
  );
});
