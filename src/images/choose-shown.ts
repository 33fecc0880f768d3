import { type HistoryKind, type HistorySizes, historySizes } from './history-sizes.ts';
import { renderMark } from './render-segment.ts';
import type { RenderSpec } from './render-spec.ts';
import type { RenderedSegment } from './rendered-segment.ts';

/** What of a history is shown. */
export interface VisibleHistory {
  readonly sizes: HistorySizes;
  /** The segments from top to bottom, with the mark that replaces dropped ones. */
  readonly segments: readonly RenderedSegment[];
  /** What limits left out: whole segments, and lines (those of dropped segments too). */
  readonly cut: { readonly segments: number; readonly lines: number };
  /** Characters of all segments that the atlas does not hold. */
  readonly outside: number;
  /** Characters of all segments that the published renderer may draw otherwise. */
  readonly unshaped: number;
}

/** Sums over segments. */
export interface Totals {
  height: number;
  cutLines: number;
  outside: number;
  unshaped: number;
}

/** Sums up segments, on top of what is known of those before them. */
export function addUp(
  segments: Iterable<RenderedSegment>,
  before: Readonly<Totals> = { height: 0, cutLines: 0, outside: 0, unshaped: 0 },
): Totals {
  const totals = { ...before };
  for (const { height, cutLines, outside, unshaped } of segments) {
    totals.height += height;
    totals.cutLines += cutLines;
    totals.outside += outside;
    totals.unshaped += unshaped;
  }
  return totals;
}

/**
 * Chooses what of a history is shown at a factor. Where it is too tall and the spec drops the oldest, the newest segments that
 * fit stand under a line that says how many are missing. @throws RenderRefused as `historySizes`.
 */
export function visibleHistory(
  spec: RenderSpec,
  all: readonly RenderedSegment[],
  factor: number,
  kind: HistoryKind,
  totals: Readonly<Totals> = addUp(all),
): VisibleHistory {
  let { height, cutLines: lines } = totals;
  const { outside, unshaped } = totals;
  if (height <= spec.limits.totalHeight || spec.limits.totalOverflow === 'refuse') {
    return { sizes: historySizes(spec, kind, height, factor), segments: all, cut: { segments: 0, lines }, outside, unshaped };
  }
  const room = spec.limits.totalHeight - spec.layout.lineHeight;
  let from = 0;
  while (height > room) {
    const dropped = all[from++];
    if (!dropped) break;
    height -= dropped.height;
    lines += dropped.lines;
  }
  const mark = renderMark(spec, `[${from} older records are not shown]`);
  const sizes = historySizes(spec, kind, height + mark.height, factor);
  return { sizes, segments: [mark, ...all.slice(from)], cut: { segments: from, lines }, outside, unshaped };
}
