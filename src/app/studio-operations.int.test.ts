import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { prepareEvents } from '../append/prepare-events.ts';
import type { Envelope } from '../events/envelope.ts';
import { createKey } from '../postgres/keys.ts';
import { SILENT } from '../runtime/logger.ts';
import { describeWithBrowser } from '../testing/browser-describe.ts';
import { settle } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { stepBeforeItsParent } from '../testing/given-quarantined.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { recordBatch, recordGroup, recordLineage } from '../testing/record-training.ts';
import { hindrances, openStudioBrowser, openStudioPage } from '../testing/studio-browser.ts';
import { until } from '../testing/until.ts';
import { keepVerification } from '../usecases/verify/verification.ts';
import { verifyRecord } from '../usecases/verify/verify-record.ts';
import { runAll } from './run-all.ts';

const HOSTILE = '<img src=x onerror=alert(1)> ‮evil‬ 🌳 </script>';
const POLICY = HOSTILE.replaceAll(/\p{C}/gu, ''); // the id of a policy has no control characters
const builder = new EventBuilder('operations');
const { early, parent } = stepBeforeItsParent(builder);
const { early: other, parent: otherParent } = stepBeforeItsParent(builder, 'early too');
const replayed = builder.run('replayed', { name: HOSTILE });

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let server: Awaited<ReturnType<typeof runAll>>;
let link: string;
let browser: Browser;
let page: Page;
let wrong: readonly string[];

/** Quarantine with its form, and reports of replays. */
describeWithBrowser('the operations of the studio', () => {
  const append = async (events: readonly Envelope[]) => {
    await platform.log.append(await prepareEvents(events, platform.blobs, platform.stamp));
    await settle(platform); // a page that is opened before shows what was there then
  };

  beforeAll(async () => {
    browser = await openStudioBrowser();
    platform = await openTestPlatform();
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

  const waiting = async () =>
    (
      await platform.database.db
        .selectFrom('quarantine')
        .select(['topic', 'partition', 'offset'])
        .where('requeuedAt', 'is', null)
        .distinct()
        .execute()
    ).length;
  const open = (on = page) => on.goto(`${server.url}/view/operations`);
  const form = (on = page) => on.getByRole('dialog');

  test('a view that is opened while the server is away is shown when the server is back, and the page is not left', async () => {
    page = await page.context().newPage(); // whose scripts nobody loaded ahead
    await page.route('**/assets/training-*.js', (route) => route.abort('connectionrefused'));
    await page.goto(link);
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.evaluate('window.stays = true');
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Training' }).click();
    await page.getByText('The server does not answer.').first().waitFor();
    await page.getByRole('link', { name: 'Runs' }).first().waitFor();
    await page.unroute('**/assets/training-*.js');
    await page.context().setOffline(false);
    await page.getByText('No policy is declared for training yet.').waitFor();
    expect(await page.evaluate('window.stays')).toBe(true);
  });

  test('an empty record has no quarantine and no replays, and says how there would be some', async () => {
    await open();
    await page.getByText('Every record was folded.').waitFor();
    await page.getByText('Nothing was done over from the record yet').waitFor();
    await page.getByText('The record was not verified yet').waitFor();
    await page.getByText('No trainer has a batch.').waitFor();
    expect(await hindrances(page)).toEqual([]);
    await picture(page, 'operations-empty-1440');
  });

  test('what is requeued before its parent stays with the reason, and behind it is folded', async () => {
    await append([...early, ...other]);
    await until(async () => (await waiting()) === 2);
    await open();
    await page.getByRole('button', { name: 'Requeue the 2 that wait here' }).waitFor();
    await page
      .getByRole('button', { name: /^Requeue trees\./ })
      .first()
      .click();
    await form().getByText('This cannot be undone.').waitFor();
    await picture(page, 'requeue-1440');
    await form().getByRole('button', { name: 'Cancel' }).click();
    await form().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Requeue the 2 that wait here' }).click();
    await form().getByRole('button', { name: 'Requeue', exact: true }).click();
    await page
      .getByText(/stays: /)
      .first()
      .waitFor();
    await append([parent, otherParent]);
    await page.getByRole('button', { name: 'Requeue the 2 that wait here' }).click();
    await form().getByLabel('Reason').fill('the parents are there');
    await form().getByRole('button', { name: 'Requeue', exact: true }).click();
    await page
      .getByText(/was requeued by trees\.\d+:\d+\.$/)
      .first()
      .waitFor();
    await page
      .getByText(/^requeued /)
      .first()
      .waitFor();
    expect(await page.getByRole('button', { name: /^Requeue/ }).count()).toBe(0);
    await picture(page, 'operations-requeued-1440');
  });

  test('a key without the scope admin is shown what it lacks, and the mutation is refused', async () => {
    const { early: third } = stepBeforeItsParent(builder, 'third');
    await append(third);
    await until(async () => (await waiting()) === 1);
    const { key } = await createKey(platform.database.db, { name: 'reader', scopes: ['read'], projects: 'all' });
    const reader = await openStudioPage(browser, server.url, { key });
    await open(reader.page);
    await reader.page
      .getByRole('button', { name: /^Requeue trees\./ })
      .first()
      .click();
    await form(reader.page).getByRole('alert').getByText('admin').first().waitFor();
    expect(await form(reader.page).getByRole('button', { name: 'Requeue', exact: true }).isDisabled()).toBe(true);
    expect(await hindrances(reader.page)).toEqual([]);
    await reader.page.context().close();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const ask = async (places: string) => {
      const query = `mutation { requeue(places: [${places}]) { outcome } }`;
      return (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })).json();
    };
    expect(await ask('"trees.0:1"')).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
    expect(await ask('"somewhere"')).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
  });

  test('what is not certain or not recorded of captured calls is counted on the page of the run, and marked on that of the rollout', async () => {
    const from = builder.events.length;
    const run = builder.run('unclear');
    const tree = builder.tree(run, 'unclear');
    const rollout = builder.rollout(tree, 0);
    const leaf = builder.step(tree, rollout, tree.rootStepId, 1);
    builder.finishRollout(tree, rollout, leaf, { steps: 1, unclearCalls: 2, lostParts: 3 });
    await append(builder.events.slice(from));
    await page.goto(`${server.url}/view/run/${run}`);
    await page.getByText('unclear calls').waitFor();
    await page.goto(`${server.url}/view/trajectory/${rollout}`);
    await page.getByText('2 unclear calls').waitFor();
    await page.getByText('3 unreadable parts').waitFor();
    expect(await hindrances(page)).toEqual([]);
  });

  test('partitions show where the log ends, and a batch that a trainer has is shown with its deadline', async () => {
    const from = builder.events.length;
    const lineageId = recordLineage(builder, POLICY);
    const run = builder.run('trained', { policy: { policyId: POLICY, version: 0 } });
    const group = recordGroup(builder, run, 'trained', { policyId: POLICY, rewards: [0, 1] });
    const { batchId } = recordBatch(builder, POLICY, [group]);
    const lease = { lineageId, policyId: POLICY, batchId, leaseId: builder.id('lease'), fence: 3, consumer: HOSTILE };
    builder.record('BatchLeased', { ...lease, deadline: '2020-01-01T00:05:00.000Z' }, lineageId);
    await append(builder.events.slice(from));
    await open();
    const leases = page.getByRole('region', { name: 'Leases' });
    await leases.getByText(/batch 0, 2 samples, by .*, fence 3/).waitFor();
    await leases.getByText('behind its deadline').waitFor();
    const partitions = page.getByRole('region', { name: 'Partitions' }).last();
    await until(async () => (await partitions.getByText(/^none of \d+ projections$/).count()) > 2);
    const records = async () =>
      (await partitions.locator('td:nth-child(2)').allTextContents()).map(Number).reduce((sum, each) => sum + each, 0);
    await until(async () => (await records()) >= from); // the page may show the ends of a moment before
    await picture(page, 'operations-leases-1440');
  });

  test('the report of a replay names what differs, in any text, and a narrow page does not overflow', async () => {
    const [run] = builder.events.filter(({ type, stream }) => type === 'RunStarted' && stream === replayed);
    const from = builder.events.length;
    const differs = { eventId: null, stepId: null, field: HOSTILE, recorded: 'x'.repeat(900), replayed: HOSTILE };
    builder.record(
      'ReplayFinished',
      {
        replayId: builder.id('replay'),
        runId: replayed,
        mode: 'environment',
        outcome: 'differs',
        compared: 12,
        differing: 1,
        differences: [differs],
        notes: [HOSTILE],
        parameters: { said: HOSTILE },
        codeVersion: '1',
        seconds: 3,
      },
      replayed,
    );
    if (!run) throw new Error('the run was recorded');
    await append([run, ...builder.events.slice(from)]);
    await open();
    await page.getByText('12 compared, 1 differ').waitFor();
    await page.getByText('Report of the replay, with 1 of what differs').click();
    await page.getByRole('columnheader', { name: 'replayed' }).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await hindrances(page)).toEqual([]);
    }
    await picture(page, 'operations-replay-1440');
    await page.setViewportSize({ width: 390, height: 844 });
    await picture(page, 'operations-390');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });

  test('verifications are listed with what they compared, the faulty one with its faults, and none for a key of a project', async () => {
    const { db } = platform.database;
    const verified = async () =>
      keepVerification(platform, await verifyRecord(platform, { files: [], signal: AbortSignal.timeout(60_000) }), 2_000);
    await verified();
    await open();
    const list = page.getByRole('region', { name: /^Verifications/ });
    await list.getByText('intact', { exact: true }).waitFor();
    await list.getByText('Report of the verification').click();
    await list.getByText(/\d+ events, \d+ records of the log/).waitFor();
    await sql`update journal_v1.events set type = 'StepTaken' where type = 'RunStarted' and stream = ${replayed}`.execute(db);
    await verified();
    await sql`update journal_v1.events set type = 'RunStarted' where type = 'StepTaken' and stream = ${replayed}`.execute(db);
    await open();
    await list.getByText('event changed').waitFor();
    await picture(page, 'operations-verified-1440');
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await hindrances(page)).toEqual([]);
    }
    const { key } = await createKey(db, { name: 'one project', scopes: ['read'], projects: ['default'] });
    const reader = await openStudioPage(browser, server.url, { key });
    await open(reader.page);
    await reader.page.getByText('The record was not verified yet, or not for you to see').waitFor();
    await reader.page.context().close();
  });
});

/** Keeps what a page looks like, for people, where ESPALIER_PICTURES names a folder. */
async function picture(of: Page, name: string): Promise<void> {
  const folder = process.env.ESPALIER_PICTURES;
  if (folder) await of.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
