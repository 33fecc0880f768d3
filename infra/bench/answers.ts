import { loadavg } from 'node:os';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { buildIndex, readIndexes } from '../../src/projections/answers/build-indexes.ts';
import { buildTextIndexes, readTextMark } from '../../src/projections/answers/text-indexes.ts';
import { projections } from '../../src/projections/registry.ts';
import { countRunsAgain } from '../../src/projections/runs/count-again.ts';
import { answerQuestions } from './answer-questions.ts';
import { explainQuestion } from './explain-questions.ts';
import { type AnswersFill, eventsOf, fillAnswers, type Saying, settleAnswers } from './fill-answers.ts';
import { operationQuestions } from './operation-questions.ts';
import { type Figure, isMet, type Outcome } from './outcome.ts';
import { cpuSeconds, serverOf } from './paired/cpu-seconds.ts';
import { median, percentile } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';

const FILL: Record<Size, AnswersFill> = {
  full: { trees: 18_000, runs: 40, tasks: 900 }, // 2,200,000 events
  quick: { trees: 60, runs: 4, tasks: 15 },
};
const TIMES: Record<Size, number> = { full: 25, quick: 2 };
const COPIED: Record<Size, number> = { full: 10_000, quick: 500 }; // steps that are written again, for the cost of indexes
const LARGE = 1_000; // rows: to spare reading so many one after the other is what an index is there for
const GOAL_MS = 50;

/**
 * Measures what GraphQL answers questions by, and the lists of the studio, over two million events: the 95th percentile of each,
 * the CPU that it takes, which a loaded machine changes less, and whether a large table is read sequentially; then what the
 * indexes cost who writes steps.
 * The bench fails on such a reading, and on a percentile over its goal.
 * `ESPALIER_BENCH_EXPLAIN` names a question whose plan is printed, `ESPALIER_BENCH_ONLY` is a regular expression for the names of
 * those that are asked, `ESPALIER_BENCH_TREES` another number of trees (110 events each), `ESPALIER_BENCH_KEEP` a folder for the
 * database, which a later run finds filled.
 */
export async function benchAnswers(stage: Stage): Promise<Outcome> {
  const database = await stage.database();
  const fill = fillOf(stage.size);
  const began = performance.now();
  const say = (text: string) =>
    void process.stderr.write(`answers: ${((performance.now() - began) / 1_000).toFixed(0)} s, ${text}\n`);
  await fillOnce(database, fill, say);
  const cpu = await meterOf(database);
  const figures: Figure[] = [];
  const scanned: string[] = [];
  const mark = await readTextMark(database.db);
  const only = new RegExp(process.env.ESPALIER_BENCH_ONLY ?? '');
  const questions = [...answerQuestions({ ...fill, mark }), ...(await operationQuestions(fill, await logOf(stage)))];
  for (const question of questions.filter(({ name }) => only.test(name))) {
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
  if (process.env.ESPALIER_BENCH_ONLY === undefined) {
    say('what indexes cost');
    figures.push(...(await costOfIndexes(database, COPIED[stage.size])));
  }
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

/** An empty log: what operations say of it is how far it reaches. */
async function logOf(stage: Stage): Promise<EventLog> {
  const log = await stage.embeddedLog();
  await log.ensureTopics(TOPICS, 8);
  return log;
}

function fillOf(size: Size): AnswersFill {
  const trees = Number(process.env.ESPALIER_BENCH_TREES ?? FILL[size].trees);
  if (!Number.isInteger(trees) || trees < 60) throw new Error('ESPALIER_BENCH_TREES is a number of trees from 60');
  const { runs, tasks } = FILL[size];
  const share = trees / FILL[size].trees;
  return { trees, runs: Math.max(4, Math.round(runs * share)), tasks: Math.max(15, Math.round(tasks * share)) };
}

/** Fills a database, unless it is a kept one that has been filled before. */
async function fillOnce(database: StageDatabase, fill: AnswersFill, say: Saying): Promise<void> {
  const { rows } = await database.pool.query<{ trees: number }>('select count(*)::int as trees from trees');
  if (rows[0]?.trees === fill.trees) return;
  if (rows[0]?.trees !== 0) throw new Error(`the kept database holds ${rows[0]?.trees} trees, not ${fill.trees}`);
  await fillAnswers(database.db, fill, say);
  for (const index of await readIndexes(database.db, projections, 'actions')) await buildIndex(database, index);
  say('indexing texts');
  await buildTextIndexes(database);
  await countRunsAgain(database.db);
  say('gathering statistics');
  await settleAnswers(database.db);
}

/** What makes the bench fail: sequential scans, and figures that miss their goals. */
export function failuresOf(figures: readonly Figure[], scanned: readonly string[]): readonly string[] {
  const late = figures.filter((figure) => isMet(figure) === false);
  return [
    ...scanned.map((reading) => `sequential scan of ${LARGE} rows or more: ${reading}`),
    ...late.map(({ name, value, unit, goal }) => {
      const limit = goal?.kind === 'below' ? goal.limit : 0; // a late figure has such a goal
      return `${name}: ${value.toFixed(1)} ${unit}, goal < ${limit} ${unit}`;
    }),
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
