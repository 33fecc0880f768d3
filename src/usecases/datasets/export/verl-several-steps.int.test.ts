import { readdir } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pack } from '../../../events/packed.ts';
import { readDrift } from '../../../projections/prompts/read-drift.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { parquetWorkshop } from '../../../testing/parquet-workshop.ts';
import { emptyReadModels } from '../../../testing/read-models.ts';
import { recordPrompt, type ShownPrompt } from '../../../testing/record-prompt.ts';
import { tinyIds, writeTinyTokenizer } from '../../../testing/tiny-tokenizer.ts';
import { openChatTokenizer } from './chat-tokenizer.ts';

const shop = parquetWorkshop();
const TRAJECTORY = { kind: 'verl', layout: 'trajectory' } as const;

const span = (from: number, to: number, version: number) => ({ from, to, policyId: 'model', version });

type Turn = readonly [prompt: readonly number[] | null, sampled: readonly number[] | null, response: string];

/** Records one rollout whose steps were asked with these ids, and returns its run and steps. */
function conversation(turns: readonly Turn[], images: readonly (readonly string[])[] = [], guided: readonly number[] = []) {
  const recorded = new EventBuilder('conversation');
  const runId = recorded.run();
  const tree = recorded.tree(runId);
  const rollout = recorded.rollout(tree, 0, { policy: { policyId: 'model', version: 0 } });
  let [parent, before]: [string, ShownPrompt | null] = [tree.rootStepId, null];
  const steps: string[] = [];
  for (const [k, [ids, sampled, response]] of turns.entries()) {
    const tokens = sampled && {
      ids: pack('int32', sampled),
      logProbs: pack(
        'float32',
        sampled.map((id) => -id / 64),
      ),
      mask: null,
    };
    parent = recorded.step(tree, rollout, parent, k + 1, {
      tokens,
      response,
      observation: `seen ${k}`,
      policySpans: [guided.includes(k) ? { ...span(0, 1, 0), policyId: 'guide' } : span(0, 1, 0)],
    });
    steps.push(parent);
    recorded.reward(tree, parent, 2 ** -k);
    if (ids)
      before = recordPrompt(recorded, tree, {
        stepId: parent,
        text: `asked ${k}`,
        ids,
        sampled: sampled ?? [],
        before,
        images: images[k] ?? [],
      });
  }
  recorded.finishRollout(tree, rollout, parent, { steps: turns.length });
  return { recorded, runId, steps };
}

describe('rows of several steps', () => {
  test('a trajectory is one row of its prompt and all tokens behind it, cut where a prompt does not continue', async () => {
    const { recorded, runId, steps } = conversation([
      [[1, 2], [3, 4], 'a'],
      [[1, 2, 3, 4, 90], [5], 'b'],
      [[1, 2, 34, 90, 5, 91], [6], 'c'],
    ]);
    await givenEvents(shop.db, recorded.events);
    const all = await shop.rows({ kind: 'verl', layout: 'trajectory' });
    expect(all).toHaveLength(2);
    expect(all[0]).toMatchObject({
      cut_index: 0,
      cuts: 1,
      first_step: 0,
      step_ids: steps.slice(0, 2),
      __num_turns__: 2,
      episode_lengths: 3,
      prompts: [1, 2],
      responses: [3, 4, 90, 5],
      response_mask: [1, 1, 0, 1],
      step_indices: [0, 0, 0, 1],
      rollout_log_probs: [-3 / 64, -4 / 64, 0, -5 / 64],
      step_ends: [1, 3],
      token_level_scores: [0, 1, 0, 0.5],
      tokenised: 'recorded',
      prompt_source: 'recorded',
      raw_prompt: [{ role: 'user', content: 'asked 0' }],
    });
    expect(all[1]).toMatchObject({
      cut_index: 1,
      cuts: 1,
      first_step: 2,
      step_ids: steps.slice(2),
      __num_turns__: 1,
      uid: all[0]?.uid,
      traj_uid: all[0]?.traj_uid,
      prompts: [1, 2, 34, 90, 5, 91],
      responses: [6],
      step_indices: [2],
      step_ends: [0],
      token_level_scores: [0.25],
      raw_prompt: [{ role: 'user', content: 'asked 2' }],
    });
    expect(await readDrift(shop.db, [runId])).toMatchObject([{ steps: 1, first: { id: steps[2] } }]);
  });

  test('the step of another policy is shown: its tokens have the mask 0, and its reward stays', async () => {
    const turns: readonly Turn[] = [
      [[1, 2], [3, 4], 'a'],
      [[1, 2, 3, 4, 90], [5], 'b'],
    ];
    await givenEvents(shop.db, conversation(turns, [], [0]).recorded.events);
    const [row] = await shop.rows(TRAJECTORY);
    expect(row).toMatchObject({ responses: [3, 4, 90, 5], response_mask: [0, 0, 0, 1], token_level_scores: [0, 1, 0, 0.5] });
    const steps = await shop.rowsIn('steps', { kind: 'verl', layout: 'step' });
    expect(steps.map(({ response_mask: mask }) => mask)).toEqual([[0, 0], [1]]);
  });

  test('rows of random conversations hold exactly the recorded ids, and their masks exactly the sampled ones', async () => {
    const ids = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 5 });
    const turn = fc.record({ sampled: ids, shown: ids, drifts: fc.boolean() });
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 6 }), async (given) => {
        await emptyReadModels(shop.db);
        let prompt: readonly number[] = [1];
        const turns = given.map(({ sampled, shown, drifts }): Turn => {
          const asked = prompt;
          prompt = [...(drifts ? [99] : []), ...asked, ...sampled, ...shown];
          return [asked, sampled, 'said'];
        });
        await givenEvents(shop.db, conversation(turns).recorded.events);
        const all = (await shop.rowsIn(`data-${kept++}`, TRAJECTORY)) as {
          readonly prompts: number[];
          readonly responses: number[];
          readonly response_mask: number[];
          readonly first_step: number;
          readonly __num_turns__: number;
        }[];
        expect(all.map((row) => row.first_step)).toEqual([
          0,
          ...given.slice(0, -1).flatMap(({ drifts }, k) => (drifts ? [k + 1] : [])),
        ]);
        for (const row of all) {
          const [asked, sampled] = turns[row.first_step + row.__num_turns__ - 1] ?? [];
          expect([...row.prompts, ...row.responses]).toEqual([...(asked ?? []), ...(sampled ?? [])]);
        }
        expect(all.flatMap((row) => row.responses.filter((_, t) => row.response_mask[t] === 1))).toEqual(
          turns.flatMap(([, sampled]) => sampled),
        );
      }),
      { numRuns: 2 },
    );
  });
});

describe('texts without ids', () => {
  const texts: readonly Turn[] = [
    [null, null, 'look'],
    [null, null, 'take'],
  ];
  const opening =
    '<|im_start|>system\nCraft what is asked.<|im_end|>\n<|im_start|>user\nGoal: craft tree.<|im_end|>\n<|im_start|>assistant\n';

  test('texts are tokenised by a tokenizer that is given, and the row says so', async () => {
    await givenEvents(shop.db, conversation(texts).recorded.events);
    const tokenizer = await openChatTokenizer(await writeTinyTokenizer(shop.folder));
    const [row, ...more] = await shop.rows({ kind: 'verl', layout: 'trajectory', tokenizer: tokenizer.sha256 }, tokenizer);
    expect(more).toEqual([]);
    const between = '\n<|im_start|>user\nseen 0<|im_end|>\n<|im_start|>assistant\n';
    expect(row).toMatchObject({
      tokenised: 'retokenised',
      rollout_log_probs: null,
      prompts: tinyIds(opening),
      prompt_source: 'composed',
      responses: [...tinyIds('look<|im_end|>'), ...tinyIds(between), ...tinyIds('take<|im_end|>')],
      response_mask: [...Array(5).fill(1), ...tinyIds(between).map(() => 0), ...Array(5).fill(1)],
    });
  });

  test('ids that came without those of a prompt and say another text are no tokens: the text is tokenised, and the row says so', async () => {
    const known = [...tinyIds('look')];
    const { recorded } = conversation([
      [null, [7], 'look'],
      [null, [9_000], 'take'],
      [null, known, 'look'],
    ]);
    await givenEvents(shop.db, recorded.events);
    const tokenizer = await openChatTokenizer(await writeTinyTokenizer(shop.folder));
    const [row, ...more] = await shop.rows({ kind: 'verl', layout: 'trajectory', tokenizer: tokenizer.sha256 }, tokenizer);
    expect(more).toEqual([]);
    const { responses, response_mask: mask } = row as { responses: number[]; response_mask: number[] };
    expect(responses.filter((_, i) => mask[i] === 1)).toEqual([
      ...tinyIds('look<|im_end|>'),
      ...tinyIds('take<|im_end|>'),
      ...known,
    ]);
    expect(row).toMatchObject({ tokenised: 'retokenised', rollout_log_probs: null });
  });

  test('ids on record stay as they are, and those outside the vocabulary of the tokenizer are refused with the step', async () => {
    const recorded = conversation([[tinyIds(opening), [70, 71], 'look']]);
    await givenEvents(shop.db, recorded.recorded.events);
    const tokenizer = await openChatTokenizer(await writeTinyTokenizer(shop.folder));
    expect(await shop.rows({ kind: 'verl', layout: 'trajectory' }, tokenizer)).toMatchObject([
      { responses: [70, 71], tokenised: 'recorded' },
    ]);
    await emptyReadModels(shop.db);
    await givenEvents(shop.db, conversation([[[1], [9_000], 'look']]).recorded.events);
    await expect(shop.rowsIn('other', TRAJECTORY, tokenizer)).rejects.toMatchObject({
      code: 'bad-row',
      message: expect.stringMatching(/step 1 has the token id 9000, outside the vocabulary of 258/),
    });
  });
});

test('a log-probability that is no number is refused with the step, and no file is left', async () => {
  const { recorded, steps } = conversation([[[1], [2], 'a']]);
  const taken = recorded.events.find((event) => event.type === 'StepTaken');
  if (taken?.type === 'StepTaken' && taken.data.tokens) taken.data.tokens.logProbs = pack('float32', [Number.NaN]);
  await givenEvents(shop.db, recorded.events);
  await expect(shop.exported({ kind: 'verl', layout: 'trajectory' })).rejects.toMatchObject({
    code: 'bad-row',
    message: expect.stringContaining(`step ${steps[0]}: token 0 has the log-probability NaN`),
  });
  expect(await readdir(shop.folder)).toEqual([]);
});
