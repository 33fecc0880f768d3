import type { Browser, Page } from 'playwright-core';
import { serveApi } from '../../src/app/serve-api.ts';
import { linkTo } from '../../src/http/local-access.ts';
import type { EventLog, StoredRecord } from '../../src/log/event-log.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { appendTo, projectSlice, testLog } from '../../src/testing/given-events.ts';
import { LOCAL_TOKEN } from '../../src/testing/local-token.ts';
import { testPictures } from '../../src/testing/painted-world.ts';
import { recordBushyTree, recordLongRollout } from '../../src/testing/record-large-trees.ts';
import { openStudioBrowser } from '../../src/testing/studio-browser.ts';
import { type Figure, median } from './bench-result.ts';
import { openStagePlatform, type Size, type Stage, type StageDatabase } from './stage.ts';

const NODES: Record<Size, number> = { full: 10_000, quick: 200 };
const STEPS: Record<Size, number> = { full: 1_000, quick: 50 };
const RUNS: Record<Size, number> = { full: 40, quick: 3 };
const TIMES: Record<Size, number> = { full: 7, quick: 1 };
const SLICE = 1_000; // records of one append
const WAIT_MS = 120_000; // on a loaded machine

/**
 * Measures when the content of views is there, and the script that the first one loads, in Chromium: each in a browser context of
 * its own, so that nothing is cached.
 */
export async function measureViews(stage: Stage): Promise<readonly Figure[]> {
  const platform = await openStagePlatform(stage);
  const { tree, rollout } = await record(await stage.database(), platform.log, stage.size);
  const browser = await openStudioBrowser(); // builds the studio, which the server opens when it starts
  stage.closing(() => browser.close());
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const view = (path: string, isThere: (page: Page) => Promise<void>) =>
    open(browser, server.url, path, isThere, TIMES[stage.size]);
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
