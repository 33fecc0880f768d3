import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import type { Db } from '../../src/postgres/database.ts';
import { type AnswersFill, eventsOf, fillAnswers, type Saying, settleAnswers } from './fill-answers.ts';
import type { Size } from './stage.ts';

const FILL: Record<Size, AnswersFill> = {
  full: { trees: 9_000, runs: 20, tasks: 450 }, // 1,000,000 events
  quick: { trees: 600, runs: 4, tasks: 15 }, // of which four versions are made
};
const POINTS: Record<Size, number> = { full: 40, quick: 2 };
const POLICY = 'bench';
/** Where a chart draws, in pixels. */
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 20, 20, 150];

/** Fills the record with many events; the returns of the versions that its batches made rise. @returns the number of events. */
export async function fillSamples(db: Db, size: Size, say: Saying): Promise<number> {
  await fillAnswers(db, FILL[size], say);
  // the first version was made by no batch, and has no return
  await sql`
    update policy_versions v set metrics = jsonb_build_object('return', v.version::float / m.last, 'entropy', 1 - v.version / 2.0 / m.last,
      'gradNorm', v.version % 7)
    from (select max(version) as last from policy_versions where policy_id = ${POLICY}) m
    where v.policy_id = ${POLICY} and v.version > 0`.execute(db);
  await settleAnswers(db);
  await sql`analyze`.execute(db);
  return eventsOf(FILL[size]);
}

/** Chooses points of a curve, one after another, and returns the milliseconds until the samples of each are there. */
export async function choosePoints(page: Page, url: string, size: Size): Promise<readonly number[]> {
  await page.goto(`${url}/view/training?policy=${POLICY}`);
  await chartOfReturns(page).waitFor();
  const milliseconds: number[] = [];
  let shown: string | undefined;
  for (let n = 0; n <= POINTS[size]; n++) {
    const chart = chartOfReturns(page);
    await page.waitForTimeout(300); // a drawing follows its width
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    if (!box) throw new Error('the curve is not on the page');
    const along = n / (POINTS[size] + 1); // the returns rise from 0 to 1, from the lower left to the upper right of the chart
    await page.mouse.move(box.x + LEFT + (box.width - LEFT - RIGHT) * along, box.y + BOTTOM - (BOTTOM - TOP) * along);
    const began = performance.now();
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForURL((url) => versionOf(url) !== shown, { waitUntil: 'commit' });
    const version = versionOf(new URL(page.url()));
    shown = version;
    await page.getByRole('heading', { name: `Version ${version} was made by batch ${Number(version) - 1}` }).waitFor();
    await page.locator('section.panel tbody tr').first().waitFor();
    if (n > 0) milliseconds.push(performance.now() - began); // the first loads the script of the view
  }
  return milliseconds;
}

/** The version that the address names; a number as text is quoted there. */
function versionOf({ searchParams }: URL): string | undefined {
  return searchParams.get('version')?.replaceAll('"', '');
}

/** The curve of returns: which one is first depends on what else is known of the versions. */
function chartOfReturns(page: Page) {
  const panel = page.locator('section.panel', { has: page.getByRole('heading', { name: /^(return|meanReturn)$/ }) });
  return panel.locator('.chart svg').first();
}
