import { startOnPlatform } from '../src/app/start-on-platform.ts';
import { readConfig } from '../src/runtime/config.ts';
import { runUntilStopped } from '../src/runtime/lifecycle.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { readPlanFile, throwIfFailed } from '../src/usecases/collect/collect.ts';
import { collectWithRetry } from '../src/usecases/collect/collect-with-retry.ts';

/** Collects the run of a plan file: `workers/collect.ts PLAN.json`. Started again on the same file, it goes on with that run. */
await runUntilStopped(async (signal) => {
  const config = readConfig();
  const logger = createLogger({ level: config.logLevel }).with({ worker: 'collect' });
  const planned = await readPlanFile(process.argv[2]);
  const { running, close } = await startOnPlatform({ config, name: 'collect', logger, signal }, async (platform) => {
    logger.info('collecting', { run: planned.runId });
    const finished = collectWithRetry(platform, {
      ...planned,
      concurrency: 8,
      signal,
      onFault: (error) => logger.warn('collecting waits; it goes on from the record', { error }),
    });
    const ended = finished.then(ignore, ignore); // `finished` reports a fault
    return { finished, close: () => ended };
  });
  return {
    finished: running.finished.then((collected) => {
      const { message: said, ...totals } = collected; // a field of that name would take the place of the line's own message
      logger.info('collected', { run: planned.runId, ...totals, ...(said === '' ? {} : { said }) });
      throwIfFailed(planned.runId, collected);
    }),
    close,
  };
});

function ignore(): void {}
