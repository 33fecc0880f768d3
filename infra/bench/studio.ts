import { loadavg } from 'node:os';
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
import { openStudioBrowser, openStudioPage } from '../../src/testing/studio-browser.ts';
import { type Figure, isMet, type Outcome } from './outcome.ts';
import { median, percentile } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';
import { choosePoints, fillSamples } from './studio-samples.ts';

const NODES: Record<Size, number> = { full: 10_000, quick: 200 };
const STEPS: Record<Size, number> = { full: 1_000, quick: 50 };
const RUNS: Record<Size, number> = { full: 40, quick: 3 };
const TIMES: Record<Size, number> = { full: 7, quick: 1 };
const FRAMES = 90;
const SLICE = 1_000; // records of one append

/** What is in the page: the times between frames while something moves. */
const WATCH_FRAMES = `new Promise((resolve) => {
  const times = [];
  let last = performance.now();
  const next = (now) => { times.push(now - last); last = now; times.length < ${FRAMES} ? requestAnimationFrame(next) : resolve(times); };
  requestAnimationFrame(next);
})`;

/**
 * Measures the studio in Chromium, each view in a browser context of its own, so that nothing is kept from the one before: when
 * its content is there, how much script the first view loads, and the time between frames while a tree is moved and a trajectory
 * scrolled; then, over a million events, the way from a point of a curve to its samples.
 */
export async function benchStudio(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const { tree, rollout } = await record(await stage.database(), platform.log, stage.size);
  const browser = await openStudioBrowser(); // builds the studio, which the server opens when it starts
  stage.closing(() => browser.close());
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const times = TIMES[stage.size];
  const view = (path: string, there: (page: Page) => Promise<void>) => open(browser, server.url, path, there, times);
  const runs = await view('/', (page) => page.locator('tbody tr').first().waitFor());
  const drawn = await view(`/view/tree/${tree}`, isDrawn);
  const walked = await view(`/view/trajectory/${rollout}`, (page) => page.getByText('action 1', { exact: true }).waitFor());
  const frames = await pan(browser, server.url, `/view/tree/${tree}`);
  const scrolled = await scroll(browser, server.url, `/view/trajectory/${rollout}`);
  const say = (text: string) => void process.stderr.write(`studio: ${text}\n`);
  const measured = { runs: median(runs.milliseconds), tree: median(drawn.milliseconds), trajectory: median(walked.milliseconds) };
  say(`opened, ms: ${JSON.stringify(measured)}; frames, ms: ${percentile(frames, 0.95)} and ${percentile(scrolled, 0.95)}`);
  const many = await serveMany(stage, say);
  const { page } = await openStudioPage(browser, linkTo(many.url, '/', LOCAL_TOKEN));
  const chosen = await choosePoints(page, many.url, stage.size);
  const figure = (name: string, value: number, unit: 'ms' | 'bytes', limit: number): Figure => ({
    name,
    value,
    unit,
    baseline: null,
    goal: { kind: 'below', limit },
  });
  const figures = [
    figure('list of runs until its first row, median', measured.runs, 'ms', 1_000),
    figure('script of the first view, compressed', runs.scripts, 'bytes', 300_000),
    figure(`tree of ${NODES[stage.size]} nodes drawn, median`, measured.tree, 'ms', 1_000),
    figure('time between frames while the tree is moved, p95', percentile(frames, 0.95), 'ms', 50),
    figure(`trajectory of ${STEPS[stage.size]} steps with pictures opened, median`, measured.trajectory, 'ms', 1_000),
    figure('time between frames while the trajectory is scrolled, p95', percentile(scrolled, 0.95), 'ms', 50),
    figure(`a point of a curve to its samples over ${many.events} events, p95`, percentile(chosen, 0.95), 'ms', 300),
  ];
  return {
    bench: 'studio',
    figures,
    failures: stage.size === 'quick' ? [] : figures.filter((each) => !isMet(each)).map(({ name }) => `${name} misses its goal`),
    conditions: {
      runs: RUNS[stage.size],
      'each view': `${times} times, nothing cached`,
      'points of a curve': chosen.length,
      'load average': loadavg()
        .map((load) => load.toFixed(1))
        .join(' '),
      browser: browser.version(),
      ...stage.conditions(),
    },
  };
}

/** Serves another record, of many events: filling takes tables that are empty. */
async function serveMany(stage: Stage, say: (text: string) => void): Promise<{ readonly url: string; readonly events: number }> {
  const another = stage.another();
  const platform = await openStagePlatform(another);
  const events = await fillSamples((await another.database()).db, stage.size, say);
  const server = await serveApi(platform, SILENT);
  another.closing(() => server.close());
  return { url: server.url, events };
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

/** Waits until a tree is there and on the screen. */
async function isDrawn(page: Page): Promise<void> {
  await page.getByRole('application').waitFor();
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

/** Opens a view several times, each in a new context that the link lets in first. */
async function open(browser: Browser, url: string, path: string, there: (page: Page) => Promise<void>, times: number) {
  const milliseconds: number[] = [];
  let scripts = 0;
  for (let n = 0; n <= times; n++) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    await context.request.get(linkTo(url, '/healthz', LOCAL_TOKEN)); // the cookie, and nothing of the pages
    const page = await context.newPage();
    let loaded = 0;
    page.on('requestfinished', async (request) => {
      if (request.url().endsWith('.js'))
        loaded += (await request.sizes().catch(() => ({ responseBodySize: 0 }))).responseBodySize;
    });
    const began = performance.now();
    await page.goto(`${url}${path}`);
    await there(page);
    if (n > 0) milliseconds.push(performance.now() - began); // the first warms the server up
    await page.waitForTimeout(200);
    scripts = loaded;
    await context.close();
  }
  return { milliseconds, scripts };
}

/** Moves a tree by the pointer, and returns the milliseconds between the frames meanwhile. */
async function pan(browser: Browser, url: string, path: string): Promise<readonly number[]> {
  const { page } = await openStudioPage(browser, linkTo(url, '/', LOCAL_TOKEN));
  await page.goto(`${url}${path}`);
  await isDrawn(page);
  const box = await page.locator('.tree-canvas canvas').boundingBox();
  const [x, y] = [(box?.x ?? 0) + 300, (box?.y ?? 0) + 200];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const frames = await framesWhile(page, (step) => page.mouse.move(x + 150 * Math.sin(step / 9), y + 100 * Math.cos(step / 7)));
  await page.mouse.up();
  await page.context().close();
  return frames;
}

/** Scrolls a trajectory by the wheel, and returns the milliseconds between the frames meanwhile. */
async function scroll(browser: Browser, url: string, path: string): Promise<readonly number[]> {
  const { page } = await openStudioPage(browser, linkTo(url, '/', LOCAL_TOKEN));
  await page.goto(`${url}${path}`);
  await page.getByText('action 1', { exact: true }).waitFor();
  const frames = await framesWhile(page, () => page.mouse.wheel(0, 120));
  await page.context().close();
  return frames;
}

/** Moves something step by step, and returns the milliseconds between the frames meanwhile. */
async function framesWhile(page: Page, move: (step: number) => Promise<void>): Promise<readonly number[]> {
  const frames = page.evaluate(WATCH_FRAMES) as Promise<readonly number[]>;
  let moving = true;
  void frames.finally(() => {
    moving = false;
  });
  for (let step = 0; moving; step++) await move(step);
  return frames;
}
