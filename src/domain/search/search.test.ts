import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seedFrom } from '../random/seed-from.ts';
import { nextSearchStep, SEARCH_DEFAULTS, type SearchParams } from './next-search-step.ts';
import { applySearchFacts, type SearchFact } from './search-facts.ts';
import { searchThroughKills } from './search-testing.ts';
import { childrenOf, type SearchNode, type SearchState, searchNode, startSearch } from './search-tree.ts';

const params: fc.Arbitrary<SearchParams> = fc.record({
  iterations: fc.integer({ min: 0, max: 6 }),
  candidates: fc.integer({ min: 1, max: 4 }),
  maxDepth: fc.integer({ min: 0, max: 4 }),
  exploration: fc.constantFrom(0, 0.25, 1),
  tieBreak: fc.constantFrom(
    { kind: 'first' } as const,
    { kind: 'seeded', seed: 5 } as const,
    {
      kind: 'drawn',
      draw: (tie: { simulation: number; parentStepId: string; pool: readonly number[] }) =>
        seedFrom(tie.simulation, tie.parentStepId) % tie.pool.length,
    } as const,
  ),
});

function searched(seed: number, given: SearchParams): SearchState {
  return applySearchFacts(startSearch('root'), searchThroughKills(seed, given, []));
}

function endsBelow(state: SearchState, node: SearchNode): readonly SearchNode[] {
  if (node.children.length === 0) return node.terminal ? [node] : [];
  return childrenOf(state, node).flatMap((child) => endsBelow(state, child));
}

describe('finished searches', () => {
  test('visits count the ends at or below a node, and values sum their scores', () => {
    fc.assert(
      fc.property(fc.nat(), params, (seed, given) => {
        const state = searched(seed, given);
        for (const node of state.nodes.values()) {
          const ends = endsBelow(state, node);
          expect(node.visits).toBe(ends.length);
          expect(node.valueSum).toBe(ends.reduce((sum, { score }) => sum + score, 0));
        }
      }),
    );
  });

  test('a node is terminal exactly when it ended or all of its children are terminal', () => {
    fc.assert(
      fc.property(fc.nat(), params, (seed, given) => {
        const state = searched(seed, given);
        for (const node of state.nodes.values()) {
          const children = childrenOf(state, node);
          const exhausted = children.length > 0 && children.every(({ terminal }) => terminal);
          expect(node.terminal).toBe(node.end !== 'none' || exhausted);
        }
      }),
    );
  });

  test('a path has at most maxDepth + 1 actions, and each walk expands at most as many nodes', () => {
    fc.assert(
      fc.property(fc.nat(), params, (seed, given) => {
        const facts = searchThroughKills(seed, given, []);
        const state = applySearchFacts(startSearch('root'), facts);
        for (const { depth } of state.nodes.values()) expect(depth).toBeLessThanOrEqual(given.maxDepth + 1);
        for (let simulation = 0; simulation < given.iterations; simulation++) {
          const expanded = facts.filter((fact) => fact.kind === 'node-expanded' && fact.simulation === simulation);
          expect(expanded.length).toBeLessThanOrEqual(given.maxDepth + 1);
        }
      }),
    );
  });

  test('a search ends after all its simulations, or when nothing is left to explore', () => {
    fc.assert(
      fc.property(fc.nat(), params, (seed, given) => {
        const state = searched(seed, given);
        const end = nextSearchStep(state, given);
        if (end.kind !== 'finished') throw new Error(`the search goes on with ${end.kind}`);
        if (end.reason === 'exhausted') expect(searchNode(state, 'root').terminal).toBe(true);
        else expect(end.simulations).toBe(given.iterations);
      }),
    );
  });
});

describe('killed searches', () => {
  test('a search killed at any facts ends with the record of an undisturbed one', () => {
    fc.assert(
      fc.property(fc.nat(), params, fc.array(fc.nat(12), { maxLength: 12 }), (seed, given, lives) => {
        expect(searchThroughKills(seed, given, lives)).toEqual(searchThroughKills(seed, given, []));
      }),
    );
  });

  test('facts folded one by one or together yield the same search, and leave the earlier state unchanged', () => {
    const facts = searchThroughKills(3, SEARCH_DEFAULTS, []);
    const start = startSearch('root');
    expect(facts.reduce((state, fact) => applySearchFacts(state, [fact]), start)).toEqual(applySearchFacts(start, facts));
    expect(start).toEqual(startSearch('root'));
    expect(facts.length).toBeGreaterThan(50);
  });

  test('an interrupted expansion is requested again with the children that exist', () => {
    const state = applySearchFacts(startSearch('root'), [child('a', 'root')]);
    const step = nextSearchStep(state, SEARCH_DEFAULTS);
    expect(step).toEqual({
      kind: 'expand',
      simulation: 0,
      stepId: 'root',
      path: ['root'],
      candidates: 4,
      present: [searchNode(state, 'a')],
    });
  });
});

describe('the order of steps', () => {
  test('finished children are backed up in order before the walk descends', () => {
    const facts: SearchFact[] = [
      child('a', 'root', { score: 0.5, end: 'terminated' }),
      child('b', 'root', { ordinal: 1 }),
      child('c', 'root', { ordinal: 2, score: 0, end: 'disaster' }),
      { kind: 'node-expanded', simulation: 0, stepId: 'root' },
    ];
    let state = applySearchFacts(startSearch('root'), facts);
    const first = nextSearchStep(state, SEARCH_DEFAULTS);
    expect(first).toEqual({ kind: 'backup', simulation: 0, leafStepId: 'a', value: 0.5, path: ['root', 'a'] });
    state = applySearchFacts(state, [{ kind: 'backed-up', simulation: 0, leafStepId: 'a', value: 0.5, path: ['root', 'a'] }]);
    expect(nextSearchStep(state, SEARCH_DEFAULTS)).toMatchObject({ kind: 'backup', leafStepId: 'c', value: 0 });
    state = applySearchFacts(state, [{ kind: 'backed-up', simulation: 0, leafStepId: 'c', value: 0, path: ['root', 'c'] }]);
    expect(nextSearchStep(state, SEARCH_DEFAULTS)).toMatchObject({ kind: 'expand', stepId: 'b', path: ['root', 'b'] });
  });

  test('a node without a usable reply is stuck: it ends with its score, and the search continues', () => {
    let state = applySearchFacts(startSearch('root'), [
      child('a', 'root', { score: 0.25 }),
      { kind: 'node-expanded', simulation: 0, stepId: 'root' },
      { kind: 'node-expanded', simulation: 0, stepId: 'a' },
    ]);
    expect(nextSearchStep(state, SEARCH_DEFAULTS)).toMatchObject({ kind: 'backup', leafStepId: 'a', value: 0.25 });
    state = applySearchFacts(state, [{ kind: 'backed-up', simulation: 0, leafStepId: 'a', value: 0.25, path: ['root', 'a'] }]);
    expect(searchNode(state, 'a')).toMatchObject({ end: 'stuck', terminal: true, visits: 1 });
    expect(nextSearchStep(state, SEARCH_DEFAULTS)).toEqual({ kind: 'finished', reason: 'exhausted', simulations: 1 });
  });

  test('a model that says nothing at the root ends the search', () => {
    let state = applySearchFacts(startSearch('root'), [{ kind: 'node-expanded', simulation: 0, stepId: 'root' }]);
    expect(nextSearchStep(state, SEARCH_DEFAULTS)).toMatchObject({ kind: 'backup', leafStepId: 'root', value: 0 });
    state = applySearchFacts(state, [{ kind: 'backed-up', simulation: 0, leafStepId: 'root', value: 0, path: ['root'] }]);
    expect(nextSearchStep(state, SEARCH_DEFAULTS)).toMatchObject({ kind: 'finished', reason: 'exhausted' });
  });
});

describe('broken records', () => {
  const expanded: SearchFact[] = [child('a', 'root'), { kind: 'node-expanded', simulation: 0, stepId: 'root' }];
  const backUp = (path: string[], leafStepId: string): SearchFact => ({
    kind: 'backed-up',
    simulation: 0,
    leafStepId,
    value: 1,
    path,
  });
  test.each<[string, SearchFact, string]>([
    ['a child that is added twice', child('a', 'a'), 'added twice'],
    ['a child of an expanded node', child('b', 'root'), 'no more children'],
    ['a child of an unknown node', child('b', 'x'), 'no node x'],
    ['a second expansion of a node', { kind: 'node-expanded', simulation: 0, stepId: 'root' }, 'expanded twice'],
    ['a path that begins elsewhere', backUp(['a'], 'a'), 'no path from the root'],
    ['a path that ends elsewhere', backUp(['root'], 'a'), 'no path from the root'],
    ['a path with a hole', backUp(['root', 'root', 'a'], 'a'), 'does not hang'],
  ])('%s is refused', (_what, fact, reason) => {
    expect(() => applySearchFacts(startSearch('root'), [...expanded, fact])).toThrow(reason);
  });
});

function child(stepId: string, parentStepId: string, more: Partial<SearchFact & { kind: 'child-added' }> = {}): SearchFact {
  return {
    kind: 'child-added',
    simulation: 0,
    stepId,
    parentStepId,
    ordinal: 0,
    score: 0,
    end: 'none',
    equivalentTo: null,
    ...more,
  };
}
