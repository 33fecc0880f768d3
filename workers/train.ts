import { hostname } from 'node:os';
import { startOnPlatform } from '../src/app/start-on-platform.ts';
import { readConfig } from '../src/runtime/config.ts';
import { runUntilStopped } from '../src/runtime/lifecycle.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { trainPolicy } from '../src/usecases/train/train-policy.ts';

/**
 * Trains a declared policy on its batches as they are planned: `workers/train.ts POLICY [NAME]`. Killed and started again under
 * its name, it gets its batch back at once.
 */
await runUntilStopped(async (signal) => {
  const config = readConfig();
  const logger = createLogger({ level: config.logLevel }).with({ worker: 'train' });
  const [policyId = '', consumer = hostname()] = process.argv.slice(2);
  const { running, close } = await startOnPlatform({ config, name: 'train', logger, signal }, async (platform) => {
    logger.info('training', { policy: policyId, consumer });
    const finished = trainPolicy(platform, {
      policyId,
      consumer,
      untilVersion: null,
      signal,
      onUpdate({ version, samples, meanReturn, warning, ms }) {
        logger.info('trained', { version, samples, meanReturn, ms });
        if (warning !== null) logger.warn('the sampler differs from the trainer', { version, reason: warning });
      },
      onTrouble: (trouble) => logger.warn('batch not trained', { ...trouble }),
      onFault: (error) => logger.warn('training waits; it goes on from the record', { error }),
    });
    const ended = finished.then(ignore, ignore); // `finished` reports a fault
    return { finished, close: () => ended };
  });
  return { finished: running.finished, close };
});

function ignore(): void {}
