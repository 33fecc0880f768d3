import { z } from 'zod';
import { parseThoughtAction } from '../../src/domain/prompts/parse-thought-action.ts';
import { chooseCandidates, gradeOutcome } from '../../src/domain/search/expansion.ts';
import { nextSearchStep, type SearchParams } from '../../src/domain/search/next-search-step.ts';
import { applySearchFacts } from '../../src/domain/search/search-facts.ts';
import { startSearch } from '../../src/domain/search/search-tree.ts';
import { exchange } from '../../src/environments/http/http-exchange.ts';
import type { PastStep } from '../../src/policies/policy.ts';
import { answerAt } from './agentgym-search-answers.ts';

const TIMEOUT_MS = 300_000; // of AgentGym's clients

const created = z.looseObject({ id: z.int() });
const opened = z.looseObject({ observation: z.string() });
const stepped = z.looseObject({ observation: z.string(), reward: z.number(), done: z.boolean() });

/**
 * Searches one task as the published program does (specification of Agent-R, §1.5, §1.6): for every reply it starts the task
 * again, sends every action of the way there and then the new one, each request on a connection of its own. Nothing is compared
 * and nothing is kept; what the published program does besides (copies of conversations, a file of 42 times the text) is left
 * out, to its advantage. Ties go to the earlier child, as in our search, so that both grow the same tree. Returns how many nodes
 * it has.
 */
export async function searchAsPublished(url: string, alias: string, params: SearchParams): Promise<number> {
  const post = async <T>(path: string, json: unknown, shape: z.ZodType<T>): Promise<T> => {
    const answer = await exchange({ method: 'POST', url: new URL(path, url), json, timeoutMs: TIMEOUT_MS });
    if (answer.kind !== 'answered') throw new Error(`${path}: ${answer.kind}`);
    return shape.parse(JSON.parse(answer.body));
  };
  const { id } = await post('/create', {}, created);
  const reset = () => post('/reset', { id, data_idx: Number(alias) }, opened);
  const { observation: firstObservation } = await reset();
  const paths = new Map<string, readonly PastStep[]>([['0', []]]);
  let state = startSearch('0');
  for (;;) {
    const step = nextSearchStep(state, params);
    if (step.kind === 'finished') break;
    if (step.kind === 'backup') {
      state = applySearchFacts(state, [{ ...step, kind: 'backed-up' }]);
      continue;
    }
    const history = paths.get(step.stepId) ?? [];
    const samples = [];
    for (let ordinal = 0; ordinal < step.candidates; ordinal++) {
      const response = answerAt({ firstObservation, history }, ordinal);
      await reset();
      for (const { action } of history) await post('/step', { id, action }, stepped);
      const { action } = parseThoughtAction(response);
      samples.push({ ordinal, response, action, result: await post('/step', { id, action }, stepped) });
    }
    const { simulation, stepId: parentStepId } = step;
    for (const { candidate } of chooseCandidates(samples).kept) {
      const { ordinal, response, action, result } = candidate;
      const stepId = `${parentStepId}.${ordinal}`;
      paths.set(stepId, [...history, { response, action, observation: result.observation }]);
      const outcome = { score: result.reward, terminated: result.done, truncated: false };
      const graded = gradeOutcome(outcome, history.length, params.maxDepth);
      const child = { simulation, stepId, parentStepId, ordinal, equivalentTo: null, ...graded };
      state = applySearchFacts(state, [{ kind: 'child-added', ...child }]);
    }
    state = applySearchFacts(state, [{ kind: 'node-expanded', simulation, stepId: parentStepId }]);
  }
  await post('/close', { id }, z.unknown());
  return paths.size - 1;
}
