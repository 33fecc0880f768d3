import { join } from 'node:path';
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

const HOSTILE = '<img src=x onerror=alert(1)> ‮evil‬ 🌳 </script>';
const builder = new EventBuilder('review');
const runId = builder.run('to review');
const tree = builder.tree(runId, 'stick');
const rollouts = ['craft it', 'I cannot do it'].map((thought, ordinal) => {
  const rolloutId = builder.rollout(tree, ordinal);
  const stepId = builder.step(tree, rolloutId, tree.rootStepId, 1, { thought, action: `act ${ordinal}` });
  builder.reward(tree, stepId, 1, { rolloutId: null });
  builder.finishRollout(tree, rolloutId, stepId, { success: true, outcome: 'terminated' });
  return { rolloutId, stepId };
});

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let server: Awaited<ReturnType<typeof runAll>>;
let link: string;
let browser: Browser;
let page: Page;
let wrong: readonly string[];
/** Annotations and queues. */
describeWithBrowser('the review of the studio', () => {
  beforeAll(async () => {
    browser = await openStudioBrowser();
    platform = await openTestPlatform();
    await platform.log.append(await prepareEvents(builder.events, platform.blobs, platform.stamp));
    server = await runAll(platform, SILENT);
    link = `${server.url}/?token=${LOCAL.authorization.replace('Bearer ', '')}`;
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await platform?.close();
  });
  beforeEach(async () => {
    ({ page, wrong } = await openStudioPage(browser, link));
  });
  afterEach(async () => {
    await page.context().close();
    expect(wrong).toEqual([]);
  });

  const at = (path: string) => page.goto(`${server.url}${path}`);
  const form = () => page.getByRole('dialog');
  async function say(label: string, { score = '', note = '' } = {}): Promise<void> {
    await form().getByLabel('Label').fill(label);
    await form().getByLabel('Score').fill(score);
    await form().getByLabel('Note').fill(note);
    await form().getByRole('button', { name: 'Annotate', exact: true }).click();
    await form().waitFor({ state: 'detached' });
  }

  test('what is annotated by the keyboard leaves the queue, and undoing it brings it back', async () => {
    await page.getByRole('link', { name: 'Review', exact: true }).click();
    await page.getByRole('link', { name: 'Rewarded although it says that it cannot' }).click();
    await page.getByText('I cannot do it').waitFor();
    expect(await page.locator('.found > li').count()).toBe(1);
    await page.keyboard.press('j');
    await page.keyboard.press('a');
    await say('gave up', { score: '-1', note: 'says so itself' });
    await page.getByText('Nothing is left in this queue.').waitFor();
    await page.getByRole('link', { name: 'gave up (1)' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('I cannot do it').waitFor();
    await page.getByText('Nothing is annotated yet.').waitFor();
  });

  test('the page without a queue says to choose one, and the keys go through the queues', async () => {
    const focused = () => page.evaluate("document.activeElement.closest('nav, li')?.className ?? ''");
    await at('/view/review');
    await page.getByText('Choose a queue first').waitFor();
    await page.keyboard.press('j');
    expect(await focused()).toContain('queues');
  });

  test('hostile text in a note is shown as text, and a rollout is annotated by its button', async () => {
    await at(`/view/trajectory/${rollouts[0]?.rolloutId}`);
    await page.locator('.page-tools').getByRole('button', { name: 'Annotate' }).click();
    await say('odd', { note: HOSTILE });
    await page.getByText('<img src=x onerror=alert(1)> \\u202eevil\\u202c 🌳').waitFor();
    await page.getByRole('button', { name: 'retract odd' }).click();
    await until(async () => (await page.locator('.annotation').count()) === 0);
  });

  test('a label with a control character is refused in words', async () => {
    await at(`/view/trajectory/${rollouts[0]?.rolloutId}`);
    await page.locator('.page-tools').getByRole('button', { name: 'Annotate' }).click();
    await form().getByLabel('Label').fill('a‮b');
    await form().getByRole('button', { name: 'Annotate', exact: true }).click();
    await form().getByText('label must hold no control or formatting characters').waitFor();
  });

  test('what others annotate appears by itself, and is not there at an earlier moment', async () => {
    const { position } = (await (await fetch(`${server.url}/graphql`, asked('{ position }'))).json()).data;
    await at(`/view/trajectory/${rollouts[1]?.rolloutId}`);
    await page.getByText('I cannot do it').waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    const query = `mutation { annotate(annotations: [{ step: "${rollouts[1]?.stepId}", label: "by a program" }]) { ids } }`;
    const { ids } = (await (await fetch(`${server.url}/graphql`, asked(query))).json()).data.annotate;
    await page.getByText('by a program').waitFor();
    await at(`/view/trajectory/${rollouts[1]?.rolloutId}?at=${position}`);
    await page.getByText('I cannot do it').waitFor();
    expect(await page.getByText('by a program').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Annotate' }).count()).toBe(0);
    await fetch(`${server.url}/graphql`, asked(`mutation { retractAnnotations(ids: ["${ids[0]}"]) { ids } }`));
  });

  test('a key without the scope is refused in words', async () => {
    const { key } = await createKey(platform.database.db, { name: 'reader', scopes: ['read'], projects: 'all' });
    const query = `mutation { annotate(annotations: [{ step: "${rollouts[0]?.stepId}", label: "x" }]) { ids } }`;
    const answer = await (await fetch(`${server.url}/graphql`, asked(query, `Bearer ${key}`))).json();
    expect(answer.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' }, message: expect.stringContaining('annotate') }]);
    await page.addInitScript(`if (self === top) sessionStorage.setItem('espalier-key', ${JSON.stringify(key)})`);
    await at(`/view/trajectory/${rollouts[0]?.rolloutId}`);
    await page.locator('.page-tools').getByRole('button', { name: 'Annotate' }).click();
    await form().getByText('The key of this page lacks the scope').waitFor();
    await form().getByLabel('Label').fill('x');
    expect(await form().getByRole('button', { name: 'Annotate', exact: true }).isDisabled()).toBe(true);
  });

  test.each(['light', 'dark'] as const)(
    'axe finds nothing serious in %s colours, and a narrow page does not overflow',
    async (scheme) => {
      await page.emulateMedia({ colorScheme: scheme });
      const query = `mutation { annotate(annotations: [{ step: "${rollouts[0]?.stepId}", label: "${scheme}", score: 0.5, note: "n" }]) { ids } }`;
      await fetch(`${server.url}/graphql`, asked(query));
      await at('/view/review?words=craft');
      await page
        .getByRole('button', { name: `retract ${scheme}` })
        .first()
        .waitFor();
      expect(await hindrances(page)).toEqual([]);
      await at(`/view/review?label=${scheme}`);
      await page.locator('.found > li').first().waitFor();
      await picture(page, `review-${scheme}-1440`);
      await page.keyboard.press('j');
      await page.keyboard.press('a');
      await form().waitFor();
      expect(await hindrances(page)).toEqual([]);
      await picture(page, `annotate-${scheme}-1440`);
      await page.setViewportSize({ width: 390, height: 844 });
      await picture(page, `annotate-${scheme}-390`);
      await page.keyboard.press('Escape');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
      await picture(page, `review-${scheme}-390`);
      await at(`/view/trajectory/${rollouts[0]?.rolloutId}`);
      await page
        .getByRole('button', { name: `retract ${scheme}` })
        .first()
        .waitFor();
      expect(await hindrances(page)).toEqual([]);
      await picture(page, `trajectory-${scheme}-390`);
    },
  );
});

function asked(query: string, authorization = LOCAL.authorization): RequestInit {
  return { method: 'POST', headers: { authorization, 'content-type': 'application/json' }, body: JSON.stringify({ query }) };
}

/** Keeps what a page looks like, for people, where ESPALIER_PICTURES names a folder. */
async function picture(of: Page, name: string): Promise<void> {
  const folder = process.env.ESPALIER_PICTURES;
  if (folder) await of.screenshot({ path: join(folder, `${name}.png`) });
}
