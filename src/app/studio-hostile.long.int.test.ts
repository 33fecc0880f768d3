import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { prepareEvents } from '../append/prepare-events.ts';
import { derivedId } from '../events/derived-id.ts';
import { pack } from '../events/packed.ts';
import { linkTo } from '../http/local-access.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Running } from '../runtime/lifecycle.ts';
import { SILENT } from '../runtime/logger.ts';
import { describeWithBrowser } from '../testing/browser-describe.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { LOCAL, LOCAL_TOKEN } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { recordBushyTree, recordLongRollout } from '../testing/record-large-trees.ts';
import { recordLineage } from '../testing/record-training.ts';
import { hindrances, openStudioBrowser, openStudioPage } from '../testing/studio-browser.ts';
import { until } from '../testing/until.ts';
import { runAll } from './run-all.ts';

const MARKUP = '<img src=x onerror="document.title=\'taken\';alert(1)"><script>alert(2)</script>';
const TURNED = '\u202egnp.exe\u202c 👩‍👩‍👧‍👦 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e9\u05dc\u05d5\u05dd 漢字 \u0007';
const HOSTILE = `needle ${MARKUP} ${TURNED} ${'longword'.repeat(40)}`;
const NAME = `${MARKUP} ${TURNED}`; // names have 200 characters at most
const POLICY = NAME.replaceAll(/\p{C}/gu, ''); // the id of a policy has no control characters
const LARGE = 10 * 1024 * 1024; // characters of one observation
const NODES = 10_000;
const TOKENS = { ids: pack('int32', [1, 2, 3]), logProbs: pack('float32', [-0.5, -1, -2]), mask: null };

let platform: Platform & { readonly home: string };
let all: Running & { readonly url: string };
let browser: Browser;
let page: Page;
let wrong: readonly string[];
let builder: EventBuilder;
const ids = {
  run: '',
  another: '',
  tree: '',
  rollout: '',
  other: '',
  large: '',
  bushy: '',
  long: '',
  dataset: '',
  revision: '',
  good: '',
};
const LABEL = `${MARKUP.slice(0, 80)} 漢字 🌳`; // labels have 100 characters, none of them for control

async function post(events: readonly unknown[]): Promise<void> {
  const body = events.map((event) => JSON.stringify(event)).join('\n');
  const headers = { ...LOCAL, 'content-type': 'application/x-ndjson' };
  const answer = await fetch(`${all.url}/v1/events`, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Records a run whose every text is hostile: two rollouts of one task, one step with an observation of 10 MB. */
function recordHostile(): void {
  const task = { taskId: builder.id('task'), environment: NAME, serverFingerprint: 'f', observationHash: '0'.repeat(64) };
  const policy = { policyId: POLICY, version: 0 };
  ids.run = builder.run('hostile', { name: NAME, codeVersion: NAME, config: { [HOSTILE]: HOSTILE }, policy });
  const tree = builder.tree(ids.run, 'hostile', {
    instruction: HOSTILE,
    observation: HOSTILE,
    plannedRollouts: 2,
    task: { ...task, alias: NAME, goal: HOSTILE, depth: 1, split: null },
  });
  ids.tree = tree.treeId;
  const texts = { response: HOSTILE, thought: HOSTILE, action: HOSTILE };
  for (const ordinal of [0, 1]) {
    const rollout = builder.rollout(tree, ordinal, { policy });
    const sampled = { policySpans: [{ from: 0, to: 3, policyId: POLICY, version: 0 }], tokens: TOKENS };
    const seen = { observation: `${HOSTILE} ${ordinal}`, ...sampled };
    const first = builder.step(tree, rollout, tree.rootStepId, 1, { ...texts, ...seen });
    const call = { toolCallId: builder.id('call', ordinal), treeId: tree.treeId, stepId: first, ordinal: 0, tool: NAME };
    const gave = { arguments: HOSTILE, output: 'é'.repeat(100_000), outcome: 'ok' as const, durationMs: 1 };
    builder.record('ToolCalled', { ...call, ...gave }, ids.run);
    const large = builder.step(tree, rollout, first, 2, { ...texts, observation: ordinal === 0 ? 'x'.repeat(LARGE) : HOSTILE });
    builder.reward(tree, large, ordinal, { component: NAME.slice(0, 100) });
    builder.finishRollout(tree, rollout, large, { outcome: 'failed', success: false, steps: 2, reason: HOSTILE });
    if (ordinal === 0) [ids.rollout, ids.large] = [rollout, large];
    else [ids.other, ids.good] = [rollout, large];
  }
  recordMade(tree);
  builder.finishRun(ids.run, { outcome: 'failed', message: HOSTILE });
}

/** Records what was made and said of the hostile tree: a policy, a release, a revision, annotations. */
function recordMade({ treeId, rootStepId }: { readonly treeId: string; readonly rootStepId: string }): void {
  const lineageId = recordLineage(builder, POLICY);
  const update = { version: 1, parentVersion: 0, batchId: null, checkpointId: builder.id('made'), weights: 'e'.repeat(64) };
  const measured = { estimator: null, loss: null, samples: 0, metrics: { [MARKUP]: 1 } };
  builder.record('PolicyUpdated', { lineageId, policyId: POLICY, ...update, ...measured }, lineageId);
  ids.revision = builder.id('revision');
  const leaves = { goodLeafStepId: ids.good, badLeafStepId: ids.large, branchStepId: rootStepId, transitionStepId: ids.large };
  const found = { transitionCause: 'bad' as const, judged: 1, reflection: HOSTILE, signal: 'thought' as const };
  const revision = { revisionId: ids.revision, treeId };
  const judge = { name: NAME, revision: '1' };
  const judged = { treeId, leafStepId: ids.large, stepId: ids.large, index: 1, judge, promptHash: 'd'.repeat(64) };
  builder.record('StepJudged', { ...judged, verdict: 'bad', reply: 'z'.repeat(90_000) }, ids.run);
  const rest = { alpha: 0.5, beta: 0.2, judge, contentHash: 'e'.repeat(64) };
  builder.record('RevisionComposed', { ...revision, ...leaves, ...found, ...rest }, ids.run);
  const refused = { reason: 'impossible' as const, reached: null, stepId: ids.large, detail: HOSTILE };
  builder.record('RevisionRejected', { ...revision, ...refused }, ids.run);
  ids.dataset = derivedId('dataset', NAME, 1);
  const frozen = { format: NAME, formatVersion: 1, bytes: 1, sha256: 'e'.repeat(64), codeVersion: NAME, runs: [ids.run] };
  const made = { query: { text: HOSTILE }, parameters: { text: HOSTILE }, counts: { [MARKUP]: 1 }, position: {} };
  builder.record('DatasetReleased', { datasetId: ids.dataset, name: NAME, version: 1, ...frozen, ...made }, ids.dataset);
  const row = { line: 1, lines: 1, kind: 'revision' as const, treeId, goodRolloutId: ids.rollout, badRolloutId: ids.other };
  const examples = [{ ...row, revisionId: ids.revision }];
  builder.record('DatasetSourced', { datasetId: ids.dataset, sha256: 'e'.repeat(64), part: 0, examples }, ids.dataset);
  builder.record('DatasetWithdrawn', { datasetId: ids.dataset, reason: HOSTILE }, ids.dataset);
  const subjects = [
    { kind: 'step' as const, stepId: ids.large },
    { kind: 'rollout' as const, rolloutId: ids.rollout },
    { kind: 'revision' as const, revisionId: ids.revision },
    { kind: 'row' as const, datasetId: ids.dataset, line: 1 },
    { kind: 'tree' as const },
  ];
  for (const subject of subjects) {
    const said = { annotationId: builder.id(`annotation ${subject.kind}`), label: LABEL, score: -1, note: HOSTILE };
    builder.record('AnnotationAdded', { treeId, subject, ...said }, ids.run);
  }
}

/** Records a tree of 10,000 nodes, and a rollout of 1,000 steps. */
function recordLarge(): void {
  const run = builder.run('large', { name: 'large' });
  ids.another = run;
  ids.bushy = recordBushyTree(builder, run, NODES);
  ids.long = recordLongRollout(builder, run, 1_000);
}

/** Hostile and large texts in every field. */
describeWithBrowser('the studio over a hostile record', () => {
  beforeAll(async () => {
    browser = await openStudioBrowser();
    platform = await openTestPlatform();
    const tokenizers = { [POLICY]: `${platform.home}/no-tokenizer` };
    all = await runAll({ ...platform, config: { ...platform.config, tokenizers } }, SILENT);
    builder = new EventBuilder('hostile studio');
    recordHostile();
    recordLarge();
    // what planners and trainers record is not posted
    await platform.log.append(await prepareEvents(builder.events, platform.blobs, platform.stamp));
    await until(async () => (await rowsOf('steps')) > NODES + 1_000, 480_000);
  }, 600_000);
  afterAll(async () => {
    await browser?.close();
    await all?.close();
    await platform?.close();
  });
  async function rowsOf(table: 'steps'): Promise<number> {
    const row = await platform.database.db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .executeTakeFirst();
    return Number(row?.count);
  }

  beforeEach(async () => {
    ({ page, wrong } = await openStudioPage(browser, linkTo(all.url, '/', LOCAL_TOKEN)));
  });
  afterEach(async () => {
    await page.context().close();
    expect(wrong).toEqual([]);
  });

  const go = (path: string) => page.goto(`${all.url}${path}`);
  const PAGES = {
    runs: () => '/',
    run: () => `/view/run/${ids.run}`,
    group: () => `/view/group/${ids.tree}`,
    compare: () => `/view/compare?runs=${ids.run},${ids.another}`,
    trajectory: () => `/view/trajectory/${ids.rollout}`,
    tree: () => `/view/tree/${ids.tree}?step=${ids.large}`,
    diff: () => `/view/diff?a=${ids.rollout}&b=${ids.other}`,
    find: () => `/view/find?words=needle`,
    lineage: () => `/view/lineage/${ids.rollout}`,
    training: () => `/view/training?policy=${encodeURIComponent(POLICY)}`,
    data: () => '/view/data',
    dataset: () => `/view/dataset/${ids.dataset}`,
    revision: () => `/view/revision/${ids.revision}`,
    review: () => '/view/review?words=needle',
    'annotated steps': () => `/view/review?label=${encodeURIComponent(LABEL)}`,
  } as const;

  test.each(Object.keys(PAGES) as (keyof typeof PAGES)[])(
    'hostile texts in every field are text in the view %s, and change neither its title nor its width',
    async (name) => {
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await go(PAGES[name]());
        await page.getByText('onerror=').filter({ visible: true }).first().waitFor();
        expect(await page.title()).not.toBe('taken');
        const text = (await page.evaluate('document.body.innerText')) as string;
        expect(/.{0,60}(?!\p{Extended_Pictographic})(?![\n\t\u200d])[\p{Cc}\p{Cf}].{0,20}/u.exec(text)?.[0]).toBeUndefined();
        expect([name, width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, width, width]);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      expect(await hindrances(page)).toEqual([]);
    },
  );

  test('an observation of 10 MB is shown in parts', async () => {
    await go(`/view/trajectory/${ids.rollout}?step=${ids.large}`);
    const more = page.getByRole('button', { name: /^show more/ }).last();
    await more.click();
    await page.getByText(/x{5000}/).waitFor();
    await page.getByText('Of 10,485,760 bytes the first 65,536 characters are shown.').waitFor();
    await page.getByRole('button', { name: 'show the next 262,144' }).last().click();
    await page.getByText('Of 10,485,760 bytes the first 327,680 characters are shown.').waitFor();
    await page.getByRole('button', { name: 'show more (258144 characters)' }).first().waitFor();
    await go(`/view/diff?a=${ids.rollout}&b=${ids.other}`);
    await page.getByText('observation: the beginning of 10,485,760 bytes').first().waitFor();
  });

  test('what a tool gave and a judge said is shown whole, and tokens with their figures where the tokenizer of their policy cannot be read', async () => {
    await go(`/view/trajectory/${ids.rollout}`);
    await page.getByText('Of 200,000 bytes the first 65,536 characters are shown.').waitFor();
    await page.getByRole('button', { name: 'show the next 262,144' }).first().click();
    await page.getByText('All of its 200,000 bytes are shown.').waitFor();
    await page.getByRole('button', { name: '3 tokens' }).first().click();
    await page.getByText(/^The texts of these tokens could not be read: .*no-tokenizer/).waitFor();
    await page.getByText('Each token').click();
    await page.getByRole('cell', { name: '-0.5' }).first().waitFor();
    await go(`/view/revision/${ids.revision}`);
    await page
      .getByText(/^(Judged and not kept|What the judge said)/)
      .first()
      .click();
    await page.getByText('Of 90,000 bytes the first 65,536 characters are shown.').waitFor();
    await page.getByRole('button', { name: 'show the next 262,144' }).last().click();
    await page.getByText('All of its 90,000 bytes are shown.').waitFor();
  });

  test('a tree of 10,000 nodes is drawn whole and walked by keys', async () => {
    await go(`/view/tree/${ids.bushy}`);
    await page.getByText(/^10,000 steps, depth \d+/).waitFor();
    await until(async () => (await page.getByText(/^loading/).count()) === 0);
    await page.getByRole('application').focus();
    for (let steps = 0; steps < 5; steps++) await page.keyboard.press('ArrowRight');
    await page.getByText('depth 5', { exact: true }).waitFor();
  });

  test('a rollout of 1,000 steps has its last step on the screen, and few of the others in the page', async () => {
    await go(`/view/trajectory/${ids.long}`);
    await page.getByText('action 1', { exact: true }).waitFor();
    await until(async () => {
      await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
      return (await page.getByText('action 1000', { exact: true }).count()) === 1;
    });
    expect(await page.locator('article.step').count()).toBeLessThan(60);
  });

  test('a server that is away is reported, and the page goes on when it is back', async () => {
    await page.context().setOffline(true);
    await page.getByLabel('Kind').selectOption('collect');
    await page.getByText('The server does not answer.').first().waitFor();
    await page.context().setOffline(false);
    await page.getByRole('link', { name: 'large' }).waitFor();
    await until(async () => (await page.getByText('The server does not answer.').count()) === 0);
    const later = new EventBuilder('later');
    later.run('later', { name: 'a later run' });
    await post(later.events);
    await page.getByRole('link', { name: 'a later run' }).waitFor();
  });
});
