import { createHash } from 'node:crypto';
import type { Db } from '../../src/postgres/database.ts';
import type { PageRequest } from '../../src/postgres/keyset.ts';
import { type AggregateBy, type AggregatePart, aggregate } from '../../src/projections/answers/aggregate.ts';
import { readChosenSamples, type SampleFilter } from '../../src/projections/answers/choose-samples.ts';
import { readChosenSteps, STEP_ORDERINGS, type StepFilter } from '../../src/projections/answers/choose-steps.ts';
import { readChosenTasks } from '../../src/projections/answers/choose-tasks.ts';
import {
  readChosenToolCalls,
  TOOL_CALL_ORDERINGS,
  type ToolCallFilter,
} from '../../src/projections/answers/choose-tool-calls.ts';
import { compareAchieved } from '../../src/projections/answers/compare-achieved.ts';
import { readTrees, TREE_ORDERINGS } from '../../src/projections/step-tree/read-trees.ts';

/** A question that is asked of the record that `fillAnswers` makes; the n-th time of another run, tree or word. */
export interface Question {
  readonly name: string;
  ask(db: Db, n: number): Promise<unknown>;
}

const PAGE: PageRequest = { limit: 50, towards: 'forwards', after: null, before: null };
const PARTS: ReadonlySet<AggregatePart> = new Set(['rollouts', 'steps', 'tools', 'components']);

/** The questions over a record of so many runs and trees. */
export function answerQuestions({
  runs,
  trees,
  mark,
}: {
  readonly runs: number;
  readonly trees: number;
  readonly mark: Date | null;
}): readonly Question[] {
  const run = (n: number) => idOf(`run${n % runs}`);
  const tree = (n: number) => idOf(`tree${(n * 10) % trees}`);
  const steps = (name: string, of: (n: number) => StepFilter, order: keyof typeof STEP_ORDERINGS = 'TREE'): Question => ({
    name: `steps ${name}`,
    ask: (db, n) => readChosenSteps(db, of(n), STEP_ORDERINGS[order], PAGE),
  });
  const calls = (
    name: string,
    of: (n: number) => ToolCallFilter,
    order: keyof typeof TOOL_CALL_ORDERINGS = 'TREE',
  ): Question => ({
    name: `toolCalls ${name}`,
    ask: (db, n) => readChosenToolCalls(db, of(n), TOOL_CALL_ORDERINGS[order], PAGE),
  });
  const samples = (name: string, of: (n: number) => SampleFilter): Question => ({
    name: `samples ${name}`,
    ask: (db, n) => readChosenSamples(db, of(n), PAGE),
  });
  const sums = (by: AggregateBy): Question => ({
    name: `aggregate(by: ${by}) of one run`,
    ask: (db, n) => aggregate(db, by, { runIds: [run(n)] }, PARTS),
  });
  return [
    steps('by a rare word', (n) => ({ text: { words: `rare${(n * 37) % 5000}`, fields: [], mark } })),
    steps('by a word in a hundred', (n) => ({ text: { words: `word${(n * 3) % 500}`, fields: [], mark } })),
    steps('by a common phrase', () => ({ text: { words: '"oak log"', fields: [], mark } })),
    steps('by a word in the thought', (n) => ({ text: { words: `word${n % 500}`, fields: ['thought'], mark } })),
    steps('by action', (n) => ({ action: `craft ${(n * 11) % 1000} planks` })),
    steps('by a common action', () => ({ action: 'inventory' })),
    steps('of a run, by action', (n) => ({ runId: run(n), action: `craft ${(n * 11) % 1000} planks` })),
    steps('of a run', (n) => ({ runId: run(n) })),
    steps('of a task depth', (n) => ({ taskDepth: n % 5 })),
    steps('of an environment and a policy version', (n) => ({
      environment: 'textcraft',
      policyId: 'bench',
      policyVersion: n % 5,
    })),
    steps('by tool', () => ({ tool: 'calculator' })),
    steps('by reward component', () => ({ reward: { component: 'process' } })),
    steps('by verdict', () => ({ verdict: 'bad' })),
    steps('by reason of rejection', () => ({ sampleReason: 'stale' })),
    steps('the last taken', () => ({ executable: false }), 'TAKEN_DESC'),
    steps('of a subtree, by visits', (n) => ({ under: idOf(`root${(n * 10) % trees}`), levels: 3 }), 'VISITS'),
    steps('of a tree, by visits', (n) => ({ treeId: tree(n) }), 'VISITS'),
    calls('by tool', () => ({ tool: 'calculator' })),
    calls('by tool, the slowest', () => ({ tool: 'search' }), 'DURATION_DESC'),
    calls('of a run that failed', (n) => ({ runId: run(n), outcome: 'error' })),
    samples('rejected as stale', () => ({ state: 'rejected', reason: 'stale' })),
    samples('trained, of a run', (n) => ({ state: 'trained', runId: run(2 * n) })),
    samples('planned', () => ({ state: 'planned' })),
    samples('ready', () => ({ state: 'ready' })),
    { name: 'tasks', ask: (db) => readChosenTasks(db, {}, PAGE) },
    { name: 'tasks by goal', ask: (db, n) => readChosenTasks(db, { text: `item ${n % 100}` }, PAGE) },
    { name: 'tasks of a run', ask: (db, n) => readChosenTasks(db, { runId: run(n) }, PAGE) },
    {
      name: 'trees of a run, by return variance',
      ask: (db, n) => readTrees(db, [{ runId: run(n) }], TREE_ORDERINGS.RETURN_VARIANCE_DESC, PAGE),
    },
    ...(['RUN', 'TASK', 'DEPTH', 'POLICY_VERSION', 'ENVIRONMENT', 'TOOL'] as const).map(sums),
    {
      name: 'compare two runs',
      ask: (db, n) => compareAchieved(db, [run(n), run(n + 1)], { confidence: 0.95, resamples: 2_000, seed: 1 }),
    },
  ];
}

/** As `md5(…)::uuid` in the fill. */
function idOf(name: string): string {
  const hex = createHash('md5').update(name).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
