import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startEmbeddedPostgres } from '../postgres/embedded-server.ts';
import { hindrances, openStudioBrowser, openStudioPage } from '../testing/studio-browser.ts';
import { until } from '../testing/until.ts';
import { killRunning, startProcess } from '../testing/worker-process.ts';
import { openUnequalTask, questionFlows } from './studio-questions.contract.ts';

let home: string;
let link: string;
let demo: ReturnType<typeof startProcess>;
let browser: Browser;
let page: Page;
let wrong: readonly string[];
/** The demo has recorded everything; fails once for all flows, as soon as the demo ends. */
let recorded: Promise<unknown>;
const STUDIO_MS = 120_000; // building the studio, starting the browser
const LINK_MS = 120_000; // until the demo prints its link
const DEMO_MS = 480_000; // from then until it has recorded everything; two minutes where the machine does nothing else
const FLOW_MS = 180_000; // of clicks, each of which may wait a minute
/** The flows through the record of a demo. @param brokers the log is theirs, where given. */
export const studioFlows = (brokers?: () => Promise<readonly string[]>) => () => {
  beforeAll(async () => {
    browser = await openStudioBrowser();
    home = await mkdtemp(join(tmpdir(), 'espalier-studio-'));
    const kafka = brokers && { KAFKA_BROKERS: (await brokers()).join(','), ESPALIER_KAFKA_PREFIX: `${basename(home)}.` };
    const env = { ESPALIER_HOME: home, ESPALIER_PORT: '0', ESPALIER_PYTHON: 'no-python-of-this-name', ...kafka };
    demo = startProcess('src/cli/main.ts', ['demo', '--tasks', '12', '--rollouts', '2', '--deep-rollouts', '4'], env);
    [, link = ''] = await demo.printing(/^Studio {2}(http:\/\/127\.0\.0\.1:\d+\/\?token=\S+)/m, LINK_MS);
    recorded = demo.printing(/Serving until/, DEMO_MS);
    recorded.catch(() => undefined); // whoever waits for it fails, at once where it has failed
  }, LINK_MS + STUDIO_MS);
  afterAll(async () => {
    await browser?.close();
    demo?.kill('SIGTERM'); // on Kafka it has workers to end
    await demo?.endedWithin(60_000).catch(killRunning);
    await (await startEmbeddedPostgres({ folder: join(home, 'postgres') })).close(); // waits until the demo's server has stopped
    await rm(home, { recursive: true, force: true });
  });

  beforeEach(async () => {
    ({ page, wrong } = await openStudioPage(browser, link));
  });
  afterEach(async () => {
    await page.context().close();
    expect(wrong).toEqual([]);
  });

  test(
    'the first screen shows the run of the demo while it is collected, and goes on by itself',
    async () => {
      await page.getByRole('link', { name: /^demo$/ }).waitFor();
      await recorded;
      await page.getByRole('link', { name: 'evaluate demo-1 6' }).waitFor();
      await page.getByLabel('Kind').selectOption('search');
      await page.getByRole('link', { name: 'demo search' }).waitFor();
      await until(async () => (await page.locator('tbody tr').count()) === 1);
      expect(new URL(page.url()).searchParams.get('kind')).toBe('search');
    },
    DEMO_MS + FLOW_MS,
  );

  test(
    'the page as of the beginning of the record holds no run',
    async () => {
      await page.goto(`${new URL(link).origin}/?at=2020-01-01T00:00:00.000Z`);
      await page.getByText('Everything is shown as of').waitFor();
      await page.getByText('No run is on record that fits.').waitFor();
      await page.getByRole('link', { name: 'Show now' }).click();
      await page.getByRole('link', { name: /^demo$/ }).waitFor();
    },
    FLOW_MS,
  );

  describe('when the demo has recorded everything', () => {
    beforeAll(() => recorded, DEMO_MS);

    test(
      'runs are found by words over all of them, with what they cost, how fast they were written and their last returns',
      async () => {
        await page.getByRole('textbox', { name: 'Text' }).fill('sear');
        await until(async () => (await page.locator('tbody tr').count()) === 1);
        await page.getByRole('link', { name: 'demo search' }).waitFor();
        await until(async () => new URL(page.url()).searchParams.get('text') === 'sear');
        await page.getByRole('textbox', { name: 'Text' }).fill('evaluate 6');
        await page.getByRole('link', { name: 'evaluate demo-1 6' }).waitFor();
        await page
          .getByRole('img', { name: /^returns of the last \d+ rollouts/ })
          .first()
          .waitFor();
        await page
          .getByText(/^[\d.]+\/s$/)
          .first()
          .waitFor();
        await page.getByRole('link', { name: /^no lag|behind the log/ }).waitFor();
        await page.getByLabel('Policy').fill('nobody');
        await page.getByText('No run is on record that fits.').waitFor();
      },
      FLOW_MS,
    );

    test(
      'a mark of the run leads to its trajectory, with the prompt that the model was shown',
      async () => {
        await page.getByRole('link', { name: 'demo images' }).click();
        await page.getByRole('link', { name: /^rollout 0: terminated/ }).click();
        await page
          .getByRole('button', { name: /^Shown to the model \(image/ })
          .first()
          .click();
        const image = page.locator('.history img').first();
        await image.waitFor();
        await until(
          async () => ((await image.evaluate((element) => (element as { naturalWidth?: number }).naturalWidth)) ?? 0) > 0,
        );
        expect(await page.locator('.history figcaption').first().textContent()).toMatch(/\d+ tokens as an image, \d+ as text/);
      },
      FLOW_MS,
    );

    test(
      'a search is played from the record, and a node says the terms of its choice',
      async () => {
        await page.getByRole('link', { name: 'demo search' }).click();
        await page.locator('.heat-task').first().click();
        await page.getByRole('link', { name: 'As a tree' }).click();
        await page.getByText(/after simulation (\d+) of \1/).waitFor();
        await page.getByRole('button', { name: 'one simulation back' }).click();
        await until(async () => new URL(page.url()).searchParams.get('simulation') !== null);
        await page.getByRole('application').focus();
        await page.keyboard.press('ArrowRight');
        await page.getByRole('columnheader', { name: 'UCT' }).waitFor();
      },
      FLOW_MS,
    );

    test(
      'two rollouts of a group are shown next to each other from where they part',
      async () => {
        await page.getByRole('link', { name: 'train demo-1' }).click();
        await page.getByLabel('in order of').selectOption('RETURN_VARIANCE_DESC');
        await openUnequalTask(page);
        await page
          .getByRole('link', { name: /^after \d+ steps?, by/ })
          .first()
          .click();
        await page.getByText(/^They part at step \d+/).waitFor();
      },
      FLOW_MS,
    );

    test(
      'a group shows the advantages of another estimator next to those in force',
      async () => {
        await page.getByRole('link', { name: 'train demo-1' }).click();
        await page.getByLabel('in order of').selectOption('RETURN_VARIANCE_DESC');
        await openUnequalTask(page);
        await page.getByLabel('next to the estimator in force').selectOption('rloo');
        await page.getByRole('columnheader', { name: 'advantage by rloo' }).waitFor();
        expect(new URL(page.url()).searchParams.get('estimator')).toBe('rloo');
        const headers = await page.locator('th').allTextContents();
        const column = headers.indexOf('advantage by rloo');
        const shown = await page.locator(`tbody tr td:nth-child(${column + 1})`).allTextContents();
        const sum = shown.map(Number).reduce((total, each) => total + each, 0);
        expect(shown.some((each) => Number(each) !== 0)).toBe(true);
        expect(Math.abs(sum)).toBeLessThan(0.05);
      },
      FLOW_MS,
    );

    test(
      'a revision shows its verdicts, its row and its lineage both ways',
      async () => {
        await page.getByRole('link', { name: 'demo search' }).click();
        const verified = page.locator('section.panel li', { has: page.getByText('verified', { exact: true }) });
        await verified.first().getByRole('link').click();
        await page.getByText(/^The row as it is trained on: \d+ turns, the loss on [1-9]\d* replies\.$/).waitFor();
        await page
          .getByText(/^judged (good|bad|uncertain)$/)
          .first()
          .waitFor();
        await page.getByText('reflection', { exact: true }).waitFor();
        await page.getByRole('link', { name: 'Lineage' }).click();
        await page.getByRole('link', { name: 'RevisionVerified' }).waitFor();
        await page.getByRole('heading', { name: 'ends of its trajectories: 2' }).waitFor();
        const graph = page.getByRole('region', { name: 'The way through the record' });
        await graph.locator('[aria-current]').waitFor();
        expect(await hindrances(page)).toEqual([]);
        await graph.getByRole('link', { name: /^tree/ }).press('Enter');
        await graph.getByRole('button', { name: /^\d+ revisions$/, expanded: false }).press('Enter');
        await graph.getByRole('button', { name: /^\d+ revisions$/, expanded: true }).waitFor();
        await graph
          .getByRole('link', { name: /^revisions/ })
          .nth(4)
          .waitFor();
        expect(await hindrances(page)).toEqual([]);
      },
      FLOW_MS,
    );

    test(
      'a point of a curve leads to the samples of its batch, and the next one to those of another',
      async () => {
        await page.getByRole('link', { name: 'Training' }).click();
        await page.getByText(/samples produced, difference 0/).waitFor();
        const chart = page.locator('.chart svg').first();
        const box = await chart.boundingBox();
        await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 90);
        await page.mouse.down();
        await page.mouse.up();
        await page.getByRole('heading', { name: /^Version \d was made by batch \d/ }).waitFor();
        expect(await page.locator('section.panel tbody tr').count()).toBeGreaterThan(10);
        const first = await page.getByRole('heading', { name: /^Version \d+ was made/ }).textContent();
        await chart.locator('circle[r="3"]').last().click({ force: true });
        await until(async () => (await page.getByRole('heading', { name: /^Version \d+ was made/ }).textContent()) !== first);
      },
      FLOW_MS,
    );

    test(
      'curves show success, staleness and speed besides what updates measured, and the ledger leads to what is discarded and why',
      async () => {
        await page.getByRole('link', { name: 'Training' }).click();
        for (const name of ['success', 'return', 'entropy', 'clipFraction', 'staleness', 'gradientNorm', 'tokens per second'])
          await page.getByRole('heading', { name, exact: true }).waitFor();
        await page.getByRole('link', { name: /^rejected: zero-variance/ }).click();
        await page.getByRole('heading', { name: /^Discarded samples of demo-1/ }).waitFor();
        await page
          .getByText(/the same for all \d+ members/)
          .first()
          .waitFor();
        for (const by of ['length', 'version']) {
          await page.getByLabel('counted by').selectOption(by);
          await page.getByRole('columnheader', { name: by, exact: true }).first().waitFor();
          await page
            .getByText(/^(more often|less often|as the rest|one group: cannot be said)$/)
            .first()
            .waitFor();
        }
        expect(await hindrances(page)).toEqual([]);
        await page
          .getByRole('region', { name: 'Discarded samples' })
          .getByRole('link', { name: /^rollout/ })
          .first()
          .click();
        await page.getByText(/^sample: rejected/).waitFor();
        await page.goto(`${new URL(link).origin}/view/discarded?policy=demo-1`);
        await page.getByText(/parts have one group each: of these it cannot be said|parts of several groups differ/).waitFor();
      },
      FLOW_MS,
    );

    test(
      'the tokens of a trained step have texts, figures and what the versions before and after its training give to them',
      async () => {
        await page.goto(`${new URL(link).origin}/view/training?policy=demo-1&version=6`);
        await page.getByRole('heading', { name: /^Version 6 was made/ }).waitFor();
        await page
          .locator('section.panel tbody')
          .getByRole('link', { name: /^rollout/ })
          .first()
          .click();
        await page.getByRole('button', { name: '1 token' }).first().click();
        expect(await page.getByRole('button', { name: 'Shown to the model' }).count()).toBe(0); // linear policies read no prompt
        await page.getByRole('region', { name: 'Old against new' }).waitFor();
        await page.getByText(/^The update made it (more|less) likely, by the ratio/).waitFor();
        const address = page.url();
        await page.getByRole('link', { name: /^batch \d+$/ }).click();
        await page.getByRole('heading', { name: /^Version 6 was made/ }).waitFor();
        await page.goto(`${new URL(link).origin}/view/lineage/demo-1@5`);
        await page.getByRole('heading', { level: 1, name: 'demo-1@5' }).waitFor();
        await page.getByRole('heading', { name: 'versions after: 1' }).waitFor();
        await page.goto(address);
        await page.getByRole('button', { name: '1 token' }).first().click();
        await page.getByText('Each token').first().click();
        await page.getByRole('region', { name: 'Each token' }).getByRole('columnheader', { name: 'advantage' }).waitFor();
        for (const name of ['entropy', 'new log-prob', 'change'])
          await page.getByRole('region', { name: 'Each token' }).getByRole('columnheader', { name, exact: true }).waitFor();
        expect(await page.locator('.tokens li').first().textContent()).toMatch(/[a-z]/);
        expect(await hindrances(page)).toEqual([]);
      },
      FLOW_MS,
    );

    test(
      'a trajectory is laid next to a sibling, to one of another version, and to what replays of it showed',
      async () => {
        await page.getByRole('link', { name: 'train demo-1' }).click();
        await page.locator('.heat-marks a').first().click();
        await page.getByRole('link', { name: /^Diff with/ }).click();
        const next = page.getByLabel('next to');
        await next.locator('optgroup[label="siblings"] option').first().waitFor({ state: 'attached' });
        const options = await next.locator('option').evaluateAll((all) => all.map((each) => each.getAttribute('value') ?? ''));
        await next.selectOption(options.at(-1) ?? '');
        await page.getByText(/^(They part at step \d+|Both did and saw the same)/).waitFor();
        await next.selectOption('replay');
        await page
          .getByText(/were not executed again yet|came out/)
          .first()
          .waitFor();
        expect(await hindrances(page)).toEqual([]);
      },
      FLOW_MS,
    );

    test(
      'the events of a step are shown as they were appended, and a run says how long its rollouts are',
      async () => {
        await page.getByRole('link', { name: 'demo images' }).click();
        await page.getByRole('heading', { name: 'Lengths and returns' }).waitFor();
        await page.getByText(/^\d+ to \d+ actions, median \d+/).waitFor();
        await page.getByRole('link', { name: /^rollout 0: terminated/ }).click();
        await page.getByRole('button', { name: 'Events and lineage' }).first().click();
        await page
          .getByText(/^StepTaken/)
          .first()
          .click();
        await page
          .getByText(/"type": "StepTaken"/)
          .first()
          .waitFor();
        await page
          .getByRole('button', { name: /^Shown to the model \(image/ })
          .last()
          .click();
        await page.locator('.outline').first().waitFor();
        expect(await hindrances(page)).toEqual([]);
      },
      FLOW_MS,
    );

    test(
      'words are found with their marks, and the address is the search',
      async () => {
        await page.keyboard.press('/');
        await page.goto(`${new URL(link).origin}/view/find?words=craft`);
        await page.locator('mark').first().waitFor();
        await page.locator('.found a[href^="/view/trajectory/"]').first().click();
        await page.locator('.step-chosen').waitFor();
      },
      FLOW_MS,
    );

    test.each(['/', '/view/training', '/view/data', '/view/find?words=craft', '/view/operations'])(
      'axe finds nothing serious at %s',
      async (path) => {
        await page.goto(`${new URL(link).origin}${path}`);
        await page.locator('h1').waitFor();
        await page.waitForLoadState('load');
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          expect(await hindrances(page)).toEqual([]);
        }
      },
      FLOW_MS,
    );

    questionFlows({ page: () => page, link: () => link });
  });

  test('a browser that nobody let in reads how to come in', async () => {
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(new URL(link).origin);
    await stranger.getByText('espalier token --link').first().waitFor({ timeout: 60_000 });
    await stranger.context().close();
  });
};
