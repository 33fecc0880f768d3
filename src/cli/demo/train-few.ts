import type { Platform } from '../../platform/open-platform.ts';
import { createLogger } from '../../runtime/logger.ts';
import { LINEAR_SETTINGS } from '../../training/backends/training-settings.ts';
import { train } from '../../usecases/train/train.ts';
import { trainPlan } from '../../usecases/train/train-plan.ts';
import type { Training } from '../../usecases/train/training.ts';
import { writeLedger } from '../ledger.ts';
import { print, progressLine } from '../terminal.ts';

/**
 * Trains the linear policy for a few updates on the search world and shows the result on questions that it was not trained
 * on.
 */
export async function trainFew(
  platform: Platform,
  seed: number,
  by: Pick<Training, 'batcher'>,
  signal: AbortSignal,
): Promise<void> {
  const line = progressLine();
  const updates = 6;
  const began = Date.now();
  const trained = await train(platform, {
    plan: trainPlan.parse({
      policyId: `demo-${seed}`,
      environment: 'search-qa',
      split: 'train',
      tasks: null,
      settings: LINEAR_SETTINGS.grpo,
      updates,
      seed,
      taskSeed: 0,
      groupsPerBatch: 8,
      groupSize: 6,
      zeroVariance: 'reject',
      mode: 'strict',
      maxStaleness: 0,
      temperature: 1,
      maxSteps: 8,
      evaluation: { split: 'test', tasks: 18, rollouts: 4, every: updates },
    }),
    concurrency: 8,
    signal,
    logger: createLogger({ level: 'error' }),
    ...(by.batcher ? { batcher: by.batcher } : {}),
    onCollect: ({ rollouts, steps }) => line.show(`training: ${rollouts} rollouts, ${steps} steps`),
  });
  line.end();
  if (signal.aborted) return;
  const [before, after] = [trained.evaluations[0], trained.evaluations.at(-1)];
  if (!before || !after) return;
  const shown = ({ evaluation: { successRate, successInterval: at } }: typeof before) =>
    `${percent(successRate)} (${percent(at.low)} – ${percent(at.high)})`;
  print();
  print(
    `Trained by GRPO, ${updates} updates in ${((Date.now() - began) / 1_000).toFixed(1)} s, strictly on-policy; success on questions that it never saw:`,
  );
  print(`  before ${shown(before)}, after ${shown(after)}`);
  print(writeLedger(trained.ledger));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}
