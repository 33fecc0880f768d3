import { describe, test } from '@jest/globals';
import { whyNoKafka } from './kafka.ts';

/** Describes what needs a broker. Where none can be started the whole is reported as skipped, and its name says why. */
export function describeWithKafka(name: string, body: () => void): void {
  const reason = whyNoKafka();
  if (reason === undefined) describe(name, body);
  else describe.skip(`${name} (skipped: ${reason})`, () => test('a Kafka broker is required', () => undefined));
}
