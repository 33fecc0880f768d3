import { closestName } from '../../domain/text/closest-name.ts';
import { findArrayFault, findLogProbFault, findTokenValueFault } from '../../domain/training/planning/record-fault.ts';
import type { Envelope } from '../../events/envelope.ts';
import { unpack } from '../../events/packed.ts';
import { CHANNELS, trainingChannel } from '../../events/schemas/training.ts';
import type { Packed } from '../../events/schemas/values.ts';
import { PICTURE_LIMITS, pictureSize } from '../../images/observation-pictures.ts';
import type { Problem } from '../reply.ts';

export type ContentFault = Omit<Problem, 'index' | 'id'>;

/**
 * Finds what fits the schema of an event and makes no sense: token arrays that no trainer can use, pictures that nobody can be
 * shown, a reward of no trajectory. Bytes in the blob store are looked at when they are read, digests where they are folded.
 */
export function findContentFault(event: Envelope): ContentFault | undefined {
  switch (event.type) {
    case 'PromptShown': {
      const { tokens, stepId } = event.data;
      return tokens ? wrongIds(stepId, tokens.ids) : undefined;
    }
    case 'TreeOpened':
      return event.data.runId === event.correlationId ? wrongPictures(event.data.pictures) : OF_OTHER_RUN;
    case 'CallCaptured':
      return wrongPictures(event.data.pictures);
    case 'StepTaken':
      return wrongTokens(event.data) ?? wrongPictures(event.data.pictures);
    case 'RewardAssigned':
      return event.data.stepId === null && event.data.rolloutId === null ? OF_NOTHING : undefined;
    default:
      return undefined;
  }
}

const OF_OTHER_RUN: ContentFault = {
  path: 'correlationId',
  message: 'is another run than data.runId, to which the tree belongs',
  remedy: 'name the run of the tree in both',
};

/** Sums over all rewards would count it, and no return of a rollout would. */
const OF_NOTHING: ContentFault = {
  path: 'data.stepId',
  message: 'is null, and so is data.rolloutId: the reward would be of no trajectory',
  remedy: 'name the step or the rollout that the reward is for',
};

type Step = Envelope<'StepTaken'>['data'];

function wrongTokens({ stepId, tokens }: Pick<Step, 'stepId' | 'tokens'>): ContentFault | undefined {
  if (tokens === null) return undefined;
  const { ids, logProbs, mask, ends, entropies } = tokens;
  return (
    wrongIds(stepId, ids) ??
    (ends && (wrongArray('data.tokens.ends', stepId, ends, 'int32', ids.length) ?? wrongEnds(stepId, ends))) ??
    (entropies && wrongArray('data.tokens.entropies', stepId, entropies, 'float32', ids.length)) ??
    (mask ? wrongArray('data.tokens.mask', stepId, mask, 'uint8', ids.length) : undefined) ??
    (logProbs
      ? (wrongArray('data.tokens.logProbs', stepId, logProbs, 'float32', ids.length) ?? wrongValues(stepId, logProbs, mask))
      : undefined)
  );
}

/** Finds an array of another type or length than it says or than the ids have, and ids below 0. */
function wrongIds(stepId: string, ids: Packed): ContentFault | undefined {
  const path = 'data.tokens.ids';
  const fault = wrongArray(path, stepId, ids, 'int32', ids.length);
  if (fault || typeof ids.bytes !== 'string') return fault;
  const message = findTokenValueFault(`step ${stepId}`, { ids: unpack(ids), mask: null, logProbs: null });
  return message === null ? undefined : { path, message };
}

/** A text is cut at its ends from left to right. */
function wrongEnds(stepId: string, ends: Packed): ContentFault | undefined {
  if (typeof ends.bytes !== 'string') return undefined;
  const index = unpack(ends).findIndex((end, i, all) => end < (all[i - 1] ?? 0));
  if (index === -1) return undefined;
  const message = `step ${stepId}: the text of token ${index} ends before that of the token before it`;
  return { path: 'data.tokens.ends', message, remedy: 'send the index in `response` after each token, in code points' };
}

/** Finds log-probabilities that are not finite or above 0. */
function wrongValues(stepId: string, logProbs: Packed, mask: Packed | null): ContentFault | undefined {
  if (typeof logProbs.bytes !== 'string' || typeof (mask?.bytes ?? '') !== 'string') return undefined;
  const message = findLogProbFault(`step ${stepId}`, unpack(logProbs), logProbs.length, mask && unpack(mask));
  return message === null
    ? undefined
    : { path: 'data.tokens.logProbs', message, remedy: 'send the log-probabilities as the server returned them, or null' };
}

function wrongArray(path: string, stepId: string, array: Packed, wanted: Packed['dtype'], due: number): ContentFault | undefined {
  const { dtype, length } = array;
  const message = findArrayFault(stepId, { dtype, length, bytes: sizeOf(array) }, wanted, due);
  return message === null ? undefined : { path, message };
}

function sizeOf({ bytes }: Packed): number {
  return typeof bytes === 'string' ? Buffer.byteLength(bytes, 'base64') : bytes.size;
}

type Picture = NonNullable<Step['pictures']>[number];

/** Finds bytes that are no PNG, or of another length or size than they say. Pixels are compared with the id when they are read. */
function wrongPictures(pictures: readonly Picture[] = []): ContentFault | undefined {
  for (const [i, picture] of pictures.entries()) {
    const message = pictureFault(picture);
    if (message === null) continue;
    const remedy = 'send each picture as the PNG of its pixels, with its own width and height';
    return { path: `data.pictures.${i}.png`, message, remedy };
  }
  return undefined;
}

function pictureFault({ width, height, png }: Picture): string | null {
  const { dtype, length, bytes } = png;
  const size = sizeOf(png);
  if (dtype !== 'uint8') return `has the type ${dtype}, not uint8`;
  if (size !== length || length === 0) return `has ${size} bytes and says ${length}`;
  if (length > PICTURE_LIMITS.bytes) return `has ${length} bytes, more than ${PICTURE_LIMITS.bytes}`;
  if (Math.max(width, height) > PICTURE_LIMITS.side) return `is ${width} × ${height}, more than ${PICTURE_LIMITS.side} on a side`;
  if (typeof bytes !== 'string') return null;
  const head = Buffer.from(bytes.slice(0, 64), 'base64');
  const pixels = head[0] === 0x89 ? pictureSize(head) : null;
  if (pixels === null) return 'is no PNG';
  if (pixels.width === width && pixels.height === height) return null;
  return `has ${pixels.width} × ${pixels.height} pixels and says ${width} × ${height}`;
}

const REMEDY = `write {"policyId": NAME, "channel": CHANNEL} as config.training, where the channel is ${CHANNELS.join(', ')}; another name for settings of your own`;

/**
 * Finds a configuration of a run that means to feed a training and is not read as that: its rollouts would be no samples, and
 * nothing would say so. Other settings under `training` are a program's own: its `policy` may be an algorithm, and its `channels` a
 * number.
 */
export function unknownTrainingFields({ type, data }: Envelope): ContentFault | undefined {
  if (type !== 'RunStarted') return undefined;
  const config = fieldsOf((data as { readonly config?: unknown }).config); // of a RunStarted: any JSON
  const near = Object.keys(config).find(
    (name) => name !== 'training' && closestName(name, ['training']) !== null && trainingChannel.safeParse(config[name]).success,
  );
  if (near !== undefined && config.training === undefined)
    return {
      path: `data.config.${near}`,
      message: 'names a policy and a channel, and is not read',
      remedy: 'did you mean training?',
    };
  const training = fieldsOf(config.training);
  const named = Object.keys(training).filter((name) => training[name] !== null);
  const ofPolicy = named.find(isPolicyId);
  const ofChannel = named.find((name) => closestName(name, ['channel']) !== null && isChannel(training[name]));
  if (ofPolicy === undefined && ofChannel === undefined) return undefined;
  const issue = trainingChannel.safeParse(training).error?.issues[0];
  if (issue === undefined) return undefined;
  const field = String(issue.path[0]);
  const given =
    field === 'channel'
      ? named.find((name) => closestName(name, ['channel']) !== null)
      : (ofPolicy ?? named.find((name) => name === 'policy'));
  const meant = training[field] === undefined && given !== undefined ? `; ${given} is not read` : '';
  return { path: `data.config.training.${field}`, message: `${issue.message}${meant}`, remedy: REMEDY };
}

const { channel } = trainingChannel.shape;

function isChannel(value: unknown): boolean {
  return channel.safeParse(value).success;
}

/** Whether a name is `policyId`, in any case and style: `policy_lr` is as near to it as a misspelling. */
function isPolicyId(name: string): boolean {
  return name.replaceAll(/[-_ ]/g, '').toLowerCase() === 'policyid';
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
