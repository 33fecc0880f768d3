import { limitOf } from '../runtime/limit.ts';
import { segmentId } from './image-id.ts';
import { packSegment, SegmentDamaged, unpackSegment } from './pack-segment.ts';
import { renderSegment } from './render-segment.ts';
import { type RenderSpec, renderSpecId } from './render-spec.ts';
import { type RenderedSegment, segmentBytes } from './rendered-segment.ts';

/** Where processes share drawn segments, by segment id. Bytes are checked when they are read, so it need not be trusted. */
export interface SegmentStore {
  get(segmentId: string): Promise<Uint8Array | undefined>;
  put(segmentId: string, bytes: Uint8Array): Promise<void>;
}

export interface CachedSegment {
  /** Computed when it is first asked for. */
  readonly id: string;
  readonly text: string;
  readonly segment: RenderedSegment;
  readonly bytes: number;
}

/** What a cache did. Reuse is hits / (hits + misses). */
export interface CacheCounters {
  /** Found in memory, or in a stack that was continued. */
  readonly hits: number;
  /** Taken from the shared store into memory, where they are then hit. */
  readonly storeHits: number;
  /** Drawn. */
  readonly misses: number;
  readonly evictions: number;
  /** Entries of the store that could not be read, or whose bytes were damaged: drawn again and written again. */
  readonly damaged: number;
  readonly segments: number;
  readonly bytes: number;
}

export interface SegmentCacheOptions {
  /** Bound of what stays in memory. */
  readonly maxBytes?: number;
  readonly store?: SegmentStore;
  /** Called for each damaged entry of the store. */
  readonly onDamaged?: (damage: SegmentDamaged) => void;
}

const FETCHED_AT_ONCE = 32;

class Entry implements CachedSegment {
  readonly text: string;
  readonly segment: RenderedSegment;
  readonly bytes: number;
  readonly shelf: Map<string, Entry>;
  used: number;
  readonly #spec: RenderSpec;
  #id: string | undefined;

  constructor(spec: RenderSpec, text: string, segment: RenderedSegment, shelf: Map<string, Entry>, used: number) {
    this.#spec = spec;
    this.text = text;
    this.segment = segment;
    this.bytes = segmentBytes(segment) + 2 * text.length;
    this.shelf = shelf;
    this.used = used;
  }

  get id(): string {
    this.#id ??= segmentId(renderSpecId(this.#spec), this.text);
    return this.#id;
  }
}

/**
 * Keeps drawn segments for all rollouts of a process, by render spec and text, and drops the least recently used when they take
 * more than `maxBytes`. What it holds never changes a picture: a segment is a function of spec and text.
 */
export class SegmentCache {
  readonly #shelves = new Map<string, Map<string, Entry>>();
  readonly #maxBytes: number;
  readonly #store: SegmentStore | undefined;
  readonly #onDamaged: (damage: SegmentDamaged) => void;
  #tick = 0;
  #counts = { hits: 0, storeHits: 0, misses: 0, evictions: 0, damaged: 0, segments: 0, bytes: 0 };

  constructor({ maxBytes = 64 << 20, store, onDamaged = () => {} }: SegmentCacheOptions = {}) {
    this.#maxBytes = maxBytes;
    this.#store = store;
    this.#onDamaged = onDamaged;
  }

  get counters(): CacheCounters {
    return { ...this.#counts };
  }

  /** Returns a segment from memory, or draws it. */
  get(spec: RenderSpec, text: string): { readonly entry: CachedSegment; readonly hit: boolean } {
    const shelf = this.#shelf(spec);
    const known = shelf.get(text);
    if (known) {
      known.used = ++this.#tick;
      this.#counts.hits++;
      return { entry: known, hit: true };
    }
    this.#counts.misses++;
    return { entry: this.#add(shelf, spec, text, renderSegment(spec, text)), hit: false };
  }

  /**
   * Takes into memory what the shared store has of these texts. A damaged entry is reported to `onDamaged` and left for `get` to
   * draw, as is one that cannot be read.
   */
  async fetch(spec: RenderSpec, texts: readonly string[]): Promise<void> {
    const store = this.#store;
    if (!store) return;
    const shelf = this.#shelf(spec);
    const missing = [...new Set(texts)].filter((text) => !shelf.has(text));
    const inTurn = limitOf(FETCHED_AT_ONCE);
    const fetchOne = async (text: string): Promise<void> => {
      const segment = await this.#read(store, segmentId(renderSpecId(spec), text));
      if (!segment || shelf.has(text)) return;
      this.#counts.storeHits++;
      this.#add(shelf, spec, text, segment);
    };
    await Promise.all(missing.map((text) => inTurn(() => fetchOne(text))));
  }

  /** Returns drawn segments to the shared store. @throws what the store throws. */
  async publish(drawn: readonly Pick<CachedSegment, 'id' | 'segment'>[]): Promise<void> {
    for (const { id, segment } of drawn) await this.#store?.put(id, packSegment(id, segment));
  }

  /** Drops what is in memory: some of it may be forgotten. */
  clear(): void {
    this.#shelves.clear();
    this.#counts = { ...this.#counts, segments: 0, bytes: 0 };
  }

  /** Counts segments that did not have to be looked up, since the stack that they stand in was continued. */
  countReused(segments: number): void {
    this.#counts.hits += segments;
  }

  async #read(store: SegmentStore, id: string): Promise<RenderedSegment | undefined> {
    try {
      const bytes = await store.get(id);
      return bytes && unpackSegment(id, bytes);
    } catch (error) {
      this.#counts.damaged++;
      this.#onDamaged(error instanceof SegmentDamaged ? error : new SegmentDamaged(id, String(error)));
      return undefined;
    }
  }

  #shelf(spec: RenderSpec): Map<string, Entry> {
    const id = renderSpecId(spec);
    let shelf = this.#shelves.get(id);
    if (!shelf) {
      shelf = new Map();
      this.#shelves.set(id, shelf);
    }
    return shelf;
  }

  #add(shelf: Map<string, Entry>, spec: RenderSpec, text: string, segment: RenderedSegment): Entry {
    const entry = new Entry(spec, text, segment, shelf, ++this.#tick);
    if (entry.bytes > this.#maxBytes) return entry;
    shelf.set(text, entry);
    this.#counts.segments++;
    this.#counts.bytes += entry.bytes;
    if (this.#counts.bytes > this.#maxBytes) this.#evict();
    return entry;
  }

  /**
   * Drops the least recently used down to nine tenths: a hit then only writes a number, and the sort is paid by many additions.
   */
  #evict(): void {
    const entries = [...this.#shelves.values()].flatMap((shelf) => [...shelf.values()]).sort((a, b) => a.used - b.used);
    for (const entry of entries.slice(0, -1)) {
      if (this.#counts.bytes <= 0.9 * this.#maxBytes) return;
      this.#forget(entry);
      this.#counts.evictions++;
    }
  }

  #forget(entry: Entry): void {
    entry.shelf.delete(entry.text);
    this.#counts.segments--;
    this.#counts.bytes -= entry.bytes;
  }
}
