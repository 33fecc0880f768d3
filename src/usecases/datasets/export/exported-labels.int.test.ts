import { readFile } from 'node:fs/promises';
import { beforeEach, expect, test } from '@jest/globals';
import type { DataOf } from '../../../events/catalogue.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenPrepared } from '../../../testing/projecting-log.ts';
import type { ExportFormat } from './formats.ts';

const shop = datasetWorkshop();
let labelledStep: string;

/** Two rollouts of one task, of which the second goes on from a step of the first, and one of another task without a label. */
beforeEach(async () => {
  const recorded = new EventBuilder();
  const runId = recorded.run();
  const tree = recorded.tree(runId, 'bread');
  const { treeId } = tree;
  const rolloutId = recorded.rollout(tree, 0);
  labelledStep = recorded.step(tree, rolloutId, tree.rootStepId, 1);
  recorded.reward(tree, labelledStep, 1, { rolloutId });
  recorded.finishRollout(tree, rolloutId, recorded.step(tree, rolloutId, labelledStep, 2));
  const second = recorded.rollout(tree, 1, { fromStepId: labelledStep });
  recorded.finishRollout(tree, second, recorded.step(tree, second, labelledStep, 2), { steps: 1 });
  recorded.walk(recorded.tree(runId, 'axe'), 0, 3, 0);
  const add = (name: string, subject: DataOf<'AnnotationAdded'>['subject'], label: string | null, score: number | null) => {
    const data = { annotationId: recorded.id(name), treeId, subject, label, score, note: `said of ${name}` };
    recorded.record('AnnotationAdded', data, runId);
    return data.annotationId;
  };
  add('one', { kind: 'rollout', rolloutId }, 'kept, twice', 1);
  add('step', { kind: 'step', stepId: labelledStep }, 'a turn', 0.5);
  add('again', { kind: 'step', stepId: labelledStep }, 'a turn', null);
  add('tree', { kind: 'tree' }, 'odd', null);
  const annotationId = add('gone', { kind: 'rollout', rolloutId }, 'gone', -5);
  recorded.record('AnnotationRetracted', { annotationId, treeId, reason: '' }, runId);
  await givenPrepared(shop.db, recorded.events, shop.blobs);
});

async function exported<Line>(format: ExportFormat): Promise<Line[]> {
  const text = await readFile(await shop.exportTo('data.jsonl', format), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const plain = { weights: 'policy', metadata: 'include' } as const;
test.each<ExportFormat>([
  { kind: 'openai', ...plain },
  { kind: 'xtuner', ...plain },
  { kind: 'trl', ...plain },
  { kind: 'trl-grpo', metadata: 'include' },
  { kind: 'sharegpt', weights: 'policy' },
])('the metadata of $kind have the labels of a trajectory and of its steps, and their mean score', async (format) => {
  const lines = await exported<{
    metadata: { labels: string; ordinal: number; scores: object[]; task: { alias: string } };
  }>(format);
  const found = lines.map(({ metadata }) => [metadata.task.alias, metadata.ordinal, metadata.labels.split('\n')] as const);
  for (const [alias, ordinal, labels] of found) {
    // the second rollout goes on from the labelled step of the first
    const own = ordinal === 0 ? ['a turn', 'kept, twice'] : ['a turn'];
    expect({ alias, ordinal, labels }).toEqual({ alias, ordinal, labels: alias === 'bread' ? own : [''] });
  }
  const [first] = lines.filter(({ metadata }) => metadata.task.alias === 'bread' && metadata.ordinal === 0);
  expect(first?.metadata.scores).toContainEqual({ name: 'annotation', value: 0.75 });
});

test('a trajectory of ATIF has its labels, and each step its own', async () => {
  const lines = await exported<{
    extra: { espalier: { labels: string } };
    steps: { extra?: { step_id: string; labels: string } }[];
  }>({ kind: 'atif', weights: 'policy' });
  expect(lines.map(({ extra }) => extra.espalier.labels)).toEqual(['', 'a turn\nkept, twice', 'a turn']);
  for (const line of lines)
    for (const { extra } of line.steps) if (extra) expect(extra.labels).toBe(extra.step_id === labelledStep ? 'a turn' : '');
});
