import { isLostBlob } from '../../blobs/blob-store.ts';
import { textReader } from '../../blobs/read-text.ts';
import { pathTo, type TreeNode, walkDown } from '../../domain/tree/grow-tree.ts';
import type { Person } from '../../environments/chat/person.ts';
import { type RecordedTurn, withPerson } from '../../environments/chat/with-person.ts';
import {
  type Environment,
  EnvironmentError,
  type EnvironmentKind,
  type Opening,
  type StepResult,
  type TaskStart,
} from '../../environments/environment.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { resetAsRecorded } from '../../environments/reset-as-recorded.ts';
import { type PictureIds, pictureNames } from '../../environments/same-observation.ts';
import { picturesOf } from '../../environments/with-pictures.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { nothingLeft, readLeftOfRun } from '../../projections/forgetting/read-forgotten.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import { readPictureIdsOfTree } from '../../projections/pictures/read-pictures.ts';
import { readEarned } from '../../projections/rewards/read-rewards.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { readTreesOfRun } from '../../projections/step-tree/read-trees-of-run.ts';
import { readRecordedTrees } from '../../projections/trajectories/read-recorded-trees.ts';
import type { RecordedStep, RecordedTree } from '../../projections/trajectories/recorded-tree.ts';
import { publishedEnvironment } from '../collect/published-environment.ts';
import { Comparison, comparePrompts, type ReplayReport } from './replay-report.ts';

export interface EnvironmentReplay {
  readonly runId: string;
  /** In place of the environment that the run's plan names; for runs without a plan of ours. */
  readonly environment: string | null;
  readonly signal: AbortSignal;
  readonly progress?: (trees: number, of: number) => void;
}

/** The run cannot be replayed: there is none, or it does not say in which environment it acted. */
export class ReplayRefused extends Error {
  override readonly name = 'ReplayRefused';
}

/**
 * Executes every recorded action of a run again and compares what the environment says: observation, reward (as it was first
 * assigned, whatever a scorer made of it later), end, and the state's hash where there is one. The prompt of each step is
 * compared with the digest of what was sent. Fingerprints are compared first: with another server or world, differences are to
 * be expected, and the report says so. Each action is executed once where the environment can be copied; elsewhere the way to a
 * branch is walked again. Where the episode ends now and went on then, what lies below is left out and counted in a note.
 */
export async function replayEnvironment(platform: Platform, replay: EnvironmentReplay): Promise<ReplayReport> {
  const { db } = platform.database;
  const comparison = new Comparison('environment');
  const { kind, published, isChat } = await environmentOf(platform, replay);
  const seen = published ? publishedEnvironment(kind) : kind;
  let skipped = 0;
  try {
    const trees = await readTreesOfRun(db, replay.runId);
    const left = await readLeftOfRun(db, replay.runId);
    const nothing = nothingLeft(replay.runId, left);
    if (nothing !== null) throw new ReplayRefused(nothing);
    if (left.forgotten.size > 0) comparison.note(forgottenTrees(left.forgotten.size));
    for (const [index, { treeId }] of trees.entries()) {
      replay.signal.throwIfAborted();
      if (left.forgotten.has(treeId)) continue;
      const tree = (await db.transaction().execute((trx) => readRecordedTrees(trx, [treeId]))).get(treeId);
      const paid = await readEarned(db, [treeId]);
      const earned = (stepId: string) => paid.get(keyInTree(treeId, stepId)) ?? 0;
      await comparePrompts(platform, treeId, comparison);
      const pictures = await readPictureIdsOfTree(db, treeId);
      const replaying = { platform, comparison, kind: seen, earned, pictures, signal: replay.signal };
      if (tree) skipped += await replayReadable(replaying, tree, isChat, treeId);
      replay.progress?.(index + 1, trees.length);
    }
  } finally {
    await kind.close();
  }
  if (skipped > 0) comparison.note(`steps that were not executed, since the episode had ended before them: ${skipped}`);
  return comparison.report();
}

/** Replays a tree as far as its texts can be read: where one is lost, that is a difference, and the other trees go on. */
async function replayReadable(replaying: Replaying, tree: RecordedTree, isChat: boolean, treeId: string): Promise<number> {
  try {
    return await replayTree(isChat ? await asTalked(replaying, tree) : replaying, tree);
  } catch (error) {
    if (!isLostBlob(error)) throw error;
    compareLost(replaying.comparison, treeId);
    return 0;
  }
}

/** Says of a tree that a text of it is lost, which is a difference. */
export function compareLost(comparison: Comparison, treeId: string): void {
  const at = { eventId: derivedId('TreeOpened', treeId), stepId: null, field: 'texts' };
  comparison.compare(at, 'on record', 'lost: `espalier verify` names it');
}

/** Returns a note that trees are left out of a replay. */
export function forgottenTrees(count: number): string {
  return `trees that are left out, since their payload is forgotten: ${count}`;
}

async function environmentOf(
  { database }: Platform,
  { runId, environment }: EnvironmentReplay,
): Promise<{ readonly kind: EnvironmentKind; readonly published: boolean; readonly isChat: boolean }> {
  const run = await readRun(database.db, runId);
  if (!run) throw new ReplayRefused(`there is no run ${runId}; \`espalier status\` lists the runs`);
  // whatever its producer wrote
  const config = run.config as { environment?: unknown; search?: { compat?: unknown } | null; chat?: unknown } | null;
  const name = environment ?? (typeof config?.environment === 'string' ? config.environment : null);
  if (name === null)
    throw new ReplayRefused(`run ${runId} does not say in which environment it acted; name it with --environment`);
  const kind = await openEnvironment(name);
  return { kind, published: Boolean(config?.search?.compat), isChat: config?.chat === true };
}

/** Lets the person of a chat say again what is on record, step by step. */
async function asTalked(replaying: Replaying, { tree }: RecordedTree): Promise<Replaying> {
  const turns: RecordedTurn[] = [];
  for (const { step } of walkDown(tree.root))
    turns.push({ observation: await textOf(replaying, step, 'observation'), termination: step.termination });
  return { ...replaying, kind: withPerson(replaying.kind, NOBODY, { turns }) };
}

const NOBODY: Person = { show: () => undefined, next: async () => ({ kind: 'ends', reason: '' }) };

interface Replaying {
  readonly platform: Platform;
  readonly comparison: Comparison;
  readonly kind: EnvironmentKind;
  /** What the environment gave for each step of the tree; nothing where it said nothing. */
  readonly earned: (stepId: string) => number;
  /** What observations held, by the step that they followed. */
  readonly pictures: ReadonlyMap<string, PictureIds>;
  readonly signal: AbortSignal;
}

/** Returns how many steps were not executed. */
async function replayTree(replaying: Replaying, recorded: RecordedTree): Promise<number> {
  const { comparison, kind } = replaying;
  const { head, tree } = recorded;
  const root = tree.root.step;
  if (
    !comparison.compare(
      place(root.stepId, 'TreeOpened', head.treeId, 'serverFingerprint'),
      head.serverFingerprint,
      kind.fingerprint,
    )
  )
    comparison.note(
      `the environment is not the one that was recorded (${kind.name}: fingerprint ${kind.fingerprint.slice(0, 16)}…, recorded ${head.serverFingerprint.slice(0, 16)}…): what follows may differ for that`,
    );
  const environment = await kind.create();
  try {
    const observation = await textOf(replaying, root, 'observation');
    const opening = await openAgain(replaying, recorded, environment, observation);
    if (!opening) return 0;
    comparison.compare(place(root.stepId, 'TreeOpened', head.treeId, 'observation'), observation, opening.observation);
    comparePictures(replaying, place(root.stepId, 'TreeOpened', head.treeId, 'pictures'), opening);
    return await replayBelow(replaying, recorded, tree.root, environment);
  } finally {
    await environment.close();
  }
}

function startOf({ alias, seed }: RecordedTree['head']): TaskStart {
  return { alias, seed };
}

/** What an environment says of one task, not of its server. */
const DIFFERENT: ReadonlySet<EnvironmentError['code']> = new Set(['unknown-task', 'failed']);

/** Starts the task of a tree; null, and a difference, where the environment does not know it or fails over it. */
async function openAgain(
  { comparison, pictures }: Replaying,
  { head, tree }: RecordedTree,
  environment: Environment,
  observation: string,
): Promise<Opening | null> {
  try {
    return (await resetAsRecorded(environment, startOf(head), observation, pictures.get(tree.root.step.stepId))).opening;
  } catch (error) {
    if (!(error instanceof EnvironmentError && DIFFERENT.has(error.code))) throw error;
    comparison.compare(place(tree.root.step.stepId, 'TreeOpened', head.treeId, 'alias'), head.alias, error.message);
    return null;
  }
}

/**
 * Executes what was done below a node, in an environment at that node. Returns how many steps were not executed, the episode
 * having ended before them.
 */
async function replayBelow(
  replaying: Replaying,
  recorded: RecordedTree,
  node: TreeNode<RecordedStep>,
  live: Environment,
): Promise<number> {
  let skipped = 0;
  // A path is walked in one frame, so that long ones do not end the stack; branches are few.
  for (let at = node; ; ) {
    replaying.signal.throwIfAborted();
    const [last] = at.children.slice(-1);
    if (!last) return skipped;
    for (const child of at.children.slice(0, -1)) {
      const branch = live.clone ? await live.clone() : await replaying.kind.create();
      try {
        if (!live.clone && !(await walkTo(replaying, recorded, at, branch))) skipped += stepsFrom(child);
        else if (await executeStep(replaying, child, branch)) skipped += stepsFrom(child) - 1;
        else skipped += await replayBelow(replaying, recorded, child, branch);
      } finally {
        await branch.close();
      }
    }
    // Ends differ between worlds: what the record has behind this one cannot be done here.
    if (await executeStep(replaying, last, live)) return skipped + stepsFrom(last) - 1;
    at = last;
  }
}

/**
 * Brings an environment to a node. False, and a difference, where the task opens otherwise or the episode ends on the way, which
 * it did not do the first time.
 */
async function walkTo(
  replaying: Replaying,
  { head, tree }: RecordedTree,
  node: TreeNode<RecordedStep>,
  environment: Environment,
): Promise<boolean> {
  const observation = await textOf(replaying, tree.root.step, 'observation');
  const { kind, opening } = await resetAsRecorded(environment, startOf(head), observation);
  if (kind === 'differs') {
    const at = place(tree.root.step.stepId, 'TreeOpened', head.treeId, 'observation');
    replaying.comparison.compare(at, observation, opening.observation);
    return false;
  }
  for (const step of pathTo(tree, node.step.stepId).slice(1)) {
    const ended = endOf(await environment.step(await textOf(replaying, step, 'action')));
    if (ended === 'none') continue;
    replaying.comparison.compare(ofStep(step, 'termination'), step.termination, ended);
    return false;
  }
  return true;
}

/** Counts a step and all below it. */
function stepsFrom(node: TreeNode<RecordedStep>): number {
  return [...walkDown(node)].length;
}

/** Executes a step and compares the result. Returns whether the episode ends there. */
async function executeStep(replaying: Replaying, { step }: TreeNode<RecordedStep>, environment: Environment): Promise<boolean> {
  const { comparison, earned } = replaying;
  const result = await environment.step(await textOf(replaying, step, 'action'));
  const at = (field: string) => ofStep(step, field);
  comparison.compare(at('observation'), await textOf(replaying, step, 'observation'), result.observation);
  comparePictures(replaying, at('pictures'), result);
  comparison.compare(at('reward'), earned(step.stepId), result.reward.gain ?? result.reward.value);
  // A rollout that a limit of ours cut is truncated on record, whatever the environment would have said next.
  const ended = endOf(result);
  if (step.termination !== 'truncated' || ended === 'terminated') comparison.compare(at('termination'), step.termination, ended);
  if (step.stateHash !== null && result.stateHash !== null) comparison.compare(at('stateHash'), step.stateHash, result.stateHash);
  return ended !== 'none';
}

/** Compares the pictures of an observation by their ids, where it has any. */
function comparePictures(
  { comparison, pictures }: Replaying,
  at: Parameters<Comparison['compare']>[0] & { readonly stepId: string },
  fresh: Opening | StepResult,
): void {
  const recorded = pictures.get(at.stepId) ?? [];
  const shown = picturesOf(fresh);
  if (recorded.length > 0 || shown.length > 0) comparison.compare(at, pictureNames(recorded), pictureNames(shown));
}

function endOf({ terminated, truncated }: StepResult): 'terminated' | 'truncated' | 'none' {
  return terminated ? 'terminated' : truncated ? 'truncated' : 'none';
}

function ofStep({ stepId }: RecordedStep, field: string) {
  return { eventId: derivedId('StepTaken', stepId), stepId, field };
}

function place(stepId: string, type: 'TreeOpened', id: string, field: string) {
  return { eventId: derivedId(type, id), stepId, field };
}

async function textOf({ platform }: Replaying, step: RecordedStep, field: 'action' | 'observation'): Promise<string> {
  const blob = step.blobs?.[field];
  return blob ? textReader(platform.blobs)(blob.blob) : step[field];
}
