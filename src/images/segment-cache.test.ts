import { describe, expect, test } from '@jest/globals';
import { HistoryRenderer } from './history-renderer.ts';
import { segmentId } from './image-id.ts';
import { renderSpec } from './render-profiles.ts';
import { renderSpecId } from './render-spec.ts';
import { SegmentCache, type SegmentStore } from './segment-cache.ts';

const spec = renderSpec('crisp');
const id = segmentId(renderSpecId(spec), 'one [Action]');

function memoryStore(): SegmentStore & { readonly kept: Map<string, Uint8Array> } {
  const kept = new Map<string, Uint8Array>();
  return { kept, get: async (key) => kept.get(key), put: async (key, bytes) => void kept.set(key, Uint8Array.from(bytes)) };
}

describe('SegmentCache', () => {
  test('the cache stays within its bytes by evicting the least recently used segment', () => {
    const cache = new SegmentCache({ maxBytes: 60_000 });
    for (let i = 0; i < 100; i++) {
      cache.get(spec, 'kept in use');
      cache.get(spec, `record ${i} ${'text '.repeat(20)}`);
      expect(cache.counters.bytes).toBeLessThanOrEqual(60_000);
    }
    const { hits, misses, evictions, segments } = cache.counters;
    expect({ hits, misses }).toEqual({ hits: 99, misses: 101 });
    expect(evictions).toBe(101 - segments);
    expect(evictions).toBeGreaterThan(50);
  });

  test('one process takes from the store what another one drew', async () => {
    const store = memoryStore();
    const draw = async () => {
      const renderer = new HistoryRenderer(spec, { cache: new SegmentCache({ store }) });
      const { image, segments } = await renderer.renderShared({ segments: ['one [Action]', 'two', 'two'], factor: 1 });
      return { id: image.imageId, hits: segments.map(({ hit }) => hit), counters: renderer.cache.counters };
    };
    const [first, second] = [await draw(), await draw()];
    expect(first.hits).toEqual([false, false, true]);
    expect(second.hits).toEqual([true, true, true]);
    expect(second.counters).toMatchObject({ storeHits: 2, misses: 0, hits: 3 });
    expect(second.id).toBe(first.id);
    expect(store.kept.size).toBe(2);
  });

  test('an entry of the store that cannot be read is a miss', async () => {
    const store = memoryStore();
    const damaged: string[] = [];
    const cache = new SegmentCache({
      store: { ...store, get: () => Promise.reject(new Error('EACCES: permission denied')) },
      onDamaged: ({ message }) => damaged.push(message),
    });
    await new HistoryRenderer(spec, { cache }).renderShared({ segments: ['one [Action]'], factor: 1 });
    expect(cache.counters).toMatchObject({ misses: 1, storeHits: 0, damaged: 1 });
    expect(damaged).toEqual([expect.stringContaining('EACCES: permission denied')]);
  });

  test('a flipped byte in a stored segment is detected, named, and drawn again', async () => {
    const store = memoryStore();
    const draw = async (damaged: string[]) => {
      const cache = new SegmentCache({ store, onDamaged: (damage) => damaged.push(damage.message) });
      return (await new HistoryRenderer(spec, { cache }).renderShared({ segments: ['one [Action]'], factor: 1 })).image.imageId;
    };
    const sound = await draw([]);
    const bytes = store.kept.get(id) ?? new Uint8Array();
    for (const at of [0, 10, 40, Math.floor(bytes.length / 2), bytes.length - 1]) {
      const flipped = Uint8Array.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      store.kept.set(id, flipped);
      const damaged: string[] = [];
      expect(await draw(damaged)).toBe(sound);
      expect(damaged).toEqual([expect.stringContaining(id)]);
      expect(store.kept.get(id)).toEqual(bytes);
    }
    store.kept.set(id, bytes.slice(0, 20));
    const damaged: string[] = [];
    expect(await draw(damaged)).toBe(sound);
    expect(damaged).toHaveLength(1);
  });
});
