import type { Platform } from '../platform/open-platform.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Fields, Logger } from '../runtime/logger.ts';
import { readPlanFile, throwIfFailed } from '../usecases/collect/collect.ts';
import { collectWithRetry } from '../usecases/collect/collect-with-retry.ts';

/** Collects the run of a plan file. Started again on the same file, it goes on with that run. */
export async function collectPlan(
  platform: Platform,
  logger: Logger,
  { words: [file], signal }: { readonly words: readonly string[]; readonly signal: AbortSignal },
): Promise<Running & { readonly fields: Fields }> {
  const planned = await readPlanFile(file);
  const collecting = collectWithRetry(platform, {
    ...planned,
    concurrency: 8,
    signal,
    onFault: (error) => logger.warn('collecting waits; it goes on from the record', { error }),
  });
  const ended = collecting.then(ignore, ignore); // `finished` reports a fault
  const finished = collecting.then((collected) => {
    const { message: said, ...totals } = collected; // a field of that name would take the place of the line's own message
    logger.info('collected', { run: planned.runId, ...totals, ...(said === '' ? {} : { said }) });
    throwIfFailed(planned.runId, collected);
  });
  return { fields: { run: planned.runId }, finished, close: () => ended };
}

function ignore(): void {}
