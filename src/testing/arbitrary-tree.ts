import fc from 'fast-check';
import type { DigestedRollout, DigestedStep, DigestedTree } from '../domain/tree/tree-digest.ts';

/**
 * Builds recorded trees for property tests: a random recursive tree with texts, rollouts that end at its steps, rewards on both.
 */
export const arbitraryTree: fc.Arbitrary<DigestedTree> = fc
  .record({
    parents: fc.array(fc.nat(), { maxLength: 25 }),
    texts: fc.array(fc.string({ maxLength: 6 }), { minLength: 4, maxLength: 4 }),
    walks: fc.array(fc.record({ leaf: fc.nat(), open: fc.boolean(), success: fc.option(fc.boolean()) }), { maxLength: 6 }),
    rewards: fc.array(fc.record({ at: fc.nat(), value: fc.integer({ min: -8, max: 8 }), component: fc.constantFrom('a', 'b') }), {
      maxLength: 12,
    }),
  })
  .map(({ parents, texts, walks, rewards }) => {
    const steps: DigestedStep[] = [stepAt(0, null, texts)];
    for (const [i, parent] of parents.entries()) steps.push(stepAt(i + 1, `s${parent % (i + 1)}`, texts));
    const rollouts = walks.map(
      ({ leaf, open, success }, i): DigestedRollout => ({
        rolloutId: `r${i}`,
        fromStepId: 's0',
        leafStepId: open ? null : `s${leaf % steps.length}`,
        outcome: open ? null : 'terminated',
        success: open ? null : success,
      }),
    );
    return {
      environment: 'craft',
      serverFingerprint: 'f',
      alias: '7',
      goal: 'g',
      instruction: 'i',
      steps,
      rollouts,
      rewards: rewards.map(({ at, value, component }) => {
        const onRollout = rollouts.length > 0 && at % 3 === 0;
        return {
          component,
          value,
          stepId: onRollout ? null : `s${at % steps.length}`,
          rolloutId: onRollout ? `r${at % rollouts.length}` : null,
        };
      }),
    };
  });

function stepAt(i: number, parentStepId: string | null, texts: readonly string[]): DigestedStep {
  const text = (k: number) => `${texts[(i + k) % texts.length]}${k}`;
  return {
    stepId: `s${i}`,
    parentStepId,
    response: text(0),
    thought: text(1),
    action: text(2),
    observation: text(3),
    wellFormatted: i % 2 === 0,
    executable: true,
    termination: 'none',
    stateHash: null,
  };
}
