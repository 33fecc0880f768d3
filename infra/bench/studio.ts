import { loadavg } from 'node:os';
import { TOPICS } from '../../src/events/catalogue.ts';
import { buildIndex, readIndexes } from '../../src/projections/answers/build-indexes.ts';
import { buildTextIndexes, readTextMark } from '../../src/projections/answers/text-indexes.ts';
import { projections } from '../../src/projections/registry.ts';
import { browserIsThere } from '../../src/testing/studio-browser.ts';
import { answerQuestions } from './answer-questions.ts';
import { type BenchResult, type Figure, percentile, timed } from './bench-result.ts';
import { countFilled } from './count-filled.ts';
import { type AnswersFill, eventsOf, fillAnswers, settleAnswers } from './fill-answers.ts';
import { operationQuestions } from './operation-questions.ts';
import type { Size, Stage } from './stage.ts';
import { measureViews } from './studio-views.ts';
import { measureWorstQueries } from './worst-queries.ts';

const FILL: Record<Size, AnswersFill> = {
  full: { trees: 18_000, runs: 40, tasks: 900 }, // 2,200,000 events
  quick: { trees: 60, runs: 4, tasks: 15 },
};
const TIMES: Record<Size, number> = { full: 25, quick: 2 };
const LIMIT_MS = 150;

/**
 * Measures every list and page that the studio requests, the example queries and the filters of GraphQL over two million events;
 * what others notice of the worst queries that are allowed; and, where there is a Chromium, how soon views are there.
 */
export async function benchStudio(stage: Stage): Promise<BenchResult> {
  const figures = [...(await measureLists(stage.another())), ...(await measureWorstQueries(stage.another()))];
  if (browserIsThere) figures.push(...(await measureViews(stage)));
  return {
    bench: 'studio',
    figures,
    conditions: {
      events: eventsOf(FILL[stage.size]),
      'each list': `${TIMES[stage.size]} times, of other runs, trees and words`,
      views: browserIsThere ? 'in Chromium, nothing cached' : 'not measured: there is no Chromium here',
      'load average': loadavg()
        .map((load) => load.toFixed(1))
        .join(' '),
      ...stage.conditions(),
    },
  };
}

async function measureLists(stage: Stage): Promise<readonly Figure[]> {
  const database = await stage.database();
  const fill = FILL[stage.size];
  const say = (text: string) => void process.stderr.write(`studio: ${text}\n`);
  await fillAnswers(database.db, fill, say);
  for (const index of await readIndexes(database.db, projections, 'actions')) await buildIndex(database, index);
  say('indexing texts');
  await buildTextIndexes(database);
  await countFilled(database.db);
  await settleAnswers(database.db);
  const log = await stage.embeddedLog(); // an empty one: operations only read how far it reaches
  await log.ensureTopics(TOPICS, 8);
  const mark = await readTextMark(database.db);
  const figures: Figure[] = [];
  for (const question of [...(await operationQuestions(fill, log)), ...answerQuestions({ ...fill, mark })]) {
    await question.ask(database.db, 0);
    const times: number[] = [];
    for (let n = 0; n < TIMES[stage.size]; n++) times.push(1_000 * (await timed(() => question.ask(database.db, n))));
    figures.push({
      name: `${question.name}, p95`,
      value: percentile(times, 0.95),
      unit: 'ms',
      baseline: null,
      floor: { kind: 'below', limit: LIMIT_MS },
    });
  }
  return figures;
}
