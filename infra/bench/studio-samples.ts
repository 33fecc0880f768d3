import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import type { Db } from '../../src/postgres/database.ts';
import { type AnswersFill, eventsOf, fillAnswers, type Saying, settleAnswers } from './fill-answers.ts';
import type { Size } from './stage.ts';

const FILL: Record<Size, AnswersFill> = {
  full: { trees: 9_000, runs: 20, tasks: 450 }, // 1,000,000 events
  quick: { trees: 60, runs: 4, tasks: 15 },
};
const POINTS: Record<Size, number> = { full: 40, quick: 3 };
const POLICY = 'bench';
/** Where a chart draws, in pixels. */
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 20, 20, 150];

/** Fills the record with many events, and the versions that its batches made. @returns the number of events. */
export async function fillSamples(db: Db, size: Size, say: Saying): Promise<number> {
  await fillAnswers(db, FILL[size], say);
  await sql`
    insert into lineages (lineage_id, policy_id, estimator, rules, seed, trainer, declared_at, said)
    select lineage_id, policy_id, estimator, rules, seed, '{}', min(planned_at), '' from batches where policy_id = ${POLICY}
    group by lineage_id, policy_id, estimator, rules, seed`.execute(db);
  await sql`
    insert into policy_versions (lineage_id, version, policy_id, batch_id, checkpoint_id, weights, samples, metrics, updated_at, said)
    select lineage_id, version, policy_id, batch_id, checkpoint_id, '', 1,
      jsonb_build_object('return', version / 80.0, 'entropy', 1 - version / 160.0, 'gradNorm', version % 7), acked_at, ''
    from batch_acks where policy_id = ${POLICY}`.execute(db);
  await sql`update training_runs set channel = 'train'`.execute(db);
  await sql`
    insert into owners (stream, topic, root, principal, project)
    select run_id, 'runs', null::uuid, 'local', 'default' from training_runs
    union all select lineage_id, 'training', null, 'local', 'default' from lineages`.execute(db);
  await sql`
    update batch_samples s set place = r.place
    from (select rollout_id, row_number() over (partition by batch_id order by place) - 1 as place from batch_samples) r
    where r.rollout_id = s.rollout_id`.execute(db);
  await sql`
    update batches b set samples = (select count(*) from batch_samples s where s.batch_id = b.batch_id)
    where policy_id = ${POLICY}`.execute(db);
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
