import { createHash } from 'node:crypto';
import { firstDivergence } from '../../src/domain/tree/first-divergence.ts';
import type { Db } from '../../src/postgres/database.ts';
import type { PageRequest } from '../../src/postgres/keyset.ts';
import { type AggregateBy, type AggregatePart, aggregate } from '../../src/projections/analysis/aggregate.ts';
import { readChosenSamples } from '../../src/projections/analysis/choose-samples.ts';
import { countStepsUpTo, readChosenSteps } from '../../src/projections/analysis/choose-steps.ts';
import { readChosenTasks } from '../../src/projections/analysis/choose-tasks.ts';
import {
  readChosenToolCalls,
  TOOL_CALL_ORDERINGS,
  type ToolCallFilter,
} from '../../src/projections/analysis/choose-tool-calls.ts';
import { compareTaskResults } from '../../src/projections/analysis/compare-task-results.ts';
import { readPublishedMetrics } from '../../src/projections/analysis/read-published-metrics.ts';
import type { SampleFilter } from '../../src/projections/analysis/sample-query.ts';
import { STEP_ORDERINGS, type StepFilter } from '../../src/projections/analysis/step-query.ts';
import type { TextField } from '../../src/projections/analysis/text-query.ts';
import { seedOf } from '../../src/projections/lineage/recall-seeds.ts';
import { readTouched } from '../../src/projections/lineage/recall-touched.ts';
import { readPaths } from '../../src/projections/step-tree/read-paths.ts';
import { ROLLOUT_ORDERINGS, readRollouts } from '../../src/projections/step-tree/read-rollouts.ts';
import { readStepsById } from '../../src/projections/step-tree/read-steps.ts';
import { readTrees, TREE_ORDERINGS } from '../../src/projections/step-tree/read-trees.ts';
import { SHAPE } from './fill-answers.ts';

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
  const leaf = (n: number, rollout: number) => idOf(`step${(n * 10) % trees} ${rollout} ${SHAPE.steps}`);
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
  const texts = (words: string, ...fields: readonly TextField[]) => ({ text: { words, fields, mark } });
  const count = (name: string, of: (n: number) => StepFilter): Question => ({
    name: `steps counted up to 1,000, ${name}`,
    ask: (db, n) => countStepsUpTo(db, of(n), 1_000),
  });
  return [
    // words of 0.02, 0.2, 2.5 and 100 percent of the texts
    steps('by a rare word', (n) => texts(`rare${(n * 37) % 5000}`)),
    steps('by a word in 500', (n) => texts(`word${(n * 3) % 500}`)),
    steps('by a word in 40', (n) => texts(`choice${n % 40}`)),
    steps('by a word of every step', (n) => texts(['oak', 'stick', 'crafting'][n % 3] ?? '')),
    steps('by a common phrase', () => texts('"oak log"')),
    steps('by a phrase of a word in 500 and one in 40', (n) => texts(`"word${n % 500} choice${(n * 8) % 40}"`)),
    steps('by a phrase nowhere, of words of every step', () => texts('"log oak"')),
    steps('by a phrase nowhere, of a word in 40', (n) => texts(`"choice${n % 40} wood"`)),
    steps('by a word without another', (n) => texts(`choice${n % 40} -rare${n % 5000}`)),
    steps('by a word nowhere without another', () => texts('oak -stick')),
    steps('by one word or another', (n) => texts(`rare${n % 5000} or word${n % 500}`)),
    steps('by a word in the thought', (n) => texts(`word${n % 500}`, 'thought')),
    steps('by a word of every step, in the action', () => texts('planks', 'action')),
    steps('of a run, by a word in 40', (n) => ({ runId: run(n), ...texts(`choice${(8 * n) % 40}`) })),
    steps('of a run, by a phrase nowhere', (n) => ({ runId: run(n), ...texts('"log oak"') })),
    steps('of a tree, by a common phrase', (n) => ({ treeId: tree(n), ...texts('"oak log"') })),
    steps('by a word in 500, the last taken', (n) => texts(`word${n % 500}`), 'TAKEN_DESC'),
    steps('by a common phrase, the last taken', () => texts('"oak log"'), 'TAKEN_DESC'),
    count('by a word in 500', (n) => texts(`word${(n * 3) % 500}`)),
    count('by a word of every step', () => texts('oak')),
    count('by tool', () => ({ tool: 'calculator' })),
    count('of a run', (n) => ({ runId: run(n) })),
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
    samples('by a word in 500', (n) => texts(`word${(2 * n) % 500}`)),
    samples('of a run, by a common phrase', (n) => ({ runId: run(2 * n), ...texts('"oak log"') })),
    samples('of a run, by a phrase nowhere', (n) => ({ runId: run(2 * n), ...texts('"log oak"') })),
    samples('of a run, by a word in 500', (n) => ({ runId: run(2 * n), ...texts(`word${(2 * n) % 500}`) })),
    samples('planned', () => ({ state: 'planned' })),
    samples('ready', () => ({ state: 'ready' })),
    { name: 'tasks', ask: (db) => readChosenTasks(db, {}, PAGE) },
    { name: 'tasks by goal', ask: (db, n) => readChosenTasks(db, { text: `item ${n % 100}` }, PAGE) },
    { name: 'tasks by kind', ask: (db, n) => readChosenTasks(db, { taskKind: `kind ${n % 6}` }, PAGE) },
    { name: 'tasks of a run', ask: (db, n) => readChosenTasks(db, { runId: run(n) }, PAGE) },
    {
      name: 'trees of a run, by return variance',
      ask: (db, n) => readTrees(db, [{ runId: run(n) }], TREE_ORDERINGS.RETURN_VARIANCE_DESC, PAGE),
    },
    {
      name: 'rollouts of a task',
      ask: (db, n) =>
        readRollouts(db, [{ taskId: idOf(`task${n % 15}`), finished: true }], ROLLOUT_ORDERINGS.FINISHED_DESC, PAGE),
    },
    ...(['RUN', 'TASK', 'DEPTH', 'KIND', 'POLICY_VERSION', 'ENVIRONMENT', 'TOOL'] as const).map(sums),
    {
      name: 'where two trajectories of a tree part',
      ask: async (db, n) => {
        const paths = await readPaths(
          db,
          [leaf(n, 0), leaf(n, 1)].map((id) => ({ treeId: tree(n), id })),
        );
        const steps = new Map((await readStepsById(db, [...paths.values()].flat())).map((step) => [step.id, step]));
        const [one = [], other = []] = [...paths.values()].map((path) => path.flatMap((id) => steps.get(id) ?? []));
        return firstDivergence(one, other);
      },
    },
    { name: 'recall by step', ask: async (db, n) => readTouched(db, await seedOf(db, { kind: 'step', stepId: leaf(n, 3) })) },
    { name: 'metrics of a run, as published', ask: (db, n) => readPublishedMetrics(db, run(n)) },
    {
      name: 'compare two runs',
      ask: (db, n) => compareTaskResults(db, [run(n), run(n + 1)], { confidence: 0.95, resamples: 2_000, seed: 1 }),
    },
  ];
}

/** As `md5(…)::uuid` in the fill. */
export function idOf(name: string): string {
  const hex = createHash('md5').update(name).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
