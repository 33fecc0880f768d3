import { loadavg } from 'node:os';
import { type RawBuilder, sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { serveApi } from '../../src/app/serve-api.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { linkTo } from '../../src/http/local-access.ts';
import type { EventLog, StoredRecord } from '../../src/log/event-log.ts';
import type { Db } from '../../src/postgres/database.ts';
import { buildIndex, readIndexes } from '../../src/projections/analysis/build-indexes.ts';
import { buildTextIndexes, readTextMark } from '../../src/projections/analysis/text-indexes.ts';
import { projections } from '../../src/projections/registry.ts';
import { KEPT_COUNTS } from '../../src/projections/runs/find-miscounted.ts';
import { settleRuns } from '../../src/projections/training-pool/settled-samples.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { appendTo, projectSlice, testLog } from '../../src/testing/given-events.ts';
import { LOCAL_TOKEN } from '../../src/testing/local-token.ts';
import { testPictures } from '../../src/testing/painted-world.ts';
import { recordBushyTree, recordLongRollout } from '../../src/testing/record-large-trees.ts';
import { browserIsThere, openStudioBrowser } from '../../src/testing/studio-browser.ts';
import { answerQuestions } from './answer-questions.ts';
import { type BenchResult, type Figure, median, percentile, timed } from './bench-result.ts';
import { type AnswersFill, eventsOf, fillAnswers, settleAnswers } from './fill-answers.ts';
import { operationQuestions } from './operation-questions.ts';
import { openStagePlatform, type Size, type Stage, type StageDatabase } from './stage.ts';
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

const NODES: Record<Size, number> = { full: 10_000, quick: 200 };
const STEPS: Record<Size, number> = { full: 1_000, quick: 50 };
const RUNS: Record<Size, number> = { full: 40, quick: 3 };
const VIEW_TIMES: Record<Size, number> = { full: 7, quick: 1 };
const SLICE = 1_000; // records of one append
const WAIT_MS = 120_000; // on a loaded machine

/**
 * Measures when the content of views is there, and the script that the first one loads, in Chromium: each in a browser context of
 * its own, so that nothing is cached.
 */
async function measureViews(stage: Stage): Promise<readonly Figure[]> {
  const platform = await openStagePlatform(stage);
  const { tree, rollout } = await record(await stage.database(), platform.log, stage.size);
  const browser = await openStudioBrowser(); // builds the studio, which the server opens when it starts
  stage.closing(() => browser.close());
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const view = (path: string, isThere: (page: Page) => Promise<void>) =>
    open(browser, server.url, path, isThere, VIEW_TIMES[stage.size]);
  const runs = await view('/', (page) => page.locator('tbody tr').first().waitFor());
  const drawn = await view(`/view/tree/${tree}`, isDrawn);
  const walked = await view(`/view/trajectory/${rollout}`, (page) => page.getByText('action 1', { exact: true }).waitFor());
  const figure = (name: string, value: number, unit: 'ms' | 'bytes'): Figure => ({
    name,
    value,
    unit,
    baseline: null,
    floor: null,
  });
  return [
    figure('list of runs until its first row, median', median(runs.milliseconds), 'ms'),
    figure('script of the first view, compressed', runs.scripts, 'bytes'),
    figure(`tree of ${NODES[stage.size]} nodes drawn, median`, median(drawn.milliseconds), 'ms'),
    figure(`trajectory of ${STEPS[stage.size]} steps with pictures opened, median`, median(walked.milliseconds), 'ms'),
  ];
}

async function record(
  database: StageDatabase,
  events: EventLog,
  size: Size,
): Promise<{ readonly tree: string; readonly rollout: string }> {
  const builder = new EventBuilder('studio bench');
  for (let run = 0; run < RUNS[size]; run++) {
    const id = builder.run(`run ${run}`, { name: `run ${run}` });
    recordLongRollout(builder, id, 20);
  }
  const run = builder.run('large', { name: 'large' });
  const { red } = await testPictures();
  const tree = recordBushyTree(builder, run, NODES[size]);
  const rollout = recordLongRollout(builder, run, STEPS[size], red.data);
  const log = testLog();
  appendTo(log, builder.events);
  for (const [topic, records] of log.topics) {
    await fill(events, topic, records);
    await projectSlice(database.db, log, topic, 0, records.length);
  }
  await database.pool.query('analyze');
  return { tree, rollout };
}

/** Appends records to one partition: a page follows the log from its end, so that nothing seems to happen meanwhile. */
async function fill(log: EventLog, topic: string, records: readonly StoredRecord[]): Promise<void> {
  for (let from = 0; from < records.length; from += SLICE) {
    const slice = records.slice(from, from + SLICE);
    await log.append(slice.map(({ key, value }) => ({ topic, key: key ?? 'none', partition: 0, value })));
  }
}

/** Waits until a tree is on the screen. */
async function isDrawn(page: Page): Promise<void> {
  await page.getByRole('application').waitFor();
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

/** Opens a view several times, each in a new context that the link lets in first. */
async function open(browser: Browser, url: string, path: string, isThere: (page: Page) => Promise<void>, times: number) {
  const milliseconds: number[] = [];
  let scripts = 0;
  for (let n = 0; n <= times; n++) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    await context.request.get(linkTo(url, '/healthz', LOCAL_TOKEN)); // the cookie, and nothing of the pages
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    let loaded = 0;
    page.on('requestfinished', async (request) => {
      if (request.url().endsWith('.js'))
        loaded += (await request.sizes().catch(() => ({ responseBodySize: 0 }))).responseBodySize;
    });
    const began = performance.now();
    await page.goto(`${url}${path}`);
    await isThere(page);
    if (n > 0) milliseconds.push(performance.now() - began); // the first warms the server up
    await page.waitForTimeout(200);
    scripts = loaded;
    await context.close();
  }
  return { milliseconds, scripts };
}

/** Counts what folds would have counted of rows that were filled in by statements. */
async function countFilled(db: Db): Promise<void> {
  const insert = (table: string, columns: readonly string[], rows: RawBuilder<unknown>) =>
    sql`insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))}) ${rows}`.execute(db);
  for (const { table, columns, full } of KEPT_COUNTS) await insert(table, columns, sql.raw(full));
  await settleRuns(db);
}
