import { loadavg } from 'node:os';
import { buildIndex, readIndexes } from '../../src/projections/answers/build-indexes.ts';
import { buildTextIndexes, readTextMark } from '../../src/projections/answers/text-indexes.ts';
import { projections } from '../../src/projections/registry.ts';
import { answerQuestions } from './answer-questions.ts';
import { explainQuestion } from './explain-questions.ts';
import { type AnswersFill, eventsOf, fillAnswers, settleAnswers } from './fill-answers.ts';
import { type Figure, isMet, type Outcome } from './outcome.ts';
import { cpuSeconds, serverOf } from './paired/cpu-seconds.ts';
import { median, percentile } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';

const FILL: Record<Size, AnswersFill> = {
  full: { trees: 9_000, runs: 20, tasks: 450 }, // 1,000,000 events
  quick: { trees: 60, runs: 4, tasks: 15 },
};
const TIMES: Record<Size, number> = { full: 25, quick: 2 };
const COPIED: Record<Size, number> = { full: 10_000, quick: 500 }; // steps that are written again, for the cost of indexes
const LARGE = 1_000; // rows: to spare reading so many one after the other is what an index is there for
const GOAL_MS = 100;

/**
 * Measures what GraphQL answers questions by over a million events: the 95th percentile of each, the CPU that it takes, which a
 * loaded machine does not change, and whether a large table is read sequentially; then what the indexes cost who writes steps.
 * The bench fails on such a reading, and on a percentile over its goal.
 * `ESPALIER_BENCH_EXPLAIN` names a question whose plan is printed.
 */
export async function benchAnswers(stage: Stage): Promise<Outcome> {
  const database = await stage.database();
  const fill = FILL[stage.size];
  const began = performance.now();
  const say = (text: string) =>
    void process.stderr.write(`answers: ${((performance.now() - began) / 1_000).toFixed(0)} s, ${text}\n`);
  await fillAnswers(database.db, fill, say);
  for (const index of await readIndexes(database.db, projections, 'actions')) await buildIndex(database, index);
  say('indexing texts');
  await buildTextIndexes(database);
  say('gathering statistics');
  await settleAnswers(database.db);
  const cpu = await meterOf(database);
  const figures: Figure[] = [];
  const scanned: string[] = [];
  for (const question of answerQuestions({ ...fill, mark: await readTextMark(database.db) })) {
    await question.ask(database.db, 0);
    const taken: number[] = [];
    const used = await cpu(async () => {
      for (let n = 0; n < TIMES[stage.size]; n++) {
        const asked = performance.now();
        await question.ask(database.db, n);
        taken.push(performance.now() - asked);
      }
    });
    const [p95, mean] = [percentile(taken, 0.95), used === null ? null : used / taken.length];
    say(`${question.name}: p95 ${p95.toFixed(1)} ms${mean === null ? '' : `, CPU ${mean.toFixed(1)} ms`}`);
    const goal = { kind: 'below', limit: GOAL_MS } as const;
    figures.push({ name: `${question.name}, p95`, value: p95, unit: 'ms', baseline: null, goal });
    if (mean !== null)
      figures.push({ name: `${question.name}, mean CPU of Postgres`, value: mean, unit: 'ms', baseline: null, goal: null });
    const explained = await explainQuestion(database, question, LARGE);
    if (explained.scanned.length > 0) scanned.push(`${question.name}: ${explained.scanned.join(', ')}`);
    if (process.env.ESPALIER_BENCH_EXPLAIN === question.name) process.stderr.write(`${explained.text}\n`);
  }
  say('what indexes cost');
  figures.push(...(await costOfIndexes(database, COPIED[stage.size])));
  return {
    bench: 'answers',
    figures,
    conditions: {
      events: eventsOf(fill),
      'each question': `${TIMES[stage.size]} times, of other runs, trees and words`,
      'large tables read by a sequential scan': scanned.length === 0 ? 'none' : scanned.join('; '),
      'load average': loadavg()
        .map((load) => load.toFixed(1))
        .join(' '),
      ...stage.conditions(),
    },
    failures: stage.size === 'quick' ? [] : failuresOf(figures, scanned), // of few rows the planner reads all
  };
}

/** What makes the bench fail: sequential scans, and figures that miss their goals. */
export function failuresOf(figures: readonly Figure[], scanned: readonly string[]): readonly string[] {
  const late = figures.filter((figure) => isMet(figure) === false);
  return [
    ...scanned.map((reading) => `sequential scan of ${LARGE} rows or more: ${reading}`),
    ...late.map(({ name, value, unit }) => `${name}: ${value.toFixed(1)} ${unit}, goal < ${GOAL_MS} ${unit}`),
  ];
}

/** Returns what measures the milliseconds of CPU that Postgres spends on a work; null of a server that is not of this machine. */
async function meterOf({ pool }: StageDatabase): Promise<(work: () => Promise<void>) => Promise<number | null>> {
  if (process.env.DATABASE_URL)
    return async (work) => {
      await work();
      return null;
    };
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const server = await serverOf(rows[0]?.pid ?? 0);
  return async (work) => {
    const before = await cpuSeconds(server);
    await work();
    return ((await cpuSeconds(server)).postgres - before.postgres) * 1_000;
  };
}

const BEFORE = ['create unique index on copied (step_id)', 'create index on copied (tree_id, log_offset)'];
const WITH = [
  'create unique index on copied (step_id)',
  `create index on copied (tree_id, log_offset)
    include (step_id, rollout_id, depth, well_formatted, executable, prompt_tokens, completion_tokens, policy_ms, environment_ms)`,
  'create index on copied (tree_id, parent_step_id)',
  'create index on copied (occurred_at, step_id)',
];
const TEXT = `create index on copied using gin (to_tsvector('english'::regconfig, observation || ' ' || action || ' ' || thought))`;

/** Writes the same steps into a table with the indexes that there were, with those of now, and with that of texts, in turns. */
async function costOfIndexes({ pool }: StageDatabase, steps: number): Promise<readonly Figure[]> {
  const kinds = { before: BEFORE, now: WITH, text: [...WITH, TEXT] };
  const taken: Record<keyof typeof kinds, number[]> = { before: [], now: [], text: [] };
  const client = await pool.connect();
  try {
    await client.query(`create temporary table sample as select * from steps where depth > 0 limit ${steps}`);
    for (let round = 0; round < 3; round++)
      for (const kind of ['before', 'now', 'text'] as const) {
        await client.query('create temporary table copied (like sample)');
        for (const statement of kinds[kind]) await client.query(statement);
        const began = performance.now();
        for (let from = 0; from < steps; from += 1_000)
          await client.query('insert into copied select * from sample offset $1 limit 1000', [from]);
        taken[kind].push((performance.now() - began) / steps);
        await client.query('drop table copied');
      }
  } finally {
    client.release(true);
  }
  const baseline = { name: 'with the two indexes before', value: median(taken.before), unit: 'ms' } as const;
  return [
    { name: 'a step written, with the indexes of questions', value: median(taken.now), unit: 'ms', baseline, goal: null },
    { name: 'a step written, with full text too', value: median(taken.text), unit: 'ms', baseline, goal: null },
  ];
}
