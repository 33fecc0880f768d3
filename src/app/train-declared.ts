import { hostname } from 'node:os';
import type { Platform } from '../platform/open-platform.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Fields, Logger } from '../runtime/logger.ts';
import { trainPolicy } from '../usecases/train/train-policy.ts';

/**
 * Trains a declared policy on its batches as they are planned. Killed and started again under its name, which is that of the host
 * unless given, it gets its batch back at once.
 */
export async function trainDeclared(
  platform: Platform,
  logger: Logger,
  { words: [policyId = '', consumer = hostname()], signal }: { readonly words: readonly string[]; readonly signal: AbortSignal },
): Promise<Running & { readonly fields: Fields }> {
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
  return { fields: { policy: policyId, consumer }, finished, close: () => ended };
}

function ignore(): void {}
