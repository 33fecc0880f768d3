import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { EventBuilder } from '../testing/event-builder.ts';

const GUIDE = new URL('../../docs/guides/what-happened.md', import.meta.url);
const AT_MOST = 3;
const FLOW_MS = 180_000;
const REASON = 'the environment server closed the connection';

/** A studio that shows the record of a demo that has recorded everything. */
export interface OpenStudio {
  page(): Page;
  /** The link that lets a browser in. */
  link(): string;
}

/** What a walk is handed: the first page, and the same record by GraphQL. */
interface Walk {
  readonly page: Page;
  ask<Answer>(query: string): Promise<Answer>;
}

/** Answers each question of the guide by clicks alone, and compares what is seen with what GraphQL answers. */
export function questionFlows({ page, link }: OpenStudio): void {
  describe('the guide to what happened', () => {
    beforeAll(() => recordFailures(link()));

    test('every question of the guide is walked, and no other', async () => {
      expect(await questionsOfGuide()).toEqual(Object.keys(WALKS));
    });

    test.each(Object.keys(WALKS) as (keyof typeof WALKS)[])(
      `the question "%s" is answered within ${AT_MOST} clicks, as GraphQL answers it`,
      async (question) => {
        await page().getByRole('link', { name: 'broken', exact: true }).waitFor();
        await page().evaluate(COUNT_CLICKS);
        await WALKS[question]({ page: page(), ask: (query) => ask(link(), query) });
        expect(await page().evaluate('window.clicks')).toBeLessThanOrEqual(AT_MOST);
      },
      FLOW_MS,
    );
  });
}

/** Every click of the page is counted, whatever it is on; no walk loads the page again. */
const COUNT_CLICKS = `window.clicks = 0; addEventListener('click', (event) => { if (event.isTrusted) window.clicks++; }, true);`;

const WALKS = {
  'Did it work, and how sure is that?': async ({ page, ask }) => {
    const { totals } = await runNamed(ask, 'demo', 'totals { terminated truncated failed cancelled successes successRate }');
    const finished = totals.terminated + totals.truncated + totals.failed + totals.cancelled;
    const row = page.locator('tbody tr', { has: page.getByRole('link', { name: 'demo', exact: true }) });
    const label = await row.getByRole('img', { name: /interval/ }).getAttribute('aria-label');
    const [, share, of, low, high] = /^([\d.]+) % of (\d+), 95 % interval ([\d.]+) % to ([\d.]+) %$/.exec(label ?? '') ?? [];
    expect([share, of]).toEqual([(100 * totals.successRate).toFixed(1), String(finished)]);
    for (const [bound, value] of [low, high].map((text) => [Number(text) / 100, totals.successes / finished] as const))
      expect(Math.abs(value - bound) / Math.sqrt((bound * (1 - bound)) / finished)).toBeCloseTo(1.96, 1); // what Wilson solves
  },

  'Which tasks does it solve?': async ({ page, ask }) => {
    const run = await runNamed(ask, 'demo', 'totals { successes } successByDepth { taskDepth tasks finished successes }');
    await openRun(page, 'demo');
    const depths = page.locator('section.panel', { hasText: 'Success by depth of the task' }).locator('tbody tr');
    await depths.first().waitFor();
    for (const [at, row] of run.successByDepth.entries()) {
      const cells = await depths.nth(at).locator('td').allTextContents();
      expect([cells[0], cells[1], cells[2]]).toEqual([
        String(row.taskDepth),
        `${((100 * row.successes) / row.finished).toFixed(1)} %`,
        String(row.tasks),
      ]);
    }
    expect(await depths.count()).toBe(run.successByDepth.length);
    await page.locator('.mark').first().waitFor();
    expect(await page.locator('.mark-success').count()).toBe(run.totals.successes);
  },

  'Why did rollouts fail?': async ({ page, ask }) => {
    const { id } = await runNamed(ask, 'broken', '');
    const { rollouts } = await ask<{ rollouts: { totalCount: number; nodes: { reason: string }[] } }>(
      `{ rollouts(filter: { run: "${id}", outcomes: [failed] }) { totalCount nodes { reason } } }`,
    );
    await openRun(page, 'broken');
    await page.getByRole('heading', { name: `Failures: ${rollouts.totalCount}` }).waitFor();
    const [first] = await page.locator('section.panel', { hasText: 'Failures' }).locator('li').allTextContents();
    const most = rollouts.nodes.filter(({ reason }) => reason === REASON).length;
    expect(most).toBe(2);
    expect(first).toContain(`${most} × ${REASON}`);
    const ends = page.locator('section.panel', { hasText: 'How rollouts ended' });
    await ends.getByText(`${rollouts.totalCount} × failed or cancelled`).waitFor();
  },

  'What did the agent do, and which step earned the reward?': async ({ page, ask }) => {
    await openRun(page, 'demo');
    await page.locator('.mark-success').first().click();
    await page.locator('article.step .reward').first().waitFor();
    const { trajectory } = await ask<{
      trajectory: { steps: { depth: number; action: string; rewards: { component: string; value: number }[] }[] };
    }>(`{ trajectory(rollout: "${idOf(page)}") { steps { depth action rewards { component value } } } }`);
    const earned = trajectory.steps.filter(({ rewards }) => rewards.some(({ value }) => value > 0));
    expect(earned.length).toBeGreaterThan(0);
    for (const { depth, action, rewards } of earned) {
      const card = page.getByRole('article', { name: `step ${depth}`, exact: true });
      expect(await card.locator('.action').textContent()).toBe(action);
      expect(await card.locator('.reward').allTextContents()).toEqual(
        rewards.map(({ component, value }) => `${component} ${value > 0 ? '+' : ''}${Number(value.toPrecision(3))}`),
      );
    }
  },

  'What was the model shown?': async ({ page, ask }) => {
    await openRun(page, 'demo images');
    await page.locator('.mark').first().click();
    const card = page.getByRole('article', { name: 'step 2', exact: true });
    await card.getByRole('button', { name: /^Shown to the model \(image/ }).click();
    const caption = await card.locator('.history figcaption').textContent();
    const { trajectory } = await ask<{
      trajectory: {
        steps: { historyImage: { visionTokens: number; textTokens: number; segments: { text: string }[] } | null }[];
      };
    }>(`{ trajectory(rollout: "${idOf(page)}") { steps { historyImage { visionTokens textTokens segments { text } } } } }`);
    const image = trajectory.steps[2]?.historyImage;
    expect(caption).toContain(`: ${image?.visionTokens} tokens as an image, ${image?.textTokens} as text`);
    expect(
      (await card.locator('.segments li').allTextContents()).map((text) => text.replace(/^\d+, (from the cache|drawn)/, '')),
    ).toEqual(image?.segments.map(({ text }) => text));
  },

  'Where do two attempts at a task part?': async ({ page, ask }) => {
    await openRun(page, 'train demo-1');
    await openUnequalTask(page);
    await page
      .getByRole('link', { name: /^after \d+ steps?, by/ })
      .first()
      .click();
    const said = await page.getByText(/^They part at step \d+/).textContent();
    const { searchParams } = new URL(page.url());
    const { divergence } = await ask<{ divergence: { depth: number; kind: string } }>(
      `{ divergence(a: "${searchParams.get('a')}", b: "${searchParams.get('b')}") { depth kind } }`,
    );
    expect(said).toContain(`They part at step ${divergence.depth + 1}: `);
    expect(said).toContain(divergence.kind === 'action' ? 'another action' : '');
  },

  'What became of each rollout as a sample?': async ({ page, ask }) => {
    await openRun(page, 'train demo-1');
    await openUnequalTask(page);
    await page.getByRole('columnheader', { name: 'as a sample' }).waitFor();
    const { tree } = await ask<{
      tree: {
        rollouts: { ordinal: number; sample: { state: string; reason: string | null; estimate: { advantage: number } | null } }[];
      };
    }>(`{ tree(id: "${idOf(page)}") { rollouts { ordinal sample { state reason estimate { advantage } } } } }`);
    expect(tree.rollouts.length).toBeGreaterThan(1);
    for (const { ordinal, sample } of tree.rollouts) {
      const row = page.getByRole('row', { name: new RegExp(`^rollout ${ordinal}\\b`) });
      const advantage = sample.estimate ? String(Number(sample.estimate.advantage.toPrecision(3))) : '–';
      await row
        .getByRole('cell', { name: new RegExp(`^${advantage}`) })
        .first()
        .waitFor();
      expect(await row.locator('td .state').last().textContent()).toBe(sample.state);
    }
  },

  'How did the search decide?': async ({ page, ask }) => {
    await openRun(page, 'demo search');
    await page.locator('.heat-task').first().click();
    await page.getByRole('link', { name: 'As a tree' }).click();
    await page.getByRole('columnheader', { name: 'UCT' }).waitFor();
    const { tree } = await ask<{
      tree: {
        simulations: number;
        root: { children: { action: string; statistics: { visits: number; value: number } | null }[] };
      };
    }>(`{ tree(id: "${idOf(page)}") { simulations root { children { action statistics { visits value } } } } }`);
    await page.getByText(`after simulation ${tree.simulations} of ${tree.simulations}`).waitFor();
    const rows = await page.locator('aside.panel tbody tr').all();
    const shown = await Promise.all(rows.map((row) => row.locator('td').allTextContents()));
    expect(shown.map(([action, visits, value]) => [action, visits, value])).toEqual(
      tree.root.children.map(({ action, statistics }) => [
        action,
        String(statistics?.visits ?? 0),
        statistics ? String(Number(statistics.value.toPrecision(3))) : '–',
      ]),
    );
  },

  'What was a version trained on?': async ({ page, ask }) => {
    await page.getByRole('link', { name: 'Training' }).click();
    await page.getByRole('heading', { name: 'success', exact: true }).waitFor(); // it takes the first place when it is known
    await page.getByText(/samples produced, difference 0/).waitFor();
    const chart = page.locator('.chart svg').first();
    const box = await chart.boundingBox();
    await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 90);
    await page.getByRole('heading', { name: /^Version \d+ was made by batch \d+/ }).waitFor();
    const heading = await page.getByRole('heading', { name: /^Version \d+ was made/ }).textContent();
    const [, named, ordinal] = /^Version (\d+) was made by batch (\d+)$/.exec(heading ?? '') ?? [];
    const { policies } = await ask<{ policies: { id: string }[] }>('{ policies { id } }');
    const { policy } = await ask<{
      policy: {
        versions: {
          nodes: {
            version: number;
            batch: { ordinal: number; samples: { sampledTokens: number; rollout: { ordinal: number } }[] } | null;
          }[];
        };
      };
    }>(
      `{ policy(id: "${policies[0]?.id}") { versions(first: 50) { nodes { version batch { ordinal samples(first: 100) { sampledTokens rollout { ordinal } } } } } } }`,
    );
    const version = policy.versions.nodes.find((each) => each.version === Number(named));
    expect(version?.batch?.ordinal).toBe(Number(ordinal));
    const rows = await page.locator('section.panel tbody tr').all();
    const shown = await Promise.all(rows.map((row) => row.locator('td').allTextContents()));
    expect(shown.map((cells) => [cells[1], cells[5]?.replaceAll(',', '')])).toEqual(
      version?.batch?.samples.map(({ rollout, sampledTokens }) => [`rollout ${rollout.ordinal}`, String(sampledTokens)]),
    );
  },

  'Was what was mined checked, and did it hold?': async ({ page, ask }) => {
    await openRun(page, 'demo search');
    const listed = page.locator('section.panel li', { has: page.getByText('verified', { exact: true }) });
    await listed.first().getByRole('link').click();
    await page.getByText('reflection', { exact: true }).waitFor();
    const { revision } = await ask<{
      revision: { state: string; reflection: string; judgements: { verdict: string }[]; turns: { loss: boolean }[] };
    }>(`{ revision(id: "${idOf(page)}") { state reflection judgements { verdict } turns { loss } } }`);
    expect(revision.state).toBe('verified');
    await page.locator('.state', { hasText: revision.state }).first().waitFor();
    const learned = revision.turns.filter(({ loss }) => loss).length;
    await page
      .getByText(`The row as it is trained on: ${revision.turns.length} turns, the loss on ${learned} replies.`)
      .waitFor();
    expect(await page.getByText(/^judged (good|bad|uncertain|unparsed)$/).allTextContents()).toEqual(
      revision.judgements.map(({ verdict }) => `judged ${verdict}`),
    );
  },
} satisfies Record<string, (walk: Walk) => Promise<void>>;

async function openRun(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { name: 'Tasks and rollouts' }).waitFor();
}

/** Opens the first task whose rollouts earned different returns. */
export async function openUnequalTask(page: Page): Promise<void> {
  const unequal = page.locator('.heat li', { hasText: /variance 0?\.\d*[1-9]/ });
  await unequal.first().locator('.heat-task').click();
}

const idOf = (page: Page): string => new URL(page.url()).pathname.split('/').at(-1) ?? '';

interface RunRead {
  readonly id: string;
  readonly totals: Readonly<Record<'terminated' | 'truncated' | 'failed' | 'cancelled' | 'successes' | 'successRate', number>>;
  readonly successByDepth: readonly Readonly<Record<'taskDepth' | 'tasks' | 'finished' | 'successes', number>>[];
}

async function runNamed(ask: Walk['ask'], name: string, fields: string): Promise<RunRead> {
  const { runs } = await ask<{ runs: { nodes: (RunRead & { readonly name: string })[] } }>(
    `{ runs(first: 50) { nodes { id name ${fields} } } }`,
  );
  const node = runs.nodes.find((run) => run.name === name);
  if (!node) throw new Error(`no run has the name ${name}`);
  return node;
}

async function ask<Answer>(link: string, query: string): Promise<Answer> {
  const { origin, searchParams } = new URL(link);
  const headers = { authorization: `Bearer ${searchParams.get('token')}`, 'content-type': 'application/json' };
  const response = await fetch(`${origin}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) });
  const { data, errors } = (await response.json()) as { readonly data?: Answer; readonly errors?: readonly object[] };
  if (!data || errors) throw new Error(JSON.stringify(errors));
  return data;
}

/** Records a run whose rollouts failed for two reasons. */
async function recordFailures(link: string): Promise<void> {
  const builder = new EventBuilder('studio questions');
  const runId = builder.run('broken', { name: 'broken' });
  const tree = builder.tree(runId, 'broken');
  for (const [ordinal, reason] of ['the policy answered nothing', REASON, REASON].entries()) {
    const rolloutId = builder.rollout(tree, ordinal);
    const step = builder.step(tree, rolloutId, tree.rootStepId, 1, { action: `act ${ordinal}` });
    builder.finishRollout(tree, rolloutId, step, { outcome: 'failed', success: false, reason });
  }
  builder.finishRun(runId);
  const { origin, searchParams } = new URL(link);
  const headers = { authorization: `Bearer ${searchParams.get('token')}`, 'content-type': 'application/x-ndjson' };
  const body = builder.events.map((event) => JSON.stringify(event)).join('\n');
  const answer = await fetch(`${origin}/v1/events`, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(await answer.text());
}

async function questionsOfGuide(): Promise<readonly string[]> {
  const rows = (await readFile(GUIDE, 'utf8')).matchAll(/^\| ([^|]+\?) \|/gm);
  return [...rows].map(([, question]) => question ?? '');
}
