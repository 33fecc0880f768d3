import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Db } from '../postgres/database.ts';
import { type Collection, collect } from '../usecases/collect/collect.ts';
import { settle } from './crashing-run.ts';
import type { ChatRequest } from './openai-server.ts';

/** The example of docs/guides/tools-and-rewards.md, as it is written there. */
export const LETTERS =
  'tool-env:profile=v0.1;tools=calculator,./examples/count-letters.ts;reward=./examples/count-letters.ts#honest;tasks=./examples/letters.jsonl;max-turns=4';
const COUNT =
  '<think>I count.</think>\n<tool_call>{"name": "count_letter", "arguments": {"word": "strawberry", "letter": "r"}}</tool_call>';
const BROKEN = '<think>I guess.</think>\n<tool_call>{"name": "count_letter", "arguments": {"word": 5}}</tool_call>';
const ANSWER = '<think>It is so.</think>\n<answer>3</answer>';

/** Replies with a call whose arguments are wrong, then with one that is right, then with the answer. */
export function replyAboutLetters({ messages }: ChatRequest): string {
  return [BROKEN, COUNT, ANSWER][messages.filter(({ role }) => role === 'assistant').length] ?? ANSWER;
}

/** Collects rollouts of a task about letters by a model server, up to a number of steps; returns the run. */
export async function collectLetters(
  platform: Platform,
  {
    baseUrl,
    rollouts,
    runId = newId(),
    mode = 'new',
    stopAfter = Number.POSITIVE_INFINITY,
  }: {
    readonly baseUrl: string;
    readonly rollouts: number;
    readonly runId?: string;
    readonly mode?: Collection['mode'];
    readonly stopAfter?: number;
  },
): Promise<string> {
  const plan = {
    environment: LETTERS,
    tasks: [{ alias: '1', rollouts, branching: 'root' as const }],
    taskSeed: 0,
    policy: JSON.stringify({ kind: 'openai', baseUrl, model: 'stand-in', policyVersion: 1 }),
    temperature: 1,
    maxSteps: 10,
    search: null,
  };
  const stopping = new AbortController();
  const progress = ({ steps }: { steps: number }) => (steps >= stopAfter ? stopping.abort() : undefined);
  await collect(platform, { runId, name: 'tools', seed: 1, plan, concurrency: 1, signal: stopping.signal, mode, progress });
  await settle(platform);
  return runId;
}

/** Reads the rewards of a run by component and depth. */
export function rewardsOfRun(db: Db, runId: string) {
  return db
    .selectFrom('rewards')
    .innerJoin('trees', 'trees.treeId', 'rewards.treeId')
    .leftJoin('steps', 'steps.stepId', 'rewards.stepId')
    .select(['depth', 'component', 'value', 'scorer', 'revisions'])
    .where('runId', '=', runId)
    .orderBy('component')
    .orderBy('depth')
    .execute();
}

/** Reads the return of a rollout of a run. */
export async function returnOfRun(db: Db, runId: string): Promise<number | null | undefined> {
  return (await db.selectFrom('returns').select('value').where('runId', '=', runId).executeTakeFirst())?.value;
}
