export interface Heap<T> {
  push(item: T): void;
  /** Takes the first item; undefined when there is none. */
  pop(): T | undefined;
}

/**
 * A binary heap that makes the moves of Python's `heapq`: items of which neither precedes the other come out in the same order
 * there and here.
 */
export function createHeap<T>(before: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];

  const place = (item: T, from: number): void => {
    let position = from;
    while (position > 0) {
      const above = (position - 1) >> 1;
      const parent = items[above] as T; // 0 <= above < position < length
      if (!before(item, parent)) break;
      items[position] = parent;
      position = above;
    }
    items[position] = item;
  };

  return {
    push(item) {
      items.push(item);
      place(item, items.length - 1);
    },
    pop() {
      const last = items.pop();
      if (last === undefined || items.length === 0) return last;
      const first = items[0] as T; // length > 0
      // As heapq: the hole sinks to a leaf along the first children, and only then the last item climbs from there.
      let hole = 0;
      for (let child = 1; child < items.length; child = 2 * hole + 1) {
        const right = child + 1;
        const chosen = right < items.length && !before(items[child] as T, items[right] as T) ? right : child; // both < length
        items[hole] = items[chosen] as T; // chosen < length
        hole = chosen;
      }
      place(last, hole);
      return first;
    },
  };
}
