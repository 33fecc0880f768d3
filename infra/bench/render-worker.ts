import { sha256Hex } from '../../src/digest/sha256.ts';
import { HistoryRenderer } from '../../src/images/history-renderer.ts';
import { renderSpec } from '../../src/images/render-profiles.ts';
import { composeHistories } from './render-text.ts';

/** What drawing took, by us or by Pillow. */
export interface RenderFigures {
  /** CPU of each step over all environments. */
  readonly stepMs: readonly number[];
  /** Drawn segments that are kept between steps. */
  readonly keptBytes: number;
  /** SHA-256 over the pixels of the last step: equal where the same was drawn. */
  readonly digest: string;
}

const WARM_UP = { histories: 96, steps: 20 }; // a process that collects runs for hours

const [environments = 32, steps = 50, pillow = 12] = process.argv.slice(2).map(Number);
const spec = renderSpec(pillow < 13 ? 'agentocr-alfworld' : 'agentocr-alfworld-pillow-13');
const other = new HistoryRenderer(spec);
for (const history of composeHistories(WARM_UP.histories, WARM_UP.steps, 1))
  for (let step = 1; step <= WARM_UP.steps; step++) other.render({ segments: history.slice(0, step), factor: 1 }).image.view();

const renderer = new HistoryRenderer(spec);
const histories = composeHistories(environments, steps, 7);
const stepMs: number[] = [];
let images: Uint8Array[] = [];
for (let step = 1; step <= steps; step++) {
  const records = histories.map((history) => history.slice(0, step));
  const began = process.cpuUsage();
  images = records.map((segments) => renderer.render({ segments, factor: 1 }).image.view());
  const { user, system } = process.cpuUsage(began);
  stepMs.push((user + system) / 1000);
}
const figures: RenderFigures = { stepMs, keptBytes: renderer.cache.counters.bytes, digest: sha256Hex(...images) };
process.stdout.write(`${JSON.stringify(figures)}\n`);
