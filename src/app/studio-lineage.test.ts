import { describe, expect, test } from '@jest/globals';
import { gatherGraph, type Traced } from '../../studio/src/lineage/graph.ts';
import { layOutGraph } from '../../studio/src/lineage/graph-layout.ts';

const links = (relation: string, ...ids: readonly string[]) => ({
  relation,
  total: ids.length,
  first: ids.slice(0, 10).map((id) => ({ id, text: `about ${id}` })),
});
const thing = (id: string, kind: string, part: Partial<Traced> = {}): Traced => ({
  id,
  kind,
  title: id,
  from: [],
  usedBy: [],
  madeBy: { total: 0, first: [] },
  ...part,
});
const NOTHING = { datasetsTotal: 0, batchesTotal: 0, versionsTotal: 0, evaluationsTotal: 0 };
const MANY = Array.from({ length: 12 }, (_, at) => `rollout ${at}`);
const TRACES: Readonly<Record<string, Traced>> = {
  tree: thing('tree', 'tree', {
    madeBy: { total: 1, first: [{ eventId: 'event', type: 'TreeOpened', place: 'trees.0@1' }] },
    from: [links('run', 'run'), links('policy version that acted', 'p@0')],
    usedBy: [links('rollouts', ...MANY), links('revisions', 'revision')],
    touched: {
      ...NOTHING,
      datasetsTotal: 1,
      batchesTotal: 1,
      versionsTotal: 2,
      evaluationsTotal: 1,
      datasets: [{ datasetId: 'release', name: 'rows', version: 1 }],
      batches: [{ batchId: 'batch', policyId: 'p', ordinal: 0 }],
      versions: [1, 2].map((version) => ({ policyId: 'p', version })),
      evaluations: [{ runId: 'evaluation', policyId: 'p', version: 2, meanReturn: 0.5 }],
    },
  }),
  run: thing('run', 'run', { from: [links('policy version that acted', 'p@0')] }),
  revision: thing('revision', 'revision', { usedBy: [links('lines of releases', 'rows@1#1')] }),
  'rows@1#1': thing('rows@1#1', 'line', { usedBy: [links('in', 'release')] }),
  batch: thing('batch', 'batch', { from: [links('groups', 'tree')] }),
  'p@1': thing('p@1', 'policy version', { from: [links('batch', 'batch')] }),
  'p@2': thing('p@2', 'policy version', { from: [links('version before', 'p@1')] }),
  event: thing('event', 'event', { usedBy: [links('names', 'tree')] }),
};
const traceOf = async (id: string) => TRACES[id] ?? null;
const EDGES = [
  ...['event>tree', 'p@0>run', 'run>tree', 'tree>tree rollouts', 'tree>revision', 'revision>rows@1#1', 'rows@1#1>release'],
  ...['tree>batch', 'batch>p@1', 'p@1>p@2', 'p@2>evaluation'],
];
const edgesOf = async (id: string, opened: readonly string[] = []) => {
  const graph = await gatherGraph(traceOf, id, new Set(opened));
  return graph?.edges.map((edge) => edge.join('>')).sort();
};

describe('the graph of a lineage', () => {
  test('it goes from the events over rows and releases, and over batches and versions, to the evaluations, without shortcuts', async () => {
    expect(await edgesOf('tree')).toEqual([...EDGES].sort());
  });

  test('what is many is a count, which opens to the first ten and to what leads to the rest', async () => {
    const opened = await edgesOf('tree', ['tree rollouts']);
    expect(opened?.filter((edge) => edge.startsWith('tree rollouts>'))).toEqual(
      [...MANY.slice(0, 10), 'tree rollouts rest'].map((id) => `tree rollouts>${id}`).sort(),
    );
  });

  test('what was made of the tree that an event names is drawn behind the tree', async () => {
    expect(await edgesOf('event')).toEqual(expect.arrayContaining(['event>tree', 'tree>batch', 'p@1>p@2', 'p@2>evaluation']));
  });

  test('nothing is drawn of an id that is not on record', async () => {
    expect(await gatherGraph(traceOf, 'nothing', new Set())).toBeNull();
  });

  test('causes are left of effects, no two nodes share a place, and a circle ends', async () => {
    const graph = await gatherGraph(traceOf, 'tree', new Set());
    if (!graph) throw new Error('no graph');
    for (const edges of [graph.edges, [...graph.edges, ['evaluation', 'batch'] as const]]) {
      const { placed, lines } = layOutGraph({ nodes: graph.nodes, edges });
      expect(new Set(placed.map(({ x, y }) => `${x} ${y}`)).size).toBe(graph.nodes.length);
      if (edges === graph.edges) for (const { key, from, to } of lines) expect([key, from.x < to.x]).toEqual([key, true]);
    }
  });
});
