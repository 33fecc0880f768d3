import type { RememberedPrompt } from '../../append/shown-prompt.ts';
import { textReader } from '../../blobs/read-text.ts';
import type { StepResult } from '../../environments/environment.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Picture } from '../../images/observation-pictures.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Db } from '../../postgres/database.ts';
import { readStepOf } from '../../projections/evaluations/read-evaluations.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import { readPicturesOfTree } from '../../projections/pictures/read-pictures.ts';
import { readPrompts } from '../../projections/prompts/read-prompts.ts';
import { readRewardedSteps } from '../../projections/rewards/read-rewards.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { readSearchFacts } from '../../projections/search-statistics/read-statistics.ts';
import { type PathStep, readRecordedPath } from '../../projections/step-tree/read-recorded-path.ts';
import { type RecordedStep, readRecordedSteps } from '../../projections/step-tree/read-recorded-steps.ts';
import { readRolloutsOfTrees } from '../../projections/step-tree/read-rollouts.ts';
import { type OpenTree, readOpenTrees, readTree } from '../../projections/step-tree/read-trees.ts';
import type { Prefix, RecordedTree } from './growing-tree.ts';
import type { VersionLag } from './plan.ts';
import { type ReadBytes, readSampledReplies } from './sampled-replies.ts';

type RunEnd = { readonly outcome: 'completed' | 'failed' | 'cancelled'; readonly message: string } | null;

export interface RecordedRun {
  readonly started: boolean;
  /** How the run ended; null while it can be gone on with. */
  readonly end: RunEnd;
  /** The trees that a resumed run goes on with. */
  readonly open: readonly OpenTree[];
  /** Takes over the run, once it is known that it can be gone on with; returns its end, which came just before perhaps. */
  takeOver(): Promise<RunEnd>;
  /** Returns the tree that a run's task of this index grew, null when it was never opened. */
  tree(runId: string, index: number): Promise<RecordedTree | null>;
}

/** The record of a run that is about to begin. */
export const nothingRecorded: RecordedRun = {
  started: false,
  end: null,
  open: [],
  takeOver: async () => null,
  tree: async () => null,
};

/**
 * Opens the record of a run for resuming. The read models must have caught up with the log first (`waitUntilProjected`), or steps
 * that were appended would be taken again. @param treeIdOf the id of the tree of a task index.
 * @param resolve reads text that lies in the blob store. @param readBytes reads bytes there.
 */
export async function readRecordedRun(
  db: Db,
  runId: string,
  treeIdOf: (index: number) => string,
  resolve: (sha256: string) => Promise<string>,
  readBytes: ReadBytes,
): Promise<RecordedRun> {
  const run = await readRun(db, runId);
  const end = endOf(run);
  return {
    started: run !== undefined,
    end,
    takeOver: async () => end,
    open: run ? await readOpenTrees(db, runId, resolve) : [],
    tree: (_runId, index) => readRecordedTree(db, treeIdOf(index), resolve, readBytes),
  };
}

function endOf(run: Awaited<ReturnType<typeof readRun>>): RunEnd {
  if (run === undefined || run.finishedAt === null) return null;
  return { outcome: (run.outcome ?? 'completed') as 'completed', message: run.message ?? '' }; // by the schema of RunFinished
}

/** Reads how a run ended. */
export async function readRunEnd(db: Db, runId: string): Promise<RunEnd> {
  return endOf(await readRun(db, runId));
}

async function readDiverged(db: Db, treeId: string): Promise<readonly string[]> {
  return (await readEventsOfTypes(db, treeId, ['ReplayDiverged'])).map(({ data }) => data.stepId);
}

async function readRememberedPrompts(
  db: Db,
  treeId: string,
  steps: readonly string[],
  text: (sha256: string) => Promise<string>,
  bytes: ReadBytes,
): Promise<ReadonlyMap<string, RememberedPrompt>> {
  const named = steps.map((id) => ({ treeId, id }));
  const prompts = await readPrompts(db, named, { text: ({ blob }) => text(blob), bytes: ({ blob }) => bytes(blob) });
  return new Map(
    [...prompts.values()].map(({ stepId, messages, following, blocks }) => [
      stepId,
      { messages, tokenIds: following, blocks: new Set(blocks) },
    ]),
  );
}

/** Reads what the record holds of a tree; null when it was never opened. */
export async function readRecordedTree(
  db: Db,
  treeId: string,
  resolve: (sha256: string) => Promise<string>,
  readBytes: ReadBytes,
): Promise<RecordedTree | null> {
  const tree = await readTree(db, treeId);
  if (!tree) return null;
  const rollouts = await readRolloutsOfTrees(db, [treeId]);
  const searchFacts = await readSearchFacts(db, treeId);
  const expanded = new Set(searchFacts.flatMap((fact) => (fact.kind === 'node-expanded' ? [fact.stepId] : [])));
  const steps = await readRecordedSteps(db, treeId, resolve);
  const pictures =
    tree.closedAt === null ? await readPicturesOfTree(db, treeId, readBytes) : new Map<string, readonly Picture[]>();
  const { observation = '', admissibleActions = null, stateHash = null } = steps.get(tree.rootStepId) ?? {};
  const long = tree.blobs?.instruction;
  return {
    opening: {
      goal: tree.task.goal,
      instruction: long ? await resolve(long.blob) : tree.instruction,
      observation,
      pictures: pictures.get(tree.rootStepId) ?? [],
      admissibleActions,
      stateHash,
    },
    closed: tree.closedAt === null ? null : (tree.closeReason ?? 'completed'),
    fault: tree.closeFault,
    diverged: tree.closedAt === null ? await readDiverged(db, treeId) : [],
    searchFacts,
    replies: tree.closedAt === null ? await readSampledReplies(db, treeId, expanded, readBytes) : new Map(),
    rollouts: new Map(
      rollouts.map(({ id: rolloutId, ordinal, fromStepId, outcome, success, reason }) => [
        ordinal,
        { rolloutId, fromStepId, outcome, success, reason: reason ?? '' },
      ]),
    ),
    steps,
    pictures,
    prompts: tree.closedAt === null ? await readRememberedPrompts(db, treeId, [...steps.keys()], resolve, readBytes) : new Map(),
    rewarded: await readRewardedSteps(db, treeId),
    ...(tree.closedAt === null && searchFacts.length > 0 ? { answers: await readRecordedAnswers(db, treeId, steps) } : {}),
  };
}

/**
 * Reads what the environment answered at the steps of a searched tree, so that a deterministic one need not be asked again where
 * the same is done. Left out is what the record does not hold whole: steps that called tools, were paid by components of their
 * own or punished, ends at a limit of the environment, and rewards that are sums of all before. A step that was paid
 * nothing has no event; what kind of reward it is follows from those of the tree, and where none was paid nothing is returned.
 */
async function readRecordedAnswers(
  db: Db,
  treeId: string,
  steps: ReadonlyMap<string, RecordedStep>,
): Promise<ReadonlyMap<string, StepResult>> {
  const events = await readEventsOfTypes(db, treeId, ['StepTaken', 'RewardAssigned', 'ToolCalled', 'RolloutFinished']);
  const executable = new Map<string, boolean>();
  const unlike = new Set<string>();
  const ends = new Map<string, { readonly success: boolean | null; readonly reason: string }>();
  const paid = new Map<string, StepResult['reward']>();
  for (const { type, data } of events) {
    if (type === 'StepTaken') executable.set(data.stepId, data.executable);
    else if (type === 'ToolCalled') unlike.add(data.stepId);
    else if (type === 'RolloutFinished') ends.set(data.leafStepId, data);
    else if (data.stepId !== null) {
      const { stepId, component, raw, value, scorer } = data;
      if (component !== 'environment' || raw === null || raw.kind === 'cumulative' || raw.value < 0 || paid.has(stepId))
        unlike.add(stepId);
      else paid.set(stepId, { value, raw: raw.value, scale: raw.scale, kind: raw.kind, scorer });
    }
  }
  const [some] = paid.values();
  if (!some) return new Map();
  const unpaid = { ...some, value: 0, raw: 0 };
  const answers = new Map<string, StepResult>();
  for (const { stepId, depth, termination, observation, admissibleActions, stateHash } of steps.values()) {
    const end = ends.get(stepId);
    // The depth limit of the search is none of the environment's doing.
    const cut = termination === 'truncated' && end?.reason !== 'depth';
    if (depth === 0 || cut || unlike.has(stepId)) continue;
    const terminated = termination === 'terminated';
    answers.set(stepId, {
      observation,
      terminated,
      truncated: false,
      admissibleActions,
      stateHash,
      reward: paid.get(stepId) ?? unpaid,
      success: terminated ? (end?.success ?? false) : null,
      executable: executable.get(stepId) ?? true,
    });
  }
  return answers;
}

/** Reads the event that a run began with; null when the journal has none. */
export async function readBeginning(db: Db, runId: string): Promise<Envelope<'RunStarted'>['data'] | null> {
  const [began] = await readEventsOfTypes(db, runId, ['RunStarted']);
  return began?.data ?? null;
}

/** Reads the steps that a planned task goes on behind: what was said, what was executed, and the result. */
export async function readPrefix({ database, blobs }: Platform, behind: VersionLag): Promise<Prefix> {
  const text = textReader(blobs);
  const { treeId } = behind;
  const id = 'stepId' in behind ? behind.stepId : await readStepOf(database.db, { treeId, id: behind.rolloutId }, behind.steps);
  const [root, ...path] = id === null ? [] : await readRecordedPath(database.db, { treeId, id }, text);
  const opening = { observation: root?.observation ?? null, pictures: root?.pictures ?? [], stateHash: root?.stateHash ?? null };
  return { ...opening, steps: path.map(again) };
}

function again(step: PathStep): Prefix['steps'][number] {
  const { stepId, response, thought, action, wellFormatted, observation, pictures, reward, termination, stateHash, policy } =
    step;
  if (!policy) throw new RangeError(`step ${stepId} does not say which policy took it`);
  return { response, policy, taken: { thought, action, wellFormatted, observation, pictures, reward, termination, stateHash } };
}
