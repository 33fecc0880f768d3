import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { Platform } from '../platform/open-platform.ts';
import { describeWithBrowser } from '../testing/browser-describe.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { testPictures } from '../testing/painted-world.ts';
import { appendRecorded } from '../testing/record-batches.ts';
import { hindrances, openStudioBrowser } from '../testing/studio-browser.ts';
import { until } from '../testing/until.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

const HOSTILE = 'needle </script><script>alert(1)</script><!-- <script> \u2028 \u202egnp.exe {"$":3} \u0007';
const PAGE_BYTES = 2 * 2 ** 20; // of a page without its data

let platform: Platform & { readonly home: string };
let browser: Browser;
let file: string;
const ids = { run: '', tree: '', rollout: '', other: '' };
const espalier = (...args: readonly string[]) => runInProcess([...args], environmentOf(platform));

/** Pages that open without a server. */
describeWithBrowser('a page that opens without a server', () => {
  beforeAll(async () => {
    browser = await openStudioBrowser();
    platform = await openTestPlatform();
    const { noise } = await testPictures();
    const builder = new EventBuilder('page');
    ids.run = builder.run('shared', { name: HOSTILE });
    const tree = builder.tree(ids.run, 'shared', { instruction: HOSTILE, observation: HOSTILE, plannedRollouts: 2 });
    ids.tree = tree.treeId;
    for (const ordinal of [0, 1]) {
      const rollout = builder.rollout(tree, ordinal);
      const first = builder.step(tree, rollout, tree.rootStepId, 1, {
        action: HOSTILE,
        observation: 'the same',
        pictures: [noise.data],
      });
      const last = builder.step(tree, rollout, first, 2, { action: `turn ${ordinal}`, observation: `${HOSTILE} ${ordinal}` });
      builder.reward(tree, last, ordinal);
      builder.finishRollout(tree, rollout, last, { outcome: 'terminated', success: ordinal === 1, steps: 2 });
      if (ordinal === 0) ids.rollout = rollout;
      else ids.other = rollout;
    }
    builder.finishRun(ids.run);
    await appendRecorded(platform.log, builder.events);
    file = join(platform.home, 'page.html');
    const { code, stderr } = await espalier('view', ids.run, '--out', file);
    expect([code, stderr]).toEqual([0, '']);
  }, 480_000);
  afterAll(async () => {
    await browser?.close();
    await killRunning();
    await platform?.close();
  });

  /** Opens a view of the page from its file, without a network. */
  async function opened(address = ''): Promise<{ readonly page: Page; readonly wrong: readonly string[] }> {
    const wrong: string[] = [];
    const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, offline: true })).newPage();
    page.on('pageerror', ({ message }) => wrong.push(message));
    page.on('dialog', () => wrong.push('a dialog'));
    page.on('request', (request) => /^(data|blob|file):/.test(request.url()) || wrong.push(request.url()));
    await page.goto(`file://${file}${address === '' ? '' : `#${address}`}`);
    await page.locator('h1').waitFor();
    return { page, wrong };
  }

  test('a page holds at most 2 MB more than its data', async () => {
    const html = await readFile(file, 'utf8');
    const data = /<script id="record" type="application\/json">(.*?)<\/script>/s.exec(html)?.[1] ?? '';
    expect(data).toContain('needle');
    expect(data).not.toMatch(/[<>\u2028]/);
    expect((await stat(file)).size - Buffer.byteLength(data)).toBeLessThan(PAGE_BYTES);
  });

  test('a mark of the run leads to its trajectory with its picture, and markup in texts is shown as text', async () => {
    const { page, wrong } = await opened();
    await page.getByRole('link', { name: /^rollout 0: terminated/ }).click();
    await page.getByText('turn 0', { exact: true }).waitFor();
    expect(await page.locator('.observation').last().textContent()).toContain('needle </script><script>alert(1)</script>');
    const image = page.locator('img').first();
    await image.scrollIntoViewIfNeeded();
    await until(async () => (await image.evaluate((element) => (element as { naturalWidth?: number }).naturalWidth)) === 200);
    expect(await hindrances(page)).toEqual([]);
    expect(wrong).toEqual([]);
    await page.context().close();
  });

  test('the tree is drawn, and a node is described', async () => {
    const { page, wrong } = await opened(`/view/tree/${ids.tree}`);
    await page.getByRole('application').focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText('below', { exact: true }).waitFor();
    await page.locator('aside .observation').waitFor();
    expect(await hindrances(page)).toEqual([]);
    expect(wrong).toEqual([]);
    await page.context().close();
  });

  test('two trajectories are compared from where they part', async () => {
    const { page, wrong } = await opened(`/view/group/${ids.tree}`);
    await page.getByRole('link', { name: /^after \d+ steps?, by/ }).click();
    await page.getByText('They part at step 2: another action was taken.').waitFor();
    expect(wrong).toEqual([]);
    await page.context().close();
  });

  test('a file that was exported is shown without its installation, and large texts within the limits', async () => {
    const exported = join(platform.home, 'exported.jsonl');
    const wrote = await espalier('export', '--format', 'jsonl', '--out', exported);
    expect(wrote).toMatchObject({ code: 0 }); // a slow machine shows progress
    const out = join(platform.home, 'of-file.html');
    const { code, stderr } = await espalier('view', exported, '--out', out, '--limit-mb', '1');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const page = await (await browser.newContext({ offline: true })).newPage();
    await page.goto(`file://${out}`);
    await page.getByRole('link', { name: /^rollout 0: terminated/ }).click();
    await page.getByText('turn 0', { exact: true }).waitFor();
    expect(await page.locator('.page-source').textContent()).toContain('exported.jsonl');
    await page.context().close();
    const none = await espalier('view', join(platform.home, 'absent.jsonl'), '--out', out);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('or a file that is there')]);
  }, 480_000);

  test('two trees that have a rollout and a step under one id are both shown, each with its own', async () => {
    const builder = new EventBuilder('one id');
    const run = builder.run('one id');
    const id = builder.id('of both');
    for (const name of ['one', 'two']) {
      const tree = builder.tree(run, name);
      builder.rollout(tree, 0, { rolloutId: id });
      builder.step(tree, id, tree.rootStepId, 1, { stepId: id, action: `turn of ${name}` });
      builder.finishRollout(tree, id, id, { outcome: 'terminated', steps: 1 });
    }
    builder.finishRun(run);
    await appendRecorded(platform.log, builder.events);
    const out = join(platform.home, 'one-id.html');
    expect(await espalier('view', run, '--out', out)).toMatchObject({ code: 0 });
    const page = await (await browser.newContext({ offline: true })).newPage();
    for (const name of ['one', 'two']) {
      await page.goto(`file://${out}#/`);
      await page
        .locator('li', { hasText: `craft ${name}` })
        .getByRole('link', { name: 'rollout 0' })
        .click();
      await page.locator('.action', { hasText: `turn of ${name}` }).waitFor();
      await page.getByRole('link', { name: 'In the tree' }).click();
      await page.locator('aside .action', { hasText: `turn of ${name}` }).waitFor();
    }
    await page.context().close();
  }, 480_000);

  test('what the page does not hold is named and leads nowhere', async () => {
    const { page } = await opened(`/view/run/${ids.run}`);
    expect(await page.locator('.absent', { hasText: 'Find in this run' }).count()).toBe(1);
    expect(await page.getByRole('link', { name: 'Find in this run' }).count()).toBe(0);
    await page.goto(`file://${file}#/view/trajectory/00000000-0000-4000-8000-000000000000`);
    await page.getByText('This is not in the page').first().waitFor();
    await page.context().close();
  });

  test('an id that names nothing, and a file that is there, are refused', async () => {
    const unknown = await espalier('view', '00000000-0000-4000-8000-000000000000', '--out', join(platform.home, 'none.html'));
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('no run, tree or rollout has the id')]);
    const again = await espalier('view', ids.tree, '--out', file);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('is already there')]);
  });
});
