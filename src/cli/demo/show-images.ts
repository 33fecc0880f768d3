import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodePng } from '../../images/png.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readHistoryImagesOfRun } from '../../projections/images/read-history-images.ts';
import { readImageTotalsOfRuns } from '../../projections/images/read-image-totals.ts';
import { readHistory, readSegments } from '../../projections/images/read-segments.ts';
import { rebuildImage } from '../../projections/images/rebuild-image.ts';
import { pageLink } from '../page-link.ts';
import { print } from '../terminal.ts';
import { shownPath } from './shown-path.ts';

const WIDTH = 110; // characters of a record

/**
 * Draws the longest history image of a run again from the record, writes it as a PNG, and shows its text with what it saves.
 */
export async function showImages(platform: Platform, runId: string, url: string): Promise<void> {
  const { db } = platform.database;
  const images = await readHistoryImagesOfRun(db, runId);
  const longest = [...images].sort((a, b) => b.textTokens - a.textTokens || (a.stepId < b.stepId ? -1 : 1))[0];
  const [totals] = await readImageTotalsOfRuns(db, [runId]);
  if (!longest || !totals) return;
  const rebuilt = await rebuildImage({ db, blobs: platform.blobs }, longest);
  if (rebuilt.kind !== 'image') throw new Error(`the image ${longest.id} cannot be drawn again: ${rebuilt.detail}`);
  const folder = join(platform.config.home, 'exports');
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${runId}.history.png`);
  await writeFile(file, await encodePng(rebuilt.image));
  const history = await readHistory(db, longest);
  const texts = new Map((await readSegments(db, history)).map(({ id, text }) => [id, text]));
  const share = ((100 * totals.saved) / totals.textTokens).toFixed(0);
  print();
  print(
    `A question searched with its history shown as an image (AgentOCR): ${totals.steps} images of up to ${history.length} records,`,
  );
  print(
    `${totals.visionTokens} vision tokens in place of ${totals.textTokens} as text (${share} % saved at factor 1.2); ${totals.misses} records drawn, ${totals.hits} taken from the cache.`,
  );
  print(`The longest, ${longest.width}x${longest.height} px, drawn again from the record: ${shownPath(file)}`);
  for (const id of history) print(`  ${shorten(texts.get(id) ?? '')}`);
  print(`  ${await pageLink(platform.config, url, `/images/${longest.id}.png`)}`);
}

function shorten(text: string): string {
  return text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text;
}
