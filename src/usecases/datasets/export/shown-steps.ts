import { type PromptSource, pictureIds, type ShownRow, type ShownStep, shownRows } from '../../../domain/dataset/shown-rows.ts';
import { promptMessages } from '../../../domain/history/prompt.ts';
import { areFlattened, unflattened } from '../../../domain/prompts/flattened-message.ts';
import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { textMessage } from '../../../domain/prompts/same-message.ts';
import type { OfTree } from '../../../projections/of-tree.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ExportedPicture, PictureFolder, Pictures } from './pictures.ts';
import { partOf, type RowOrigin, rowMetadata } from './row-metadata.ts';

/** A path of steps, with how it opens. */
interface ShownPath {
  readonly instruction: string;
  readonly firstObservation: string;
  /** Ids of the pictures of the first observation, and of those behind it. */
  readonly firstPictures?: readonly string[];
  readonly steps: readonly {
    /** What was answered; left out where it is the text `response`. */
    readonly message?: PolicyMessage | undefined;
    readonly response: string;
    readonly observation: string;
    readonly pictures?: readonly string[];
    readonly prompt: RecordedPrompt | null;
  }[];
}

/**
 * Returns what each step of a path was asked with: the recorded prompt, else the chat of the environment, which is then composed
 * again. Calls of tools that an earlier capture recorded in texts are calls again.
 */
export function shownSteps(
  { instruction, firstObservation, firstPictures = [], steps }: ShownPath,
  weights: readonly (0 | 1)[],
): readonly ShownStep[] {
  const pictures = [firstPictures, ...steps.map((step) => step.pictures ?? [])].values(); // of the messages of the user
  const chat = promptMessages({ instruction, firstObservation, history: steps }).map(({ role, content }) =>
    seenMessage(textMessage(role, content), role === 'user' ? (pictures.next().value ?? []) : []),
  );
  const opening = chat.length - 2 * steps.length;
  const replies = steps.map(({ response, message }) => message ?? textMessage('assistant', response));
  const distinct = new Set(replies); // a prompt holds the messages of the one that it continues
  for (const { prompt } of steps) for (const each of prompt?.messages ?? []) distinct.add(each);
  const isFlat = areFlattened([...distinct]);
  const read = (messages: readonly PolicyMessage[]) => (isFlat ? messages.map(unflattened) : messages);
  return read(replies).map((reply, i) => {
    const prompt = steps[i]?.prompt;
    return {
      prompt: prompt ? read(prompt.messages) : chat.slice(0, opening + 2 * i),
      reply,
      weight: weights[i] ?? 0,
      tools: prompt?.tools ?? null,
      source: prompt ? 'recorded' : 'composed',
    };
  });
}

/** Puts pictures behind the text of a message, in the place of an empty one. */
function seenMessage({ role, parts }: PolicyMessage, ids: readonly string[]): PolicyMessage {
  if (ids.length === 0) return { role, parts };
  const text = parts.filter((part) => part.kind === 'text' && part.text !== '');
  return { role, parts: [...text, ...ids.map((imageId) => ({ kind: 'image' as const, imageId }))] };
}

/** Returns whether a run words its prompts itself, so that the chat of the environment is none that was shown. */
export function wordsPrompts(config: unknown): boolean {
  return typeof config === 'object' && config !== null && 'prompt' in config && Boolean(config.prompt);
}

/**
 * Refuses an example whose prompt is not recorded where it was worded otherwise than composed and nothing in its form says so.
 * @throws DatasetError `missing-prompt`.
 */
export function refuseUnknownPrompts(source: PromptSource, config: unknown, place: string, says: boolean): void {
  if (says || source === 'recorded' || !wordsPrompts(config)) return;
  throw new DatasetError(
    'missing-prompt',
    `${place}: its run words prompts itself, the record does not hold them (it was written before they were recorded), and this form cannot say so; export it with its metadata, which does, or leave the run out by a filter`,
  );
}

/** What writers of examples take pictures from, and where they put them. */
export interface PictureShelf {
  readonly pictures: Pictures;
  readonly folder: Pick<PictureFolder, 'keep'>;
}

/** A row of a trajectory, and what its metadata say of it. */
export interface ShownExample<Metadata extends object = object> {
  readonly row: ShownRow;
  /** The steps of the trajectory up to the last one of the row. */
  readonly path: readonly OfTree[];
  readonly metadata: Metadata;
}

/**
 * Lays a trajectory out as examples: one where each prompt continues the one before, else one for each part that does.
 * @param says whether the form has a place for the metadata. @throws DatasetError `missing-prompt`.
 */
export function shownExamples(
  trajectory: ExportTrajectory,
  { from, weights, says }: { readonly from: number; readonly weights: readonly (0 | 1)[]; readonly says: boolean },
): readonly ShownExample[] {
  const { head, root, firstPictures = [], steps, rollout, config } = trajectory;
  const path = { instruction: head.instruction, firstObservation: root.observation, firstPictures, steps };
  const shown: readonly ShownStep[] = shownSteps(path, weights).slice(from);
  const rows = shownRows(shown);
  const origin = originOf(trajectory);
  return rows.map((row, index) => {
    refuseUnknownPrompts(row.source, config, `trajectory ${rollout.rolloutId} of run ${head.runId}`, says);
    return {
      row,
      path: steps.slice(0, from + row.to).map(({ stepId: id }) => ({ treeId: head.treeId, id })),
      metadata: rowMetadata(origin, { prompt: row.source, part: partOf(row, index, rows.length, from) }),
    };
  });
}

/** Describes where an example comes from. */
export function originOf({ head, rollout, returnValue, rewards, steps, root, annotations }: ExportTrajectory): RowOrigin {
  const byComponent = Object.entries(rewards).map(([component, value]) => [`reward.${component}`, value] as const);
  return {
    kind: 'trajectory',
    trajectory: rollout.rolloutId,
    leaf: steps.at(-1)?.stepId ?? root.stepId,
    rejected: null,
    rejectedLeaf: null,
    tree: head.treeId,
    run: head.runId,
    task: { id: head.taskId, alias: head.alias, goal: head.goal, depth: head.taskDepth, split: head.split },
    environment: { name: head.environment, fingerprint: head.serverFingerprint },
    policy: { id: rollout.policyId, version: rollout.policyVersion },
    ordinal: rollout.ordinal,
    outcome: rollout.outcome ?? '',
    success: rollout.success,
    steps: steps.length,
    revision: null,
    state: null,
    judge: null,
    judgements: [],
    annotations,
    rejectedAnnotations: [],
    scores: { ...(returnValue === null ? {} : { return: returnValue }), ...Object.fromEntries(byComponent) },
  };
}

/** Draws the pictures of messages, in order. @param path as `Pictures.of` takes it. */
export async function picturesIn(
  messages: readonly PolicyMessage[],
  path: readonly OfTree[],
  { pictures }: PictureShelf,
): Promise<readonly ExportedPicture[]> {
  const ids = pictureIds(messages);
  return ids.length === 0 ? [] : pictures.of(ids, path);
}

/** Keeps pictures in the folder next to the file: the column `images`, where the file has one. */
export async function imagesColumn(
  drawn: readonly ExportedPicture[],
  { pictures, folder }: PictureShelf,
): Promise<{ readonly images?: readonly string[] }> {
  if (!pictures.any) return {};
  const images: string[] = [];
  for (const picture of drawn) images.push(await folder.keep(picture));
  return { images };
}
