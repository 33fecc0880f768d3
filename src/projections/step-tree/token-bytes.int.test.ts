import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pack } from '../../events/packed.ts';
import { arbitraryTokens } from '../../testing/arbitrary-tokens.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { keyInTree } from '../of-tree.ts';
import { readStepsById } from './read-steps.ts';
import { readTokenBytes } from './read-token-bytes.ts';
import { type RecordedTokens, tokensIn } from './token-bytes.ts';

const database = useTestDatabase({ emptied: 'never' });

/** Records a rollout with a step for each of these tokens; returns the steps. */
async function given(
  name: string,
  all: readonly (RecordedTokens | null)[],
): Promise<{ readonly treeId: string; readonly steps: readonly string[] }> {
  const builder = new EventBuilder(name);
  const tree = builder.tree(builder.run());
  const rollout = builder.rollout(tree);
  const steps: string[] = [];
  for (const [i, tokens] of all.entries())
    steps.push(builder.step(tree, rollout, steps.at(-1) ?? tree.rootStepId, i + 1, { tokens }));
  await givenEvents(database.db, builder.events);
  return { treeId: tree.treeId, steps };
}

async function keptAs(steps: readonly string[]) {
  const { rows } = await database.pool.query<{ json: boolean; bytes: boolean }>(
    `select s.token_json is not null as json, s.token_bytes is not null as bytes
     from unnest($1::uuid[]) with ordinality as t(id, place) join steps s on s.step_id = t.id order by t.place`,
    [steps],
  );
  return rows.map(({ json, bytes }) => [json, bytes]);
}

const ids = pack('int32', [7, 8]);
const unfit: RecordedTokens = { ids, logProbs: pack('float32', [-1]), mask: null };
const fit: RecordedTokens = { ids, logProbs: pack('float32', [-1, -2]), mask: pack('uint8', [1, 0]) };

describe('token arrays in the read models', () => {
  test('a step shows its tokens exactly as they were recorded', async () => {
    let trial = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(arbitraryTokens), { minLength: 1, maxLength: 6 }), async (all) => {
        const { steps } = await given(`shown ${trial++}`, all);
        const read = new Map((await readStepsById(database.db, steps)).map(({ id, tokens }) => [id, tokens]));
        expect(steps.map((id) => read.get(id))).toEqual(all);
      }),
      { numRuns: 3 },
    );
  });

  test('arrays that fit are kept as bytes alone, and others as JSON alone', async () => {
    const { treeId, steps } = await given('kept', [fit, unfit, null]);
    expect(await keptAs(steps)).toEqual([
      [false, true],
      [true, false],
      [false, false],
    ]);
    const read = await readTokenBytes(
      database.db,
      steps.map((id) => ({ treeId, id })),
    );
    expect([...read.keys()]).toEqual([keyInTree(treeId, steps[0] ?? '')]);
  });

  test('the length of an array is known without reading it, whichever way it is kept, and null where a step has no such array', async () => {
    const { steps } = await given('lengths', [{ ...fit, logProbs: null }, { ...unfit, ids: pack('int32', [1, 2, 3]) }, null]);
    const [kept = '', asJson = '', none = ''] = steps;
    const lengths = async (stepId: string) => {
      const arrays = (['ids', 'logProbs', 'mask', 'ends'] as const).map((array) => tokensIn('steps', array).as(array));
      return Object.values(
        await database.db.selectFrom('steps').select(arrays).where('stepId', '=', stepId).executeTakeFirstOrThrow(),
      );
    };
    expect(await lengths(kept)).toEqual([2, null, 2, null]);
    expect(await lengths(asJson)).toEqual([3, 1, null, null]);
    expect(await lengths(none)).toEqual([null, null, null, null]);
  });

  test('arrays longer than a block of memory are read whole, between shorter ones', async () => {
    const long = Array.from({ length: 400_000 }, (_, i) => i);
    const { treeId, steps } = await given('long', [fit, { ids: pack('int32', long), logProbs: null, mask: null }, fit]);
    const read = await readTokenBytes(
      database.db,
      steps.map((id) => ({ treeId, id })),
    );
    const of = (place: number) => read.get(keyInTree(treeId, steps[place] ?? ''));
    expect(steps.map((_, place) => of(place)?.ids.length)).toEqual([2, 400_000, 2]);
    expect(of(1)?.ids.every((token, i) => token === i)).toBe(true);
    expect([...(of(2)?.mask ?? [])]).toEqual([1, 0]);
  });
});
