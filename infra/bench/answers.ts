import { loadavg } from 'node:os';
import { buildTextIndexes, readTextMark } from '../../src/projections/answers/text-indexes.ts';
import { answerQuestions } from './answer-questions.ts';
import { explainQuestion } from './explain-questions.ts';
import { type AnswersFill, eventsOf, fillAnswers, settleAnswers } from './fill-answers.ts';
import type { Figure, Outcome } from './outcome.ts';
import { median, percentile } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';

const FILL: Record<Size, AnswersFill> = {
  full: { trees: 9_000, runs: 20, tasks: 450 }, // 1,000,000 events
  quick: { trees: 60, runs: 4, tasks: 15 },
};
const TIMES: Record<Size, number> = { full: 40, quick: 2 };
const COPIED: Record<Size, number> = { full: 50_000, quick: 500 }; // steps that are written again, for the cost of indexes
const LARGE = 20_000; // rows: reading so many from end to end is what an index is there for
const GOAL_MS = 100;

/**
 * Measures what GraphQL answers questions by over a million events: the 95th percentile of each, and whether a large table is
 * read from end to end; then what the indexes cost who writes steps. `ESPALIER_BENCH_EXPLAIN` names a question whose plan is
 * printed.
 */
export async function benchAnswers(stage: Stage): Promise<Outcome> {
  const database = await stage.database();
  const fill = FILL[stage.size];
  await fillAnswers(database.db, fill);
  await buildTextIndexes(database);
  await settleAnswers(database.db);
  const figures: Figure[] = [];
  const scanned: string[] = [];
  for (const question of answerQuestions({ ...fill, mark: await readTextMark(database.db) })) {
    await question.ask(database.db, 0);
    const taken: number[] = [];
    for (let n = 0; n < TIMES[stage.size]; n++) {
      const began = performance.now();
      await question.ask(database.db, n);
      taken.push(performance.now() - began);
    }
    const goal = { kind: 'below', limit: GOAL_MS } as const;
    figures.push({ name: `${question.name}, p95`, value: percentile(taken, 0.95), unit: 'ms', baseline: null, goal });
    const explained = await explainQuestion(database, question, LARGE);
    if (explained.scanned.length > 0) scanned.push(`${question.name}: ${explained.scanned.join(', ')}`);
    if (process.env.ESPALIER_BENCH_EXPLAIN === question.name) process.stderr.write(`${explained.text}\n`);
  }
  figures.push(...(await costOfIndexes(database, COPIED[stage.size])));
  return {
    bench: 'answers',
    figures,
    conditions: {
      events: eventsOf(fill),
      'each question': `${TIMES[stage.size]} times, of other runs, trees and words`,
      'large tables read from end to end': scanned.length === 0 ? 'none' : scanned.join('; '),
      'load average': loadavg()
        .map((load) => load.toFixed(1))
        .join(' '),
      ...stage.conditions(),
    },
  };
}

const BEFORE = ['create unique index on copied (step_id)', 'create index on copied (tree_id, log_offset)'];
const WITH = [
  'create unique index on copied (step_id)',
  `create index on copied (tree_id, log_offset)
    include (rollout_id, depth, well_formatted, executable, prompt_tokens, completion_tokens, policy_ms, environment_ms)`,
  'create index on copied (tree_id, parent_step_id)',
  'create index on copied (left(action, 200))',
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
