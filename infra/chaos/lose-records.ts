import { deleteHalf } from '../../src/log/kafka-log-testing.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { environmentOf } from '../../src/testing/crashing-run.ts';
import { startProcess } from '../../src/testing/worker-process.ts';
import type { Check } from './check-record.ts';
import type { Done } from './disturb.ts';

const WITHIN_MS = 10_000;
const REFUSAL = /the log is not as it was recorded: trees\.\d+ no longer holds the records from 0 to \d+.*restore the topics/;
const STARTS: readonly (readonly [script: string, ...args: string[]])[] = [
  ...[['workers/project.ts'] as const, ['workers/batch.ts'] as const, ['workers/relay.ts'] as const, ['workers/api.ts'] as const],
  ...[['src/cli/main.ts', 'replay', 'projections'] as const, ['src/cli/main.ts', 'rebuild', 'journal'] as const],
  ['src/cli/main.ts', 'verify'],
];

/**
 * Deletes half of a topic behind everybody's back, and starts what would fold or append: each ends within ten seconds, with an
 * exit code that is not 0, what is missing and what to do. To be called last: nothing can be done with this log afterwards.
 */
export async function loseRecords(platform: Platform & { readonly home: string }): Promise<{ done: Done; check: Check }> {
  const { kafkaBrokers, kafkaPrefix } = platform.config;
  const records = await deleteHalf(kafkaBrokers ?? [], `${kafkaPrefix}trees`);
  const silent: string[] = [];
  for (const [script, ...args] of STARTS) {
    const began = performance.now();
    const child = startProcess(script, args, environmentOf(platform));
    const end = await child.ended;
    const [ms, said] = [performance.now() - began, `${child.stdout()}${child.stderr()}`];
    const isNamed = args[0] === 'verify' ? /log missing: trees\.\d+ no longer holds/.test(said) : REFUSAL.test(said);
    const isLate = args[0] !== 'verify' && ms > WITHIN_MS; // which reads the whole journal first
    if (end === 0 || !isNamed || isLate) silent.push(`${script} ${args.join(' ')}: ${end} after ${ms.toFixed(0)} ms: ${said}`);
  }
  return {
    done: { fault: 'records-deleted', subject: 'broker', how: `${records} records of trees`, records },
    check: {
      promise: 'a log that lost records is refused by everybody, with the remedy',
      broken: silent.length,
      detail: silent.length === 0 ? `${STARTS.length} processes` : silent.join('\n').slice(0, 4_000),
    },
  };
}
