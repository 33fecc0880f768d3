import { cutText } from '../../domain/text/cut-text.ts';
import { SegmentCache } from '../../images/segment-cache.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { DrawingWorld } from '../../projections/images/draw-recorded-segments.ts';
import { readHistoryImagesOfRun } from '../../projections/images/read-history-images.ts';
import { rebuildImage } from '../../projections/images/rebuild-image.ts';
import type { Projection } from '../../projections/projection.ts';
import { type BuildComparison, compareBuild } from '../../projections/rebuild/compare-build.ts';
import { type FieldDifference, isSame } from '../../projections/rebuild/compare-tables.ts';
import { holdRebuild } from '../../projections/rebuild/hold-rebuild.ts';
import { dropOwn } from '../../projections/rebuild/open-build.ts';
import { withNewBuild } from '../../projections/rebuild/with-new-build.ts';
import { endingWith, type RebuildOptions } from '../rebuild/rebuild-projection.ts';
import { ReplayRefused } from './replay-environment.ts';
import { Comparison, type ReplayReport } from './replay-report.ts';

/**
 * Folds the log again, projection by projection, into schemas of their own, compares every table with the live one by checksum,
 * and drops what it folded. What is compared are tables; what differs is named by table, row and field. Killed, the next one goes
 * on with what was folded.
 */
export async function replayProjections(
  parts: Pick<Platform, 'database' | 'log'> & Partial<Pick<Platform, 'threads'>>,
  projections: readonly Projection[],
  options: RebuildOptions,
): Promise<{ readonly report: ReplayReport; readonly comparisons: readonly BuildComparison[] }> {
  const comparison = new Comparison('projections');
  const comparisons: BuildComparison[] = [];
  for (const projection of projections) comparisons.push(await replayProjection(parts, projection, options));
  for (const { tables, differences } of comparisons) {
    for (const sums of tables) {
      const named = isSame(sums) ? [] : differences.filter(({ table }) => table === sums.table);
      for (const difference of named) noteDifference(comparison, difference);
      // also where they differ and nothing could be named
      if (named.length === 0) comparison.compare(at(sums.table), sums.live, sums.anew);
      if (!isSame(sums))
        comparison.note(`${sums.table}: ${sums.live.rows} rows live, ${sums.anew.rows} folded again, checksums differ`);
    }
    for (const difference of differences.filter(({ table }) => table === 'quarantine')) noteDifference(comparison, difference);
  }
  return { report: comparison.report(), comparisons };
}

async function replayProjection(
  parts: Pick<Platform, 'database' | 'log'> & Partial<Pick<Platform, 'threads'>>,
  projection: Projection,
  given: RebuildOptions,
): Promise<BuildComparison> {
  const { database } = parts;
  return holdRebuild(database, projection, async (lost) => {
    const options = endingWith(given, lost);
    const { build, found } = await withNewBuild(parts, projection, options, async (build) => ({
      build,
      found: await compareBuild(database, build, options),
    }));
    await dropOwn(database.db, build);
    return found;
  });
}

function noteDifference(comparison: Comparison, { table, key, field, live, anew }: FieldDifference): void {
  const row = Object.values(key)
    .map((value) => ` ${value}`)
    .join('');
  const id = (column: string) => (typeof key[column] === 'string' ? key[column] : null);
  const place = cutText(`${table}${row}${field === '' ? '' : `, ${field}`}`, 200);
  // A value that is not there reads as the text `null`: where it could be either, both are reported as JSON.
  const [before, after] = live === 'null' || anew === 'null' ? [JSON.stringify(live), JSON.stringify(anew)] : [live, anew];
  comparison.compare({ ...at(place), eventId: id('event_id'), stepId: id('step_id') }, before, after);
}

function at(field: string): { readonly eventId: null; readonly stepId: null; readonly field: string } {
  return { eventId: null, stepId: null, field };
}

/**
 * Draws every history image of a run again from the record and compares its id, which is the SHA-256 of its pixels.
 * @throws ReplayRefused where all are forgotten.
 */
export async function replayImages(
  world: Omit<DrawingWorld, 'draw'>,
  runId: string,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: (done: number, of: number) => void },
): Promise<ReplayReport> {
  const comparison = new Comparison('images');
  const cache = new SegmentCache();
  const images = await readHistoryImagesOfRun(world.db, runId);
  let forgotten = 0;
  for (const [index, image] of images.entries()) {
    signal.throwIfAborted();
    const rebuilt = await rebuildImage({ ...world, draw: (spec, text) => cache.get(spec, text).entry.segment }, image);
    if (rebuilt.kind === 'forgotten') forgotten++;
    else {
      const found = rebuilt.kind === 'image' ? rebuilt.image.imageId : describe(rebuilt);
      comparison.compare({ eventId: null, stepId: image.stepId, field: 'imageId' }, image.id, found);
    }
    progress?.(index + 1, images.length);
  }
  if (forgotten > 0 && forgotten === images.length)
    throw new ReplayRefused(`the ${forgotten} images of run ${runId} are forgotten, as the texts that they showed`);
  if (forgotten > 0) comparison.note(`images that are left out, since the texts that they showed are forgotten: ${forgotten}`);
  if (images.length === 0) comparison.note('the run showed no history as an image');
  return comparison.report();
}

function describe(rebuilt: Exclude<Awaited<ReturnType<typeof rebuildImage>>, { kind: 'image' | 'forgotten' }>): string {
  return rebuilt.kind === 'damaged' ? `${rebuilt.what} ${rebuilt.id}: ${rebuilt.detail}` : rebuilt.detail;
}
