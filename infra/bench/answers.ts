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
import { percentile } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';

const FILL: Record<Size, AnswersFill> = {
  full: { trees: 18_000, runs: 40, tasks: 900 }, // 2,200,000 events
  quick: { trees: 60, runs: 4, tasks: 15 },
};
const TIMES: Record<Size, number> = { full: 25, quick: 2 };
const LARGE = 1_000; // rows: to spare reading so many one after the other is what an index is there for
const GOAL_MS = 50;

/**
 * Measures what GraphQL answers questions by, and the lists of the studio, over two million events: the 95th percentile of each,
 * and whether a large table is read sequentially.
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
  const figures: Figure[] = [];
  const scanned: string[] = [];
  const mark = await readTextMark(database.db);
  const only = new RegExp(process.env.ESPALIER_BENCH_ONLY ?? '');
  const questions = [...answerQuestions({ ...fill, mark }), ...(await operationQuestions(fill, await logOf(stage)))];
  for (const question of questions.filter(({ name }) => only.test(name))) {
    await question.ask(database.db, 0);
    const taken: number[] = [];
    for (let n = 0; n < TIMES[stage.size]; n++) {
      const asked = performance.now();
      await question.ask(database.db, n);
      taken.push(performance.now() - asked);
    }
    const p95 = percentile(taken, 0.95);
    say(`${question.name}: p95 ${p95.toFixed(1)} ms`);
    const goal = { kind: 'below', limit: GOAL_MS } as const;
    figures.push({ name: `${question.name}, p95`, value: p95, unit: 'ms', baseline: null, goal });
    const explained = await explainQuestion(database, question, LARGE);
    if (explained.scanned.length > 0) scanned.push(`${question.name}: ${explained.scanned.join(', ')}`);
    if (process.env.ESPALIER_BENCH_EXPLAIN === question.name) process.stderr.write(`${explained.text}\n`);
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
