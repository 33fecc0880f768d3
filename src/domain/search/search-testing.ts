import { createRandom } from '../random/random.ts';
import { seedFrom } from '../random/seed-from.ts';
import { chooseCandidates, gradeOutcome } from './expansion.ts';
import { nextSearchStep, type SearchParams, type SearchStep } from './next-search-step.ts';
import { applySearchFacts, type SearchFact } from './search-facts.ts';
import { type SearchState, startSearch } from './search-tree.ts';

/** Facts that one process lived to record: it is killed when they are written, in the middle of an expansion as well. */
export type Life = number;

/**
 * Drives a search in a world that a seed makes up, through processes that die after some facts each; the last one lives to the
 * end.
 */
export function searchThroughKills(seed: number, params: SearchParams, lives: readonly Life[]): readonly SearchFact[] {
  const record: SearchFact[] = [];
  for (const life of [...lives, Number.POSITIVE_INFINITY]) {
    let left = life;
    // A new process knows the record and nothing else.
    let state = applySearchFacts(startSearch('root'), record);
    for (let step = nextSearchStep(state, params); step.kind !== 'finished' && left > 0; step = nextSearchStep(state, params)) {
      const facts = carryOut(seed, params, step, state).slice(0, left);
      left -= facts.length;
      for (const each of facts) record.push(each);
      state = applySearchFacts(state, facts);
    }
  }
  return record;
}

function carryOut(seed: number, params: SearchParams, step: SearchStep, state: SearchState): readonly SearchFact[] {
  if (step.kind === 'finished') return [];
  if (step.kind === 'backup') return [{ ...step, kind: 'backed-up' }];
  const { simulation, stepId } = step;
  const depth = step.path.length - 1;
  const silent = createRandom(seedFrom(seed, stepId, 'silent')).int(12) === 0;
  const candidates = Array.from({ length: silent ? 0 : step.candidates }, (_, ordinal) => {
    const random = createRandom(seedFrom(seed, stepId, ordinal));
    const action = random.choice(['a', 'b', 'c']);
    return { ordinal, action, response: `Thought: ${random.int(2)}\nAction: ${action}` };
  });
  const added = chooseCandidates(candidates).kept.map(({ candidate, equivalentTo }): SearchFact => {
    const { ordinal, response } = candidate;
    const random = createRandom(seedFrom(seed, stepId, 'outcome', response));
    const terminated = random.int(6) === 0;
    // Eighths: their sums are exact in any order.
    const graded = gradeOutcome({ score: (random.int(10) - 1) / 8, terminated, truncated: false }, depth, params.maxDepth);
    const equivalent = equivalentTo === null ? null : `${stepId}.${equivalentTo}`;
    const child = { stepId: `${stepId}.${ordinal}`, parentStepId: stepId, ordinal, equivalentTo: equivalent, ...graded };
    return { kind: 'child-added', simulation, ...child };
  });
  const missing = added.filter((fact) => fact.kind === 'child-added' && !state.nodes.has(fact.stepId));
  return [...missing, { kind: 'node-expanded', simulation, stepId }];
}
