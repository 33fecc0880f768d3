import { expect, test } from '@jest/globals';
import { one } from './batch.ts';

test('an id that several trees have is refused as ambiguous, and others of the same batch are loaded', async () => {
  const rows = [
    { id: 'shared', treeId: 'a' },
    { id: 'shared', treeId: 'b' },
    { id: 'own', treeId: 'a' },
  ];
  const loader = one(
    async () => rows,
    ({ id }) => id,
  );
  expect(await loader.loadMany(['shared', 'own', 'unknown'])).toEqual([
    new Error('the id shared is ambiguous: the trees a, b have one each; name one by the argument tree'),
    { id: 'own', treeId: 'a' },
    null,
  ]);
});
