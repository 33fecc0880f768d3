import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { catalogue } from './catalogue.ts';
import { pathIn } from './free-form.ts';
import { isPayload } from './schemas/values.ts';

/**
 * Texts of events that are not sealed, and so stay readable when the payload of their run is forgotten, by the reason. What an agent,
 * an environment or the data of a user may fill is marked as payload in its schema. Names have at most 500 characters and are listed by
 * their paths, of whatever type; longer texts with their type.
 */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  'by these runs, tasks and rollouts are found, and lists are filtered': [
    ...['name', 'kind', 'task', 'rollout', 'run', 'arm', 'stage', 'split', 'format', 'profile', 'environment', 'metric', 'by'],
    ...['task.alias', 'task.environment', 'task.kind', 'task.serverFingerprint', 'task.split', 'environments.*.environment'],
    ...['environments.*.fingerprint', 'codeVersion', 'trained.method', 'output.trained.method', 'differences.*.field'],
  ],
  'names of tools, components and computations, by which sums are grouped; what a model calls a tool by is sealed': [
    ...['tool', 'component', 'scorer.name', 'scorer.revision', 'judge.name', 'judge.revision', 'output.judge', 'estimator.name'],
    ...[
      'estimator.revision',
      'loss.name',
      'loss.revision',
      'rules.metric',
      'rules.rewards.key',
      'metrics.key',
      'output.values.key',
    ],
    ...['template.name', 'textTokens.tokenizer', 'visionTokens.preset', 'backend', 'consumer', 'position.key'],
  ],
  'how a model was asked and what its server says of itself: configuration': [
    ...['api', 'model', 'server', 'finishReason', 'answer.finishReason', 'choices.*.finishReason', 'sampling.others.*.name'],
    ...[
      'call.fingerprint',
      'call.model',
      'call.responseId',
      'answer.call.fingerprint',
      'answer.call.model',
      'answer.call.responseId',
    ],
    'StageFinished output.policy',
  ],
  'ids that a server gives calls, by which results name them': [
    ...['StepTaken reply.toolCalls.*.id', 'PromptShown messages.*.toolCallId', 'PromptShown messages.*.parts.*.id'],
  ],
  'what the platform writes of its own work: positions, rules, media types': [
    ...['BatchPlanned position', 'PolicyUpdated rewardsAt', 'DatasetReleased position.*', 'SampleRejected rule'],
    ...['kept.mediaType', 'logProbs.mediaType', 'output.kept.mediaType', 'answer.tokens.logProbs.bytes.mediaType'],
    ...['choices.*.tokens.logProbs.bytes.mediaType', 'tokens.ends.bytes.mediaType', 'tokens.entropies.bytes.mediaType'],
    ...['tokens.logProbs.bytes.mediaType', 'tokens.mask.bytes.mediaType'],
  ],
  'words of who runs the installation on what has no run whose payload is forgotten: policies, datasets, experiments': [
    ...['BatchReturned reason', 'BatchAbandoned reason', 'DatasetWithdrawn reason', 'ExperimentDeclared question'],
  ],
  'says why payload was forgotten, which must stay readable': ['PayloadForgotten reason'],
  'a program of an environment': ['RunStarted environments.*.renderer'],
};
const LONGEST_NAME = 500;

test('every text of an event is payload, or is plain for a reason', () => {
  const found = Object.entries(catalogue).flatMap(([type, { data }]) =>
    textsIn(data, '').map(({ path, longest }) => (longest <= LONGEST_NAME ? path : `${type} ${path}`)),
  );
  expect([...new Set(found)].sort()).toEqual(Object.values(PLAIN).flat().sort());
});

interface PlainText {
  readonly path: string;
  /** In characters. */
  readonly longest: number;
}

/** The paths of the texts in a schema that any text fits, or one of a length: no ids, hashes, times and choices. */
function textsIn(schema: unknown, path: string): readonly PlainText[] {
  if (!(schema instanceof z.ZodType) || isPayload(schema)) return [];
  if (schema instanceof z.ZodString)
    return schema.format === null ? [{ path, longest: schema.maxLength ?? Number.POSITIVE_INFINITY }] : [];
  if (
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodDefault
  )
    return textsIn(schema.unwrap(), path);
  if (schema instanceof z.ZodArray) return textsIn(schema.element, pathIn(path, '*'));
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => textsIn(option, path));
  if (schema instanceof z.ZodRecord)
    return [...textsIn(schema.keyType, pathIn(path, 'key')), ...textsIn(schema.valueType, pathIn(path, '*'))];
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, field]) => textsIn(field, pathIn(path, key)));
  return [];
}
