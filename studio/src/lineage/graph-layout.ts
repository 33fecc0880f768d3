import { largest, smallest } from '../../../src/domain/extremes.ts';
import type { Graph, GraphNode } from './graph.ts';

export const WIDTH = 176;
export const HEIGHT = 50;
const [ACROSS, DOWN] = [44, 12]; // between nodes

/** A node with its place. */
export interface Placed {
  readonly node: GraphNode;
  readonly x: number;
  readonly y: number;
}

/** A graph with places: causes left of effects. */
export interface GraphLayout {
  readonly placed: readonly Placed[];
  readonly lines: readonly { readonly key: string; readonly from: Placed; readonly to: Placed }[];
  readonly width: number;
  readonly height: number;
}

/** Places a graph: a node is as many columns from what is asked for as the longest way to it has steps. */
export function layOutGraph({ nodes, edges }: Graph): GraphLayout {
  const column = columnsOf({ nodes, edges });
  const left = smallest(column.values());
  const count = largest(column.values()) - left + 1;
  const columns = Array.from({ length: count }, (_, at) => nodes.filter(({ key }) => column.get(key) === at + left));
  const tallest = largest(columns.map(({ length }) => length));
  const height = tallest * (HEIGHT + DOWN);
  const places = new Map<string, Placed>();
  const near = neighbours(edges);
  const middle = -left;
  const order = Array.from({ length: count }, (_, at) => at).sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
  for (const at of order) {
    const wished = (columns[at] ?? []).map((node) => {
      const ys = (near.get(node.key) ?? []).flatMap((key) => places.get(key)?.y ?? []);
      return { node, y: ys.length === 0 ? Number.POSITIVE_INFINITY : ys.reduce((sum, y) => sum + y, 0) / ys.length };
    });
    wished.sort((a, b) => a.y - b.y || 0); // stable: the rest as they came
    const top = (height - wished.length * (HEIGHT + DOWN)) / 2;
    for (const [row, { node }] of wished.entries())
      places.set(node.key, { node, x: at * (WIDTH + ACROSS), y: top + row * (HEIGHT + DOWN) });
  }
  const lines = edges.flatMap(([a, b]) => {
    const [from, to] = [places.get(a), places.get(b)];
    return from && to ? [{ key: `${a} ${b}`, from, to }] : [];
  });
  const placed = [...places.values()].sort((a, b) => a.x - b.x || a.y - b.y);
  return { placed, lines, width: count * (WIDTH + ACROSS) - ACROSS, height };
}

/** Returns the columns of nodes: 0 is what is asked for, negative ones came before it. */
function columnsOf({ nodes, edges }: Graph): ReadonlyMap<string, number> {
  const side = new Map(nodes.map(({ key, side }) => [key, side]));
  const column = new Map(nodes.map(({ key, side }) => [key, side as number]));
  // as often as there are nodes at most: a circle, which only a false record has, ends
  for (let pass = 0; pass < nodes.length; pass++) {
    let moved = false;
    for (const [a, b] of edges) {
      const [from, to] = [column.get(a), column.get(b)];
      if (from === undefined || to === undefined || from < to) continue;
      if (side.get(b) === 1) column.set(b, from + 1);
      else if (side.get(a) === -1) column.set(a, to - 1);
      else continue;
      moved = true;
    }
    if (!moved) break;
  }
  return column;
}

function neighbours(edges: Graph['edges']): ReadonlyMap<string, readonly string[]> {
  const near = new Map<string, string[]>();
  const add = (a: string, b: string) => near.set(a, [...(near.get(a) ?? []), b]);
  for (const [a, b] of edges) {
    add(a, b);
    add(b, a);
  }
  return near;
}
