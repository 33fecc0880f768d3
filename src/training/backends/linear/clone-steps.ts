import { setImmediate as breathe } from 'node:timers/promises';
import { createRandom } from '../../../domain/random/random.ts';
import { type Refused, refused } from '../../../domain/training/options.ts';
import { addGradient, choiceAt } from './decisions.ts';
import type { Lesson, Trained } from './follow-gradient.ts';
import { takeStep } from './optimiser.ts';

/**
 * Clones the rollouts whose return reaches `least`: −log π of each of their steps, mean over a mini-batch of steps, in a seeded
 * order.
 */
export async function cloneSteps({ from, decisions, settings, seed, signal, featuresOf }: Lesson): Promise<Trained | Refused> {
  const { objective } = settings;
  if (objective.kind !== 'behaviour-cloning') return refused(`${objective.kind} clones nothing`);
  const returns = new Map<string, number>();
  for (const { row } of decisions) returns.set(row.rolloutId, (returns.get(row.rolloutId) ?? 0) + row.reward);
  const good = decisions.filter(({ row }) => (returns.get(row.rolloutId) ?? 0) >= objective.least);
  let [values, moments] = [from.policy.values, from.policyMoments];
  let [steps, skipped, loss] = [0, 0, 0];
  for (let epoch = 0; epoch < settings.epochs; epoch++) {
    const order = createRandom(seed).fork(epoch).shuffle(good);
    loss = 0;
    for (let start = 0; start < order.length; start += settings.miniBatch) {
      await breathe();
      signal.throwIfAborted();
      const part = order.slice(start, start + settings.miniBatch);
      const gradient = new Float64Array(values.length);
      for (const decision of part) {
        const choice = choiceAt(values, featuresOf(decision), decision);
        loss -= choice.logProb / order.length;
        addGradient(gradient, featuresOf(decision), decision, choice, -1 / part.length, 0);
      }
      const step = takeStep(values, moments, gradient, settings);
      [values, moments] = [step.values, step.moments];
      steps++;
      if (step.kind === 'skipped') skipped++;
    }
  }
  return {
    kind: 'learned',
    after: { ...from, policy: { ...from.policy, values }, policyMoments: moments },
    estimator: null,
    loss: { name: 'behaviour-cloning', revision: '1', mode: { least: objective.least } },
    metrics: {
      loss,
      steps,
      skippedSteps: skipped,
      clonedSteps: good.length,
      clonedRollouts: new Set(good.map(({ row }) => row.rolloutId)).size,
    },
  };
}
