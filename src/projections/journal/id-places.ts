/** A place in a log: which partition, by a number of the caller's, and the offset in it. */
export interface Place {
  readonly partition: number;
  readonly offset: number;
}

const OFFSETS = 2 ** 40; // a trillion records per partition, and room for 8,000 partitions below 2^53

/**
 * Remembers where each event was first seen, in 16 bytes each (a Map takes about 150). Of its id and its stream it keeps the
 * halves that differ between random and between derived ones, mixed: two events of the same mix pass for one, about once in a
 * million logs of ten million events, so that who asks compares both ids at the place.
 */
export class IdPlaces {
  #halves = new BigUint64Array(1 << 12);
  #places = new Float64Array(1 << 12);
  #count = 0;

  /** Returns where an event, or one of the same mix, was seen before; remembers the place when it was not. */
  seen({ stream, id }: { readonly stream: string; readonly id: string }, place: Place): Place | undefined {
    if (2 * this.#count >= this.#halves.length) this.#grow();
    const half = (halfOf(id) ^ halfOf(stream)) | USED;
    const slot = this.#slotOf(half);
    if (this.#halves[slot] === half) {
      const found = this.#places[slot] ?? 0;
      return { partition: Math.floor(found / OFFSETS), offset: found % OFFSETS };
    }
    this.#halves[slot] = half;
    this.#places[slot] = place.partition * OFFSETS + place.offset;
    this.#count++;
    return undefined;
  }

  /** The slot that holds a half, or the free one where it belongs. Zero marks a free slot. */
  #slotOf(half: bigint): number {
    const mask = this.#halves.length - 1;
    let slot = Number(half & 0x7fff_ffffn) & mask;
    for (;;) {
      const held = this.#halves[slot];
      if (held === half || held === 0n) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const [halves, places] = [this.#halves, this.#places];
    this.#halves = new BigUint64Array(2 * halves.length);
    this.#places = new Float64Array(2 * halves.length);
    for (const [i, half] of halves.entries()) {
      if (half === 0n) continue;
      const slot = this.#slotOf(half);
      this.#halves[slot] = half;
      this.#places[slot] = places[i] ?? 0;
    }
  }
}

const USED = 1n << 63n; // a bit of the variant, which is the same in both: no mix is zero

/** Returns the last 64 bits of a UUID. */
function halfOf(id: string): bigint {
  return BigInt(`0x${id.slice(19, 23)}${id.slice(24)}`);
}
