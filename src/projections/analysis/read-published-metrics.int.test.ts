import { expect, test } from '@jest/globals';
import { scoreQaFormat, scoreSearchR1 } from '../../domain/reward/qa-em-format.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { recordHistory, recordRenderSpec, recordSegment } from '../../testing/record-images.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readPublishedMetrics } from './read-published-metrics.ts';

const database = useTestDatabase({ emptied: 'before-each' });

async function metricsOf(builder: EventBuilder, runId: string) {
  await givenEvents(database.db, builder.events);
  const metrics = await readPublishedMetrics(database.db, runId);
  return Object.fromEntries(metrics.map(({ name, value, count }) => [name, [value, count]]));
}

/** Records rollouts of one step each, whose last step is paid these values by a scorer. */
function paid(builder: EventBuilder, runId: string, scorer: string, revision: string, values: readonly number[]): void {
  const tree = builder.tree(runId, `${scorer} ${revision}`);
  for (const [ordinal, value] of values.entries()) {
    const rolloutId = builder.rollout(tree, ordinal);
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { termination: 'terminated' });
    builder.reward(tree, leaf, value, { rolloutId, component: 'judged', scorer: { name: scorer, revision }, raw: null });
    builder.finishRollout(tree, rolloutId, leaf);
  }
}

test('format and subem follow from −1 + format + answer of the legacy Agent-R1, where 0.2 is no match', async () => {
  const builder = new EventBuilder('qa');
  const run = builder.run();
  // format 0; ½ with answer 0, 0.2, 1; 1 with answer 0, 0.2, 1
  paid(builder, run, 'qa-em-format', 'legacy-1', [-1, -0.5, -0.3, 0.5, 0, 0.2, 1]);
  expect(await metricsOf(builder, run)).toMatchObject({ format: [4.5 / 7, 7], subem: [2 / 7, 7] });
});

test('format and subem of a scored chat are those of the scorer itself', async () => {
  const builder = new EventBuilder('chat');
  const run = builder.run();
  const chat = '<|im_start|>assistant\n<think>x</think>\n<answer>the Paris of 1900</answer><|im_end|>\n';
  const { total, em } = scoreQaFormat(chat, ['Paris'], 'legacy');
  paid(builder, run, 'qa-em-format', 'legacy-1', [total]);
  expect(total).toBe(0.5); // the last block is in form, no tool block is there, and the answer holds the gold one
  expect(await metricsOf(builder, run)).toMatchObject({ format: [0.5, 1], subem: [em, 1] });
});

test('em counts every answer that equals a gold one, also one of Search-R1 that many tags reduce to a quarter', async () => {
  const builder = new EventBuilder('em');
  const run = builder.run();
  const tags = '<answer>x</answer>'.repeat(10);
  const values = ['<answer>Rome</answer>', '<answer>Paris</answer>', `${tags}<answer>Paris</answer>`];
  const scores = values.map((value) => scoreSearchR1(value, ['Paris']));
  expect(scores).toEqual([0, 1, 0.25]);
  paid(builder, run, 'search-r1-em', 'verl-1', scores);
  paid(builder, run, 'exact-match', '1', [1, 0]);
  expect(await metricsOf(builder, run)).toMatchObject({ em: [3 / 5, 5] });
});

test('the valid action ratio is the share of actions in form, and the memory tokens those of histories shown', async () => {
  const builder = new EventBuilder('ratio');
  const run = builder.run();
  const tree = builder.tree(run);
  const rolloutId = builder.rollout(tree);
  const spec = recordRenderSpec(builder, run);
  const segment = recordSegment(builder, run, spec, 'one');
  let at = tree.rootStepId;
  for (const [i, wellFormatted] of [true, false, true, true].entries()) {
    at = builder.step(tree, rolloutId, at, i + 1, { wellFormatted, termination: i === 3 ? 'terminated' : 'none' });
    const count = [14, 14, 30, 30][i] ?? 0;
    const shown = { stepId: at, renderSpecId: spec, segments: [segment], visionTokens: { count, preset: 'qwen2.5-vl' } };
    recordHistory(builder, tree, shown);
  }
  builder.finishRollout(tree, rolloutId, at, { steps: 4 });
  expect(await metricsOf(builder, run)).toMatchObject({
    'episode/valid_action_ratio': [0.75, 4],
    memory_visual_token_count: [22, 4],
    'prompt_length/memory_tokens/mean': [22, 4],
    'prompt_length/memory_tokens/max': [30, 4],
    'prompt_length/memory_tokens/min': [14, 4],
    'episode/success_rate': [1, 1],
  });
});

test('a step without an image counts as one whose factor is 1', async () => {
  const builder = new EventBuilder('factor');
  const run = builder.run();
  const tree = builder.tree(run);
  const rolloutId = builder.rollout(tree);
  const spec = recordRenderSpec(builder, run);
  const segment = recordSegment(builder, run, spec, 'one');
  const first = builder.step(tree, rolloutId, tree.rootStepId, 1, {});
  const second = builder.step(tree, rolloutId, first, 2, { termination: 'terminated' });
  recordHistory(builder, tree, { stepId: second, renderSpecId: spec, segments: [segment], factor: 3 });
  builder.finishRollout(tree, rolloutId, second, { steps: 2 });
  expect(await metricsOf(builder, run)).toMatchObject({
    'ocr/compression_factor/mean': [2, 2],
    'ocr/compression_factor/min': [1, 2],
    'ocr/compression_factor/max': [3, 2],
  });
});

test('the clip ratio is the share of replies that were cut at their length, of those whose tokens were counted', async () => {
  const builder = new EventBuilder('cut');
  const run = builder.run();
  const tree = builder.tree(run);
  const rolloutId = builder.rollout(tree);
  let at = tree.rootStepId;
  for (const [i, finishReason] of ['stop', 'length', 'stop', 'stop', 'length'].entries()) {
    const usage = i === 4 ? null : { promptTokens: 10, completionTokens: 2 };
    at = builder.step(tree, rolloutId, at, i + 1, { finishReason, usage, termination: i === 4 ? 'terminated' : 'none' });
  }
  builder.finishRollout(tree, rolloutId, at, { steps: 5 });
  expect(await metricsOf(builder, run)).toMatchObject({ 'response_length/clip_ratio': [0.25, 4] });
});
