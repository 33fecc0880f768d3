import { addUp, type VisibleHistory, visibleHistory } from './choose-shown.ts';
import { type HistoryImage, lazyImage, paint } from './compose-history.ts';
import type { HistoryKind } from './history-sizes.ts';
import {
  type HistoryStack,
  openStack,
  pushSegments,
  resizingRows,
  stackBytes,
  stackRows,
  viewResized,
  viewStack,
} from './history-stack.ts';
import type { RenderSpec } from './render-spec.ts';
import type { RenderedSegment } from './rendered-segment.ts';
import { vectorLoops } from './resize/vector-loops.ts';
import { type CachedSegment, SegmentCache } from './segment-cache.ts';

export interface HistoryRequest {
  /** What `splitSegments` gave, oldest first. */
  readonly segments: readonly string[];
  /** From 1 up. */
  readonly factor: number;
  /** What a history without a segment is: not there yet, or there and blank. `absent` when it is not said. */
  readonly empty?: Exclude<HistoryKind, 'segments'>;
  /** The episode that the history is of: what is kept to continue it is dropped by `release`. */
  readonly episode?: string | undefined;
}

export interface RenderedHistory {
  readonly image: HistoryImage;
  /** In order; those that a limit left out of the image too. */
  readonly segments: readonly DrawnSegment[];
}

export interface DrawnSegment {
  readonly id: string;
  readonly text: string;
  /** False when it had to be drawn for this image. */
  readonly hit: boolean;
  readonly segment: RenderedSegment;
}

/** Leaves the id to the entry, which computes it when asked. */
class Drawn implements DrawnSegment {
  readonly hit: boolean;
  readonly #entry: CachedSegment;
  constructor(entry: CachedSegment, hit: boolean) {
    this.#entry = entry;
    this.hit = hit;
  }
  get id(): string {
    return this.#entry.id;
  }
  get text(): string {
    return this.#entry.text;
  }
  get segment(): RenderedSegment {
    return this.#entry.segment;
  }
}

export interface HistoryRendererOptions {
  readonly cache?: SegmentCache;
  /** Bound of the memory that is allocated for stacks that are kept to be continued. */
  readonly stackBytes?: number;
}

/**
 * Draws histories by one spec. A history that begins with one that was drawn before continues its stack: only what is new is
 * drawn and stacked. What it keeps decides how long a call takes, never what comes out.
 */
export class HistoryRenderer {
  readonly spec: RenderSpec;
  readonly cache: SegmentCache;
  readonly #stackBytes: number;
  readonly #stacks = new Set<HistoryStack>();
  #bytes = 0;
  #tick = 0;

  constructor(spec: RenderSpec, { cache = new SegmentCache(), stackBytes = 128 << 20 }: HistoryRendererOptions = {}) {
    this.spec = spec;
    this.cache = cache;
    this.#stackBytes = stackBytes;
  }

  /** Bytes that are allocated for the stacks that are kept. */
  get stackBytes(): number {
    return this.#bytes;
  }

  /** Drops the stacks of an episode that has ended. */
  release(episode: string): void {
    for (const stack of this.#stacks) if (stack.episode === episode) this.#drop(stack);
  }

  /** Drops the stacks of all episodes: their texts may be forgotten. */
  clear(): void {
    for (const stack of this.#stacks) this.#drop(stack);
  }

  /** Draws a history. @throws RenderRefused for a bad factor or a history that is too tall. */
  render(request: HistoryRequest): RenderedHistory {
    const stack = this.#findStack(request.segments);
    const known = stack?.entries.length ?? 0;
    this.cache.countReused(known);
    const found = request.segments.slice(known).map((text) => this.cache.get(this.spec, text));
    const segments = (stack?.entries ?? []).map((entry): DrawnSegment => new Drawn(entry, true));
    for (const { entry, hit } of found) segments.push(new Drawn(entry, hit));
    const added = found.map(({ entry }) => entry.segment);
    const all = [...(stack?.segments ?? []), ...added];
    const kind = all.length > 0 ? 'segments' : (request.empty ?? 'absent');
    const shown = visibleHistory(this.spec, all, request.factor, kind, addUp(added, stack?.totals));
    if (all.length === 0 || shown.segments !== all) return { image: lazyImage(shown, () => paint(this.spec, shown)), segments };
    return { image: this.#continue(stack, shown, found, request.episode), segments };
  }

  /** Draws a history with the help of the cache's shared store. @throws as `render`, and what the store throws. */
  async renderShared(request: HistoryRequest): Promise<RenderedHistory> {
    const known = this.#findStack(request.segments)?.entries.length ?? 0;
    await this.cache.fetch(this.spec, request.segments.slice(known));
    const history = this.render(request);
    await this.cache.publish(history.segments.filter(({ hit }) => !hit));
    return history;
  }

  #continue(
    known: HistoryStack | undefined,
    history: VisibleHistory,
    found: readonly { readonly entry: CachedSegment }[],
    episode: string | undefined,
  ): HistoryImage {
    const stack = known ?? openStack(this.spec);
    stack.episode = episode;
    pushSegments(
      stack,
      found.map(({ entry }) => entry),
    );
    const { raw, resized } = history.sizes;
    const asStacked = raw.width === resized.width && raw.height === resized.height;
    const loops = vectorLoops();
    if (asStacked) stackRows(stack);
    const rows = !asStacked && loops && resizingRows(stack, history.sizes, loops);
    stack.used = ++this.#tick;
    const version = ++stack.version;
    this.#stacks.add(stack);
    this.#count(stack);
    const view = (): Uint8Array => {
      if (stack.version !== version) return paint(this.spec, history);
      if (asStacked) return viewStack(stack, history.sizes);
      const framed = loops && rows && viewResized(stack, rows, history.sizes, loops);
      this.#count(stack); // room for the resized image is made now
      return framed || paint(this.spec, history);
    };
    return lazyImage(history, () => view().slice(), view);
  }

  /** Finds the longest stack that the segments begin with. */
  #findStack(segments: readonly string[]): HistoryStack | undefined {
    let best: HistoryStack | undefined;
    for (const stack of this.#stacks) {
      const { entries } = stack;
      const last = entries.length - 1;
      if (last >= segments.length || last < (best?.entries.length ?? 0)) continue;
      if (entries[last]?.text === segments[last] && entries.every(({ text }, i) => text === segments[i])) best = stack;
    }
    return best;
  }

  /** Counts what a stack takes by now, and drops the least recently used ones beyond the bound. */
  #count(stack: HistoryStack): void {
    if (!this.#stacks.has(stack)) return;
    const bytes = stackBytes(stack);
    this.#bytes += bytes - stack.counted;
    stack.counted = bytes;
    while (this.#bytes > this.#stackBytes) {
      let oldest: HistoryStack | undefined;
      for (const kept of this.#stacks) if (!oldest || kept.used < oldest.used) oldest = kept;
      if (!oldest) return;
      this.#drop(oldest);
    }
  }

  #drop(stack: HistoryStack): void {
    this.#stacks.delete(stack);
    this.#bytes -= stack.counted;
    stack.counted = 0;
  }
}
