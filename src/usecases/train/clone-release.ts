import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { openSha256 } from '../../digest/sha256.ts';
import { createRandom } from '../../domain/random/random.ts';
import { parseJson } from '../../domain/text/parse-json.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { resetAsRecorded } from '../../environments/reset-as-recorded.ts';
import type { Situation } from '../../policies/linear/situation.ts';
import { addScaled } from '../../policies/linear/softmax.ts';
import type { LinearWeights } from '../../policies/linear/weights.ts';
import { gradientLogProb } from '../../policies/linear-policy.ts';

interface CloneRelease extends CloneOptions {
  readonly kind: EnvironmentKind;
  /** Where the training goes on from. */
  readonly weights: LinearWeights;
  /** The released file, in the format `openai`, and its SHA-256. */
  readonly path: string;
  readonly sha256: string;
  /** What its tasks are reset with. */
  readonly taskSeed: number;
}

/**
 * Trains the linear policy on a released file, and on nothing else, by behaviour cloning. A file of which no action can be cloned
 * leaves the weights as they are. @throws ReleaseUnreadable.
 */
export async function cloneRelease({ kind, weights, path, sha256, taskSeed, ...options }: CloneRelease): Promise<{
  readonly weights: LinearWeights;
  readonly actions: number;
  readonly losses: readonly number[];
}> {
  const good: SpelledAction[] = [];
  const revised: SpelledAction[] = [];
  for (const chat of await readReleasedChats(path, sha256))
    for (const action of await spellActions(kind, chat, taskSeed)) (chat.kind === 'good' ? good : revised).push(action);
  const actions = weigh(good, revised);
  if (actions.length === 0) return { weights, actions: 0, losses: [] };
  return { ...cloneBehaviour(weights, actions, options), actions: actions.length };
}

/**
 * Weighs good and revision actions as Eq. 6 of the paper does, whose two expectations count alike however many rows either has: a
 * good action counts 1, a revision action so much that both sets amount to the same.
 */
function weigh(good: readonly SpelledAction[], revised: readonly SpelledAction[]): readonly ClonedAction[] {
  const share = good.length === 0 ? 1 : good.length / revised.length;
  return [...good.map((action) => ({ ...action, weight: 1 })), ...revised.map((action) => ({ ...action, weight: share }))];
}

/** One action with loss: where it was chosen, among what, and how much it counts. */
export interface ClonedAction {
  readonly situation: Situation;
  readonly candidates: readonly string[];
  /** The position of the chosen action among the candidates. */
  readonly chosen: number;
  readonly weight: number;
}

interface CloneOptions {
  readonly epochs: number;
  readonly learningRate: number;
  /** Fixes the order of the actions in every epoch. */
  readonly seed: number;
}

interface Cloned {
  readonly weights: LinearWeights;
  /** Mean −log π(chosen) over the actions, by weight, in nats: each action before it was learned from in that epoch. */
  readonly losses: readonly number[];
}

/**
 * Trains the linear policy on chosen actions by maximum likelihood (behaviour cloning): stochastic gradient ascent on weight ·
 * log π, one action at a time, in a seeded order that is drawn again for each epoch. Equal inputs give equal bytes. The weights
 * given stay as they are; the new ones are their next version. @throws RangeError without an action: a version that learned
 * nothing would look like one that did.
 */
export function cloneBehaviour(
  from: LinearWeights,
  actions: readonly ClonedAction[],
  { epochs, learningRate, seed }: CloneOptions,
): Cloned {
  if (actions.length === 0) throw new RangeError('there is no action to clone');
  const weights = { version: from.version + 1, values: Float64Array.from(from.values) };
  const total = actions.reduce((sum, { weight }) => sum + weight, 0);
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    let loss = 0;
    for (const { situation, candidates, chosen, weight } of createRandom(seed).fork(epoch).shuffle(actions)) {
      const { logProb, gradient } = gradientLogProb(weights, situation, candidates, chosen, 1);
      loss -= weight * logProb;
      addScaled(weights.values, gradient, learningRate * weight);
    }
    losses.push(loss / total);
  }
  return { weights, losses };
}

type SpelledAction = Omit<ClonedAction, 'weight'>;

/**
 * Executes a released example from its start, and returns for each action with loss where it was chosen and among what: the
 * candidates stand in no file. Every observation must be the released one. Actions that are no candidate are left out.
 * @param seed what the task is reset with. @throws ReleaseUnreadable when the environment answers something else.
 */
export async function spellActions(kind: EnvironmentKind, chat: ReleasedChat, seed: number): Promise<readonly SpelledAction[]> {
  const environment = await kind.create();
  try {
    const { opening } = await resetAsRecorded(environment, { alias: chat.alias, seed }, chat.firstObservation);
    refuseOther(chat, 0, chat.firstObservation, opening.observation);
    const history: { action: string; observation: string }[] = [];
    const actions: SpelledAction[] = [];
    let candidates = opening.admissibleActions ?? [];
    for (const [index, { response, observation, loss }] of chat.turns.entries()) {
      const { action } = environment.parse(response);
      const situation = { goal: opening.goal, firstObservation: opening.observation, history: [...history] };
      const chosen = loss ? chooseCandidate(candidates, action) : null;
      if (chosen !== null) actions.push({ situation, candidates, chosen });
      if (observation === null) break; // nothing follows the last reply
      const result = await environment.step(action);
      refuseOther(chat, index + 1, observation, result.observation);
      history.push({ action, observation: result.observation });
      candidates = result.admissibleActions ?? [];
    }
    return actions;
  } finally {
    await environment.close();
  }
}

function refuseOther({ line, alias }: ReleasedChat, turn: number, released: string, seen: string): void {
  if (released === seen) return;
  throw new ReleaseUnreadable(
    `line ${line}, task ${alias}: after reply ${turn} the environment answers ${JSON.stringify(seen.slice(0, 200))}, not what was released; train where the data was collected`,
  );
}

/**
 * Finds the candidate that an action is to be cloned as: itself; else one that differs in nothing but amounts, since a perfect
 * player of TextCraft may get or craft more at a time than the candidates offer, and the choice of the item is what can be
 * learned. Null when there is none: the action is then left out.
 */
export function chooseCandidate(candidates: readonly string[], action: string): number | null {
  const exact = candidates.indexOf(action);
  if (exact >= 0) return exact;
  const wanted = withoutAmounts(action);
  const same = candidates.findIndex((candidate) => withoutAmounts(candidate) === wanted);
  return same >= 0 ? same : null;
}

function withoutAmounts(action: string): string {
  return action.replace(/\d+/g, '#');
}

/** A reply of a released example and what the environment answered. */
interface ReleasedTurn {
  readonly response: string;
  /** Null after the last reply, which released chats leave unanswered. */
  readonly observation: string | null;
  /** Whether the release says to train on the reply. */
  readonly loss: boolean;
}

/** An example of a release in the format `openai`, with its metadata. */
export interface ReleasedChat {
  /** Its line in the file, from 1. */
  readonly line: number;
  readonly kind: 'good' | 'revision';
  readonly alias: string;
  readonly firstObservation: string;
  readonly turns: readonly ReleasedTurn[];
}

/** The file is not the release it is taken for, or not one to train on. */
export class ReleaseUnreadable extends Error {
  override readonly name = 'ReleaseUnreadable';
}

const row = z.object({
  messages: z.array(
    z.object({
      role: z.enum(['system', 'user', 'assistant']),
      content: z.string(),
      weight: z.union([z.literal(0), z.literal(1)]).optional(),
    }),
  ),
  metadata: z.object({ kind: z.enum(['good', 'revision']), task: z.object({ alias: z.string() }) }),
});

/**
 * Reads the examples of a released file, format `openai` with metadata. @param sha256 what the release says of the file: what is
 * trained on must be what was frozen. @throws ReleaseUnreadable when its bytes are others, or a line is no such example.
 */
export async function readReleasedChats(path: string, sha256: string): Promise<readonly ReleasedChat[]> {
  const hash = openSha256();
  const file = createReadStream(path);
  file.on('data', (bytes) => hash.update(bytes));
  const chats: ReleasedChat[] = [];
  for await (const line of createInterface({ input: file, crlfDelay: Number.POSITIVE_INFINITY }))
    chats.push(parseChat(line, `${path}, line ${chats.length + 1}`, chats.length + 1));
  if (hash.digest('hex') !== sha256)
    throw new ReleaseUnreadable(
      `${path} is not what was released: its SHA-256 is another; remove it, and the release is written again`,
    );
  return chats;
}

function parseChat(text: string, place: string, line: number): ReleasedChat {
  const parsed = row.safeParse(parseJson(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ReleaseUnreadable(
      `${place}: ${issue?.path.join('.') || 'the line'}: ${issue?.message}; train on the format openai, with metadata`,
    );
  }
  const { messages, metadata } = parsed.data;
  const first = messages.findIndex(({ role }) => role === 'assistant');
  const opening = messages[first - 1];
  if (opening?.role !== 'user') throw new ReleaseUnreadable(`${place}: no observation precedes the first reply`);
  const turns: ReleasedTurn[] = [];
  for (let i = first; i < messages.length; i += 2) {
    const [reply, answer] = [messages[i], messages[i + 1]];
    if (reply?.role !== 'assistant' || (answer && answer.role !== 'user'))
      throw new ReleaseUnreadable(`${place}: replies and observations do not alternate at message ${i}`);
    turns.push({ response: reply.content, observation: answer?.content ?? null, loss: reply.weight !== 0 });
  }
  return { line, kind: metadata.kind, alias: metadata.task.alias, firstObservation: opening.content, turns };
}
