import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { prepareEvents } from '../append/prepare-events.ts';
import type { Stamp } from '../events/envelope.ts';
import type { Platform } from '../platform/open-platform.ts';
import { createKey } from '../postgres/keys.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { SILENT } from '../runtime/logger.ts';
import { describeWithBrowser } from '../testing/browser-describe.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { testPictures } from '../testing/painted-world.ts';
import { recordLineage } from '../testing/record-training.ts';
import { openStudioBrowser, openStudioPage } from '../testing/studio-browser.ts';
import { until } from '../testing/until.ts';
import { runAll } from './run-all.ts';

const WORD = { mine: 'walnut', theirs: 'hickory' } as const; // in every text of a project

/** What a project holds: a run with a tree, a rollout and a step that shows a picture, a policy, a release, an annotation. */
async function recordProject(project: keyof typeof WORD) {
  const word = WORD[project];
  const builder = new EventBuilder(`studio of ${project}`);
  const { red } = await testPictures();
  const run = builder.run(project, { name: `${word} run`, policy: { policyId: `${word}-policy`, version: 0 } });
  const tree = builder.tree(run, project, { instruction: word, observation: word });
  const [rollout, other] = [0, 1].map((ordinal) => {
    const id = builder.rollout(tree, ordinal, { policy: { policyId: `${word}-policy`, version: 0 } });
    const texts = { thought: `${word} ${ordinal}`, action: word, observation: word };
    const step = builder.step(tree, id, tree.rootStepId, 1, { ...texts, pictures: [red.data], termination: 'terminated' });
    builder.reward(tree, step, ordinal, { rolloutId: id });
    builder.finishRollout(tree, id, step);
    return { id, step };
  }) as [Taken, Taken];
  const annotationId = builder.id('annotation');
  const said = { label: word, score: 1, note: word };
  builder.record('AnnotationAdded', { annotationId, treeId: tree.treeId, subject: { kind: 'tree' }, ...said }, run);
  recordLineage(builder, `${word}-policy`);
  const dataset = builder.id('dataset');
  const frozen = { format: 'trl', formatVersion: 1, bytes: 1, sha256: 'e'.repeat(64), codeVersion: word, runs: [run] };
  const made = { query: {}, parameters: {}, counts: { lines: 1 }, position: {} };
  builder.record('DatasetReleased', { datasetId: dataset, name: word, version: 1, ...frozen, ...made }, dataset);
  return { run, tree: tree.treeId, rollout: rollout.id, step: rollout.step, other: other.id, dataset, events: builder.events };
}

interface Taken {
  readonly id: string;
  readonly step: string;
}
type Recorded = Awaited<ReturnType<typeof recordProject>>;

/** Every view that shows something of a project by an id, and lists. */
const VIEWS: Readonly<Record<string, (of: Recorded, word: string) => string>> = {
  runs: () => '/',
  run: ({ run }) => `/view/run/${run}`,
  group: ({ tree }) => `/view/group/${tree}`,
  tree: ({ tree, step }) => `/view/tree/${tree}?step=${step}`,
  trajectory: ({ rollout }) => `/view/trajectory/${rollout}`,
  diff: ({ rollout, other }) => `/view/diff?a=${rollout}&b=${other}`,
  training: (_, word) => `/view/training?policy=${word}-policy`,
  data: () => '/view/data',
  dataset: ({ dataset }) => `/view/dataset/${dataset}`,
  lineage: ({ rollout }) => `/view/lineage/${rollout}`,
  find: (_, word) => `/view/find?words=${word}`,
  review: (_, word) => `/view/review?words=${word}`,
};

/** What a key of one project sees in the browser. */
describeWithBrowser('the studio with a key of one project', () => {
  let platform: Platform;
  let server: Awaited<ReturnType<typeof runAll>>;
  let browser: Browser;
  let page: Page;
  let wrong: readonly string[];
  let mine: Recorded;
  let theirs: Recorded;
  let keyId: string;
  const asked: string[] = [];

  async function append({ events }: Pick<Recorded, 'events'>, stamp: Stamp): Promise<void> {
    await platform.log.append(await prepareEvents(events, platform.blobs, stamp));
  }

  beforeAll(async () => {
    browser = await openStudioBrowser();
    platform = await openTestPlatform();
    server = await runAll(platform, SILENT);
    [mine, theirs] = [await recordProject('mine'), await recordProject('theirs')];
    const { apiKey, key } = await createKey(platform.database.db, {
      name: 'reviewer',
      scopes: ['read', 'annotate'],
      projects: ['mine'],
    });
    keyId = key;
    await append(mine, { principal: `key:${apiKey.keyId}`, project: 'mine' });
    await append(theirs, { principal: 'key:00000000-0000-4000-8000-000000000000', project: 'theirs' });
    await waitUntilProjected(platform.database.db, await platform.log.ends(['runs', 'trees', 'datasets']), { timeoutMs: 60_000 });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await platform?.close();
  });
  beforeEach(async () => {
    ({ page, wrong } = await openStudioPage(browser, server.url, { key: keyId }));
    asked.length = 0;
    page.on('response', async (response) => {
      if (response.url().endsWith('/graphql')) asked.push(await response.text().catch(() => ''));
    });
  });
  afterEach(async () => {
    await page.context().close();
    expect(wrong).toEqual([]);
  });

  test.each(Object.keys(VIEWS))('a key of one project sees that project in the view %s, and nothing of another', async (name) => {
    const view = VIEWS[name]!; // a key of VIEWS
    await page.goto(`${server.url}${view(mine, WORD.mine)}`);
    await page.getByText(WORD.mine).filter({ visible: true }).first().waitFor(); // options of a list are hidden
    await page.goto(`${server.url}${view(theirs, WORD.theirs)}`);
    await page.locator('h1, .empty, [role=alert]').first().waitFor();
    await until(async () => (await page.getByText('Loading…').count()) === 0);
    await page.getByText('live', { exact: true }).waitFor();
    const shown = (await page.evaluate(`document.querySelector('main').innerText`)) as string;
    expect(shown).not.toContain(
      WORD.theirs === 'hickory' && /find|review|training/.test(name) ? `${WORD.theirs} run` : WORD.theirs,
    );
    expect(asked.filter((text) => text.includes(WORD.theirs) && !text.includes('errors'))).toEqual([]);
  });

  test('what another project records is not announced, and what the own one records is', async () => {
    await page.getByRole('link', { name: 'walnut run' }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    const later = (project: keyof typeof WORD) => {
      const builder = new EventBuilder(`later of ${project}`);
      builder.run('later', { name: `later ${WORD[project]} run` });
      return builder;
    };
    await append(later('theirs'), { principal: 'local', project: 'theirs' });
    await append(later('mine'), { principal: 'local', project: 'mine' });
    await page.getByRole('link', { name: 'later walnut run' }).waitFor();
    expect(await page.getByText(/hickory/).count()).toBe(0);
  });

  test('a picture is shown with the key, and its address alone shows nothing', async () => {
    await page.goto(`${server.url}/view/trajectory/${mine.rollout}`);
    const picture = page.getByAltText('picture 1 of the observation').first();
    await picture.waitFor();
    await until(async () => (await picture.getAttribute('src'))?.startsWith('blob:') === true);
    const query = `{ step(id: "${mine.step}") { pictures { url } } }`;
    const answer = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyId}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const { url } = (await answer.json()).data.step.pictures[0];
    expect((await fetch(`${server.url}${url}`)).status).toBe(401);
  });

  test('something of another project is not annotated, and something of the own is', async () => {
    await page.goto(`${server.url}/view/trajectory/${mine.rollout}`);
    await page.locator('.page-tools').getByRole('button', { name: 'Annotate' }).click();
    await page.getByRole('dialog').getByLabel('Label').fill('<b>checked</b>');
    await page.getByRole('dialog').getByRole('button', { name: 'Annotate', exact: true }).click();
    await page.getByText('<b>checked</b>').first().waitFor();
    const query = `mutation { annotate(annotations: [{ rollout: "${theirs.rollout}", label: "x" }]) { ids } }`;
    const refused = (await page.evaluate(
      `fetch('/graphql', { method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer ' + sessionStorage.getItem('espalier-key') },
        body: ${JSON.stringify(JSON.stringify({ query }))} }).then((answer) => answer.json())`,
    )) as { readonly errors: readonly { readonly message: string }[] };
    expect(refused.errors[0]?.message).toContain(`no rollout ${theirs.rollout} is on record`);
  });
});
