import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { prepareEvents } from '../append/prepare-events.ts';
import { createKey } from '../postgres/keys.ts';
import { SILENT } from '../runtime/logger.ts';
import { describeWithBrowser } from '../testing/browser-describe.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { hindrances, openStudioBrowser, openStudioPage } from '../testing/studio-browser.ts';
import { until } from '../testing/until.ts';
import { runAll } from './run-all.ts';

const RENDERER = `export const render = ({ task, steps, at }, h) => h('p', null, 'drawn: ' + task.goal + ', ' + steps[at].observation);`;
const OBSERVATIONS = [
  ['reads 1', 'reads 2', 'reads 3'],
  ['reads 1', 'reads 20', 'reads 30'],
] as const;
const builder = new EventBuilder('views of groups');
const policy = { policyId: 'p', version: 0 };
const runId = builder.run('gauges', { environments: [{ environment: 'gauge', fingerprint: 'f', renderer: RENDERER }], policy });
const task = { taskId: builder.id('task'), environment: 'gauge', serverFingerprint: 'f', observationHash: '0'.repeat(64) };
const tree = builder.tree(runId, 'gauge', {
  observation: 'at the start',
  plannedRollouts: 2,
  task: { ...task, alias: '0', goal: '<b>goal</b>', depth: 1, split: null },
});
const walked = OBSERVATIONS.map((observations, ordinal) => {
  const rolloutId = builder.rollout(tree, ordinal, { policy });
  const steps: string[] = [];
  for (const [place, observation] of observations.entries())
    steps.push(
      builder.step(tree, rolloutId, steps.at(-1) ?? tree.rootStepId, place + 1, { action: `look ${place}`, observation }),
    );
  const leaf = steps.at(-1) ?? '';
  builder.reward(tree, leaf, ordinal);
  builder.finishRollout(tree, rolloutId, leaf, { outcome: 'terminated', success: ordinal === 1, steps: steps.length });
  return { rolloutId, steps, leaf };
});
const revisionId = builder.id('revision');
const [bad, good] = walked as [(typeof walked)[0], (typeof walked)[0]]; // of two rollouts
builder.record(
  'RevisionComposed',
  {
    revisionId,
    treeId: tree.treeId,
    goodLeafStepId: good.leaf,
    badLeafStepId: bad.leaf,
    branchStepId: tree.rootStepId,
    transitionStepId: bad.steps[1] ?? '',
    transitionCause: 'bad',
    judged: 1,
    reflection: 'I read it wrong',
    signal: 'thought',
    alpha: 0.5,
    beta: 0.2,
    judge: { name: 'j', revision: '1' },
    contentHash: 'e'.repeat(64),
  },
  runId,
);

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let server: Awaited<ReturnType<typeof runAll>>;
let browser: Browser;
let page: Page;
let wrong: readonly string[];

/** Views of environments in groups, diffs and revisions. */
describeWithBrowser('views of environments next to each other', () => {
  beforeAll(async () => {
    browser = await openStudioBrowser();
    platform = await openTestPlatform();
    server = await runAll(platform, SILENT);
    await platform.log.append(
      await prepareEvents(builder.events, platform.blobs, { principal: 'key:gauges', project: 'gauges' }),
    );
    const { db } = platform.database;
    for (const table of ['revisions', 'renderers'] as const)
      await until(async () => (await db.selectFrom(table).select('runId').execute()).length > 0);
    await until(
      async () => (await db.selectFrom('rollouts').select('runId').where('finishedAt', 'is not', null).execute()).length === 2,
    );
  }, 480_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await platform?.close();
  });
  beforeEach(async () => {
    ({ page, wrong } = await openStudioPage(browser, `${server.url}/?token=${LOCAL.authorization.replace('Bearer ', '')}`));
  });
  afterEach(async () => {
    await page.context().close();
    expect(wrong).toEqual([]);
  });

  const open = (path: string) => page.goto(`${server.url}${path}`);
  const drawn = (name: string) => page.frameLocator(`iframe[title="The view of gauge, ${name}"]`);
  const narrow = async () => {
    expect(await hindrances(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  };

  test('a group draws the ends of its rollouts when it is asked to', async () => {
    await open(`/view/group/${tree.treeId}`);
    await page.getByText('The ends, as gauge draws them').click();
    await drawn('rollout 0').getByText('drawn: <b>goal</b>, reads 3').waitFor();
    await drawn('rollout 1').getByText('drawn: <b>goal</b>, reads 30').waitFor();
    await narrow();
  });

  test('a diff draws both sides where they part, and at any other place', async () => {
    await open(`/view/diff?a=${bad.rolloutId}&b=${good.rolloutId}`);
    await drawn('rollout 0, step 2').getByText('reads 2').waitFor();
    await drawn('rollout 1, step 2').getByText('reads 20').waitFor();
    await page.getByRole('slider', { name: 'drawn at' }).press('Home');
    await drawn('rollout 0, start').getByText('at the start').waitFor();
    await narrow();
  });

  test('a revision draws where the bad trajectory was given up, and both ends', async () => {
    await open(`/view/revision/${revisionId}`);
    await page.getByText('As gauge draws it').click();
    await drawn('given up here, step 2').getByText('reads 2').waitFor();
    await drawn('the end of the bad trajectory').getByText('reads 3').waitFor();
    await drawn('the end of the good trajectory').getByText('reads 30').waitFor();
    await narrow();
  });

  test('what could not be read of a page is named on it, once, and is gone from it when it is read again', async () => {
    let broken = true;
    await page.route('**/graphql', async (route) => {
      if (!broken || !route.request().postData()?.includes('query RunTrees')) return route.continue();
      const answer = await route.fetch();
      const { data } = (await answer.json()) as { data: { trees: { nodes: { rollouts: null }[] } } };
      const path = (at: number) => ['trees', 'nodes', at, 'returnVariance'];
      const errors = [0, 1].map((at) => ({ message: 'it is <b>gone</b>', path: path(at), extensions: { code: 'FORGOTTEN' } }));
      await route.fulfill({ response: answer, json: { data, errors } });
    });
    await open(`/view/run/${runId}`);
    await page.getByRole('alert').getByText('trees.nodes.returnVariance, in 2 places: it is <b>gone</b> (FORGOTTEN)').waitFor();
    expect(await page.getByText('Not everything on this page could be read.').count()).toBe(1);
    await page.locator('.heat-task').first().waitFor();
    await narrow();
    broken = false;
    await page.getByLabel('in order of').selectOption('OPENED_DESC');
    await until(async () => (await page.getByText('Not everything on this page could be read.').count()) === 0);
  });

  test('a run shows the interval of its success in numbers; the marks of lengths and returns are one stop of the keyboard, arrows go through them, and Enter opens a trajectory', async () => {
    await open(`/view/run/${runId}`);
    await page
      .locator('.figure', { hasText: 'success' })
      .getByText(/^95 %: [\d.]+ % to [\d.]+ %$/)
      .waitFor();
    const stop = page.locator('.points > [tabindex="0"]');
    await stop.focus();
    const reached = page.locator('.chart-reached');
    await reached.filter({ hasText: 'rollout 1: 3 actions, return 1, success, Enter opens' }).waitFor(); // the last one is asked first
    await page.keyboard.press('ArrowRight');
    await reached.filter({ hasText: 'rollout 0: 3 actions, return 0, terminated, Enter opens' }).waitFor();
    await page.keyboard.press('Home');
    await reached.filter({ hasText: 'rollout 1' }).waitFor();
    expect(await stop.count()).toBe(1);
    expect(await hindrances(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await until(async () => new URL(page.url()).pathname === `/view/trajectory/${good.rolloutId}`);
  });

  test('what two trees have under one id is shown of its own tree, by every link', async () => {
    const shared = new EventBuilder('one id');
    const run = shared.run('one id');
    const id = shared.id('of both');
    const trees = ['one', 'two'].map((name) => {
      const tree = shared.tree(run, name, { plannedRollouts: 2 });
      shared.rollout(tree, 0, { rolloutId: id });
      shared.step(tree, id, tree.rootStepId, 1, { stepId: id, action: `turn of ${name}` });
      shared.finishRollout(tree, id, id, { outcome: 'terminated', steps: 1 });
      shared.walk(tree, 1, 1, 0);
      return { name, treeId: tree.treeId };
    });
    await platform.log.append(await prepareEvents(shared.events, platform.blobs, { principal: 'key:gauges', project: 'gauges' }));
    const { db } = platform.database;
    const ended = () => db.selectFrom('rollouts').select('runId').where('runId', '=', run).where('finishedAt', 'is not', null);
    await until(async () => (await ended().execute()).length === 4);
    for (const { name, treeId } of trees) {
      await open(`/view/group/${treeId}`);
      await page.getByRole('link', { name: 'rollout 0', exact: true }).click();
      await page.locator('.action', { hasText: `turn of ${name}` }).waitFor();
      await page.getByRole('button', { name: 'Events and lineage' }).click();
      await page.getByText('StepTaken').first().waitFor();
      await page.getByRole('link', { name: 'Diff with rollout 1' }).click();
      await page.getByText('They part at step 1: another action was taken.').waitFor();
      await page.locator('.diff', { hasText: `turn of ${name}` }).waitFor();
      await page.getByRole('button', { name: 'Swap' }).click();
      await page.locator('.diff', { hasText: `turn of ${name}` }).waitFor();
      await open(`/view/tree/${treeId}?step=${id}`);
      await page.locator('aside .action', { hasText: `turn of ${name}` }).waitFor();
    }
  });

  test('eight tabs of one browser follow the record by one stream, and the others go on when the tab that holds it is closed', async () => {
    await page.getByText('live', { exact: true }).waitFor(); // it holds the stream
    const context = page.context();
    let streams = 0; // that are opened from here on
    context.on('request', (request) => {
      if (request.postData()?.includes('subscription Live')) streams++;
    });
    const tabs: Page[] = [];
    for (let i = 0; i < 7; i++) {
      const tab = await context.newPage();
      await tab.goto(server.url);
      await tab.getByText('live', { exact: true }).waitFor();
      tabs.push(tab);
    }
    expect(streams).toBe(0);
    const everySees = async (name: string) => {
      const later = new EventBuilder(name);
      later.run(name, { name });
      await platform.log.append(
        await prepareEvents(later.events, platform.blobs, { principal: 'key:gauges', project: 'gauges' }),
      );
      for (const tab of tabs) await tab.getByRole('link', { name }).waitFor();
    };
    await everySees('a second run');
    await page.close();
    await everySees('a third run');
    expect(streams).toBe(1);
  });

  test("a key of another project reads no renderer of the run, by no way, and one of the run's own does", async () => {
    const { db } = platform.database;
    const ways = [
      `{ run(id: "${runId}") { environments { renderer { source } } } }`,
      `{ runs(first: 10) { nodes { environments { renderer { sha256 source } } } } }`,
      `{ tree(id: "${tree.treeId}") { run { environments { renderer { source } } } } }`,
      `{ rollout(id: "${bad.rolloutId}") { run { environments { renderer { source } } } } }`,
      `{ revision(id: "${revisionId}") { tree { run { environments { renderer { source } } } } } }`,
    ];
    for (const [project, reads] of [
      ['other', false],
      ['gauges', true],
    ] as const) {
      const { key } = await createKey(db, { name: project, scopes: ['read'], projects: [project] });
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      for (const query of ways) {
        const answer = await (
          await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
        ).text();
        expect([query, answer.includes('drawn: ')]).toEqual([query, reads]);
      }
      for (const id of [runId, tree.treeId, bad.rolloutId]) {
        const answer = await fetch(`${server.url}/v1/pages?id=${id}`, { headers });
        const text = await answer.text();
        expect([answer.ok, text.includes('drawn: '), answer.ok === reads ? '' : text]).toEqual([reads, reads, '']);
      }
    }
  });
});
