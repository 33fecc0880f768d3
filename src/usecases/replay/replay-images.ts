import { SegmentCache } from '../../images/segment-cache.ts';
import type { DrawingWorld } from '../../projections/images/draw-recorded-segments.ts';
import { readHistoryImagesOfRun } from '../../projections/images/read-history-images.ts';
import { rebuildImage } from '../../projections/images/rebuild-image.ts';
import { ReplayRefused } from './replay-environment.ts';
import { Comparison, type ReplayReport } from './replay-report.ts';

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
