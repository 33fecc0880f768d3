import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { goalsOf, neededFor, orderStages, type StageNode } from './order-stages.ts';

const node = (name: string, ...uses: string[]): StageNode => ({ name, uses });

describe('the order of stages', () => {
  test('each stage comes behind all that it uses, and otherwise in the order of the declaration', () => {
    const stages = [node('evaluate', 'train'), node('other'), node('train', 'release'), node('release')];
    expect(orderStages(stages)).toEqual({ kind: 'ordered', names: ['release', 'train', 'evaluate', 'other'] });
  });

  test('a cycle is named by the way around it', () => {
    const stages = [node('a', 'b'), node('b', 'c'), node('c', 'b')];
    expect(orderStages(stages)).toEqual({ kind: 'cycle', names: ['b', 'c', 'b'] });
    expect(orderStages([node('a', 'a')])).toEqual({ kind: 'cycle', names: ['a', 'a'] });
  });

  test('a stage that is not there is named with the one that uses it', () => {
    expect(orderStages([node('a', 'b')])).toEqual({ kind: 'unknown', stage: 'a', used: 'b' });
  });

  test('any graph without a cycle is ordered whole, and any order keeps every use', () => {
    const graph = fc.array(fc.array(fc.nat(20), { maxLength: 4 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(graph, fc.infiniteStream(fc.nat(1_000)), (uses, draws) => {
        const stages = uses
          .map((of, i) => node(`s${i}`, ...(i === 0 ? [] : of.map((each) => `s${each % i}`))))
          .map((stage) => ({ stage, at: draws.next().value }))
          .sort((a, b) => a.at - b.at)
          .map(({ stage }) => stage);
        const order = orderStages(stages);
        if (order.kind !== 'ordered') throw new Error(order.kind);
        expect([...order.names].sort()).toEqual(stages.map(({ name }) => name).sort());
        for (const { name, uses: of } of stages)
          for (const used of of) expect(order.names.indexOf(used)).toBeLessThan(order.names.indexOf(name));
      }),
    );
  });
});

describe('what an experiment is for', () => {
  const stages = [node('search'), node('revise', 'search'), node('release', 'revise', 'search'), node('measure', 'search')];

  test('the goals are the stages that no other uses', () => {
    expect(goalsOf(stages)).toEqual(['release', 'measure']);
  });

  test('a goal needs itself and all that it uses, through others too', () => {
    expect([...neededFor(['release'], stages)].sort()).toEqual(['release', 'revise', 'search']);
    expect([...neededFor(['measure'], stages)].sort()).toEqual(['measure', 'search']);
  });
});
