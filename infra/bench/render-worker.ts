import { sha256Hex } from '../../src/digest/sha256.ts';
import { composeHistory } from '../../src/images/compose-history.ts';
import { HistoryRenderer } from '../../src/images/history-renderer.ts';
import { renderSpec } from '../../src/images/render-profiles.ts';
import { renderSegment } from '../../src/images/render-segment.ts';
import type { RenderedSegment } from '../../src/images/rendered-segment.ts';
import { composeHistories } from './render-text.ts';

/** What one way of rendering took: CPU milliseconds for each step over all environments, and memory. */
export interface RenderFigures {
  readonly stepMs: readonly number[];
  /**
   * Kept between steps, counted: drawn segments and, at factors above 1, narrow rows with the images that are used again. Stacks
   * at factor 1 are the images handed out.
   */
  readonly keptBytes: number;
  /**
   * How far the resident memory of the process rose above what it was before the first step, all images of a step held until
   * those of the next are made.
   */
  readonly peakBytes: number;
  /** Of all images of the last step. */
  readonly imageBytes: number;
  /** SHA-256 over the pixels of the last step: equal where the same was drawn. */
  readonly digest: string;
}

type Way = (environment: number, records: readonly string[]) => Uint8Array;

const [, , way = 'cache', environments = '32', steps = '50', factor = '1', pillow = '12', warm = '16'] = process.argv;
const histories = composeHistories(Number(environments), Number(steps), 7);
const spec = renderSpec(Number(pillow) < 13 ? 'agentocr-alfworld' : 'agentocr-alfworld-pillow-13');
warmUp();
const { draw, kept } = openWay(way);
const figures = measure(draw, kept);
process.stdout.write(`${JSON.stringify(figures)}\n`);

function openWay(name: string): { readonly draw: Way; readonly kept: () => number } {
  const cf = Number(factor);
  if (name === 'none') {
    const draw: Way = (_, records) =>
      composeHistory(
        spec,
        records.map((text) => renderSegment(spec, text)),
        cf,
      ).rgb;
    return { draw, kept: () => 0 };
  }
  if (name === 'append') {
    const drawn: RenderedSegment[][] = histories.map(() => []);
    const draw: Way = (environment, records) => {
      const own = drawn[environment] ?? [];
      for (const text of records.slice(own.length)) own.push(renderSegment(spec, text));
      return composeHistory(spec, own, cf).rgb;
    };
    return {
      draw,
      kept: () =>
        drawn.flat().reduce((sum, { grey, patches }) => patches.reduce((s, p) => s + p.rgb.length, sum + grey.length), 0),
    };
  }
  const renderer = new HistoryRenderer(spec);
  const draw: Way = (_, segments) => renderer.render({ segments, factor: cf }).image.view();
  return { draw, kept: () => renderer.cache.counters.bytes + (cf === 1 ? 0 : renderer.stackBytes) };
}

function measure(draw: Way, kept: () => number): RenderFigures {
  const before = process.memoryUsage.rss();
  let peak = before;
  const stepMs: number[] = [];
  let images: Uint8Array[] = [];
  for (let step = 1; step <= Number(steps); step++) {
    const records = histories.map((history) => history.slice(0, step));
    const start = process.cpuUsage();
    images = records.map((each, environment) => draw(environment, each));
    const { user, system } = process.cpuUsage(start);
    stepMs.push((user + system) / 1000);
    peak = Math.max(peak, process.memoryUsage.rss());
  }
  const imageBytes = images.reduce((sum, { length }) => sum + length, 0);
  return { stepMs, keptBytes: kept(), peakBytes: peak - before, imageBytes, digest: sha256Hex(...images) };
}

/**
 * Lets the compiler see the code first, on other text: a process that collects runs for hours. What it leaves hides how far the
 * memory rises, so that is measured after a short one.
 */
function warmUp(): void {
  const renderer = new HistoryRenderer(spec);
  for (const history of composeHistories(Number(warm), 20, 1)) {
    for (let step = 1; step <= 20; step++)
      renderer.render({ segments: history.slice(0, step), factor: Number(factor) }).image.view();
    composeHistory(
      spec,
      history.map((text) => renderSegment(spec, text)),
      Number(factor),
    ).view();
  }
}
