import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { prepareEvents } from '../append/prepare-events.ts';
import { formatPosition } from '../log/position.ts';
import type { Platform } from '../platform/open-platform.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { SILENT } from '../runtime/logger.ts';
import { describeWithBrowser } from '../testing/browser-describe.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { recordDrawnHistories } from '../testing/record-drawn-histories.ts';
import { hindrances, openStudioBrowser, openStudioPage } from '../testing/studio-browser.ts';
import { until } from '../testing/until.ts';
import { runAll } from './run-all.ts';

const HOSTILE = `<img src=x onerror="document.title='taken'"> \u202egnp.exe 🌳 ${'longword'.repeat(30)}`;
const POLICY = '<b onmouseover=alert(1)>reader</b>';
const VERSIONS = [1, 1.5, 2, 3]; // the factor that each version of the policy chose
const STEPS = 8;

let platform: Platform & { close(): Promise<void> };
let server: Awaited<ReturnType<typeof runAll>>;
let browser: Browser;
let page: Page;
let wrong: readonly string[];
const ids = { run: '', plain: '', step: '' };

/** A run in which each version of a policy compresses its history more than the one before; and one that shows no images. */
function recordImages(): EventBuilder {
  const builder = new EventBuilder('studio of images');
  ids.run = builder.run('images', { name: HOSTILE.slice(0, 150) });
  ids.plain = builder.run('plain', { name: 'plain' });
  for (const [version, factor] of VERSIONS.entries()) {
    const tree = builder.tree(ids.run, `task ${version}`);
    const rollout = builder.rollout(tree, 0, { policy: { policyId: POLICY, version } });
    const policySpans = [{ from: 0, to: 1, policyId: POLICY, version }];
    const steps: string[] = [];
    for (let depth = 1; depth <= STEPS; depth++)
      steps.push(builder.step(tree, rollout, steps.at(-1) ?? tree.rootStepId, depth, { action: `go ${depth}`, policySpans }));
    builder.finishRollout(tree, rollout, steps.at(-1) ?? '', { steps: STEPS, success: version < 3 });
    const records = steps.map((_, n) => `[Observation]: room ${n} ${n === 0 ? HOSTILE : 'with a door'} [Action]: go ${n}`);
    recordDrawnHistories(builder, tree, steps, { records, factors: steps.map(() => factor), profile: 'crisp' });
    ids.step = steps.at(-1) ?? '';
  }
  return builder;
}

/** Histories as images: over training, on sheets, and at other factors. */
describeWithBrowser('the images of the studio', () => {
  beforeAll(async () => {
    browser = await openStudioBrowser();
    platform = await openTestPlatform();
    server = await runAll(platform, SILENT);
    await platform.log.append(await prepareEvents(recordImages().events, platform.blobs, platform.stamp));
    await waitUntilProjected(platform.database.db, await platform.log.ends(['runs', 'trees']), { timeoutMs: 120_000 });
  });
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

  const open = (path = '') => page.goto(`${server.url}/view/images/${ids.run}${path}`);

  test('a run leads to its images, and a curve shows how compression changed by version of the policy', async () => {
    await page.goto(`${server.url}/view/run/${ids.run}`);
    await page.getByRole('link', { name: 'All images' }).click();
    await page.getByRole('group', { name: 'mean compression factor by version' }).waitFor();
    await page.getByText('As a table').click();
    const rows = page.getByRole('region', { name: 'Compression by version' }).locator('tbody tr');
    expect(await rows.locator('td:nth-child(3)').allTextContents()).toEqual(VERSIONS.map(String));
    expect(await rows.first().textContent()).toContain(`${POLICY}@0`);
    const saved = (await rows.locator('td:nth-child(6)').allTextContents()).map((text) => Number.parseFloat(text));
    expect(saved).toEqual([...saved].sort((a, b) => a - b));
    await page.locator('.chart svg').first().locator('circle[r="3"]').last().click({ force: true });
    await page.waitForURL(/\/view\/find\?.*version=/);
    await page.locator('.found li').first().waitFor();
  });

  test('the sheet holds an image of every step, page by page and in another order', async () => {
    await open();
    const count = VERSIONS.length * STEPS;
    await page.getByRole('heading', { name: `Contact sheet: ${count}` }).waitFor();
    const images = page.locator('.sheet img');
    await until(async () => (await images.count()) === 24);
    await until(
      async () => (await images.nth(1).evaluate((image) => (image as { naturalWidth?: number }).naturalWidth ?? 0)) > 0,
    );
    await page.getByRole('button', { name: 'Further images' }).click();
    await until(async () => (await images.count()) === count - 24);
    await page.getByLabel('in order').selectOption('FACTOR_DESC');
    await page.locator('.sheet li', { hasText: 'factor 3' }).first().waitFor();
    expect(await page.locator('.sheet li').first().textContent()).toContain('factor 3');
  });

  test('an image opens at other factors with tokens and legibility, and the chosen one is drawn next to it', async () => {
    await open('?order=FACTOR_DESC');
    await page.locator('.sheet a').last().click();
    await page.getByRole('heading', { name: 'The same history at other factors' }).waitFor();
    await until(async () => new URL(page.url()).searchParams.has('step'));
    await open(`?step=${ids.step}`); // the address is the view
    const rows = page.getByRole('region', { name: 'Factors' }).locator('tbody tr');
    await rows.first().waitFor();
    const percents = (await rows.locator('td:last-child').allTextContents()).map((text) => Number.parseFloat(text));
    expect(percents[0]).toBe(100);
    expect(percents).toEqual([...percents].sort((a, b) => b - a));
    expect(await rows.filter({ hasText: 'as it was shown' }).count()).toBe(1);
    await rows.last().getByRole('radio').check();
    const drawing = page.getByRole('img', { name: 'the history at factor 9' });
    await until(async () => (await drawing.evaluate((image) => (image as { naturalWidth?: number }).naturalWidth ?? 0)) > 0);
    await page.getByRole('link', { name: `step ${STEPS} in its trajectory` }).click();
    await page.locator('.step-chosen').waitFor();
    await page
      .getByRole('button', { name: /^Shown to the model \(image/ })
      .last()
      .click();
    await page.getByText('The same history at other factors').first().click();
    await page.getByRole('columnheader', { name: 'legibility' }).first().waitFor();
  });

  test('hostile texts stay texts, a narrow page does not overflow, and axe finds nothing serious', async () => {
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await open(`?step=${ids.step}`);
      await page.getByRole('columnheader', { name: 'legibility' }).waitFor();
      await page.getByText('onerror=').first().waitFor();
      expect(await page.title()).not.toBe('taken');
      expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([width, width]);
    }
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await hindrances(page)).toEqual([]);
    }
  });

  test('what a view asks is copied as GraphQL, as Python and as a command that answers the same', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = async (form: string) => {
      await page.getByRole('button', { name: 'Copy as …' }).first().click();
      await page.getByRole('menuitem', { name: form }).click();
      await page.getByText(`copied as ${form}`).waitFor();
      return (await page.evaluate('navigator.clipboard.readText()')) as string;
    };
    await open();
    expect(await copied('GraphQL')).toContain('query ImagesPage(');
    expect(await copied('Python')).toContain('db = er.connect()');
    expect((await copied('command')).trim()).toBe(`espalier compression-sweep --run ${ids.run}`);
    await page.goto(`${server.url}/view/find?words=${encodeURIComponent(`"go 3" or it's`)}`);
    await page.locator('.found li').first().waitFor();
    const command = (await copied('command')).replace('$(npx espalier token)', LOCAL.authorization.replace('Bearer ', ''));
    const { stdout } = await promisify(execFile)('bash', ['-c', command]);
    const { data } = JSON.parse(stdout) as { readonly data: { readonly steps: { readonly edges: readonly unknown[] } } };
    expect(data.steps.edges).toHaveLength(await page.locator('.found li').count());
  });

  test('j and k walk, Enter opens, ? lists the keys and / finds', async () => {
    await open();
    await page.locator('.sheet a').first().waitFor();
    const focused = () => page.evaluate('[...document.querySelectorAll("[data-item]")].indexOf(document.activeElement)');
    for (const [key, place] of [
      ['j', 0],
      ['j', 1],
      ['j', 2],
      ['k', 1],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused()).toBe(place);
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'The same history at other factors' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    expect(await hindrances(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.getByRole('heading', { name: 'Find' }).waitFor();
    await page.keyboard.press('/'); // now there is a field to find in
    await page.keyboard.type('jk/?');
    expect(await page.getByLabel('Words').inputValue()).toBe('jk/?');
  });

  test('a chosen moment holds for every view until now is chosen again', async () => {
    const position = formatPosition(await platform.log.ends(['runs', 'trees', 'images'])).replace(/:\d+/g, ':0');
    await page.getByRole('button', { name: 'now', exact: true }).click();
    await page.getByLabel('or position').fill(position);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('Everything is shown as of').waitFor();
    await page.getByText('No run is on record that fits.').waitFor();
    await page.getByRole('link', { name: 'Operations' }).click();
    await page.getByText('Everything is shown as of').waitFor();
    expect(new URL(page.url()).searchParams.get('at')).toBe(position);
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByText('No run is on record that fits.').waitFor();
    await page.getByRole('link', { name: 'Show now' }).click();
    await page.getByRole('link', { name: 'plain' }).waitFor();
  });

  test('a run without images says so, and a history that is not there any more is named in its place', async () => {
    await page.goto(`${server.url}/view/images/${ids.plain}`);
    await page.getByText('No step of this run was shown its history as an image.').waitFor();
    await platform.database.db.updateTable('segments').set({ text: 'changed' }).where('text', 'like', '%room 5%').execute();
    await open(`?step=${ids.step}`);
    await page
      .getByRole('alert')
      .getByText(/cannot be drawn again: .*segment|hash of/)
      .first()
      .waitFor();
  });
});
