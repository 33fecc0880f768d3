import type { Draft } from '../../append/appender.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import type { Opening } from '../../environments/environment.ts';
import { resetAsRecorded } from '../../environments/reset-as-recorded.ts';
import { picturesOf } from '../../environments/with-pictures.ts';
import { derivedId } from '../../events/derived-id.ts';
import { pictureData } from '../../images/observation-pictures.ts';
import { allOrStop } from './all-or-stop.ts';
import { type EnvironmentFault, withFault } from './environment-fault.ts';
import type { FailedAt, GrowingTree, Prefix, RecordedOpening, RecordedTree, TreeNode, TreeOptions } from './growing-tree.ts';
import type { PlannedTask } from './plan.ts';
import { PrefixDiverged, playPrefix } from './play-prefix.ts';
import { drawingFor } from './prompting/prompter.ts';
import { treeClosedDraft } from './rollout-events.ts';
import { growSearch } from './search/grow-search.ts';
import { walkRollout } from './walk-rollout.ts';

/** Returns the id of the tree of a task index, before anything of it is recorded. */
export function treeIdOf(runId: string, task: PlannedTask, index: number): string {
  return derivedId('tree', runId, index, task.alias);
}

/**
 * Grows one tree to its planned rollouts, from what the record holds of it. Rollouts of a group run at the same time; those of a
 * bushy tree one after the other, since each starts at a node drawn from what the others reached. An aborted signal leaves the
 * rest for a resume, and so does an environment whose servers are away.
 */
export async function collectTree(given: TreeOptions): Promise<void> {
  let leftOpen = false;
  const onAway = (reason: string) => {
    leftOpen = true;
    given.onAway(reason);
  };
  const options = { ...given, onAway };
  const { task, tree, plan } = options;
  if (tree?.closed) return countRecorded(options);
  const prefix = task.behind && (await options.readPrefix?.(task.behind));
  const growing = await withFault(openTree(options, prefix ?? null));
  const isAway = ({ kind }: EnvironmentFault) => kind === 'away' && !plan.training;
  if ('reason' in growing) return isAway(growing) ? onAway(growing.reason) : options.onUnopened(growing.reason);
  const fault = await withFault(grow(growing, prefix, () => leftOpen));
  if (!fault) return;
  if (isAway(fault)) return onAway(fault.reason);
  const rollouts = plan.search ? undefined : 0; // it failed on the way to where rollouts begin: there are none
  await closeTree(growing, 'failed', rollouts, fault.reason);
  options.onLost(fault.reason);
}

async function grow(growing: GrowingTree, prefix: Prefix | undefined, leftOpen: () => boolean): Promise<void> {
  const { task, tree, signal, plan } = growing;
  if (plan.search) {
    countRecorded(growing);
    const search = { plan: plan.search, facts: tree?.searchFacts ?? [] };
    const reason = await drawingFor(growing, growing.treeId, (drawn) => growSearch(drawn, search));
    if (reason !== 'stopped') await closeTree(growing, reason);
    return;
  }
  let startStepId: string;
  try {
    startStepId = await playPrefix(growing, prefix);
  } catch (error) {
    // A fork has nothing else to do; an evaluation has other tasks, and says how many it could not begin.
    if (!(error instanceof PrefixDiverged) || !plan.evaluation) throw error;
    return growing.onFailed('way');
  }
  if (task.branching === 'root') {
    const walks = Array.from(
      { length: task.rollouts },
      (_, ordinal) => (either: AbortSignal) => walkRollout({ ...growing, signal: either }, ordinal, startStepId),
    );
    await allOrStop(signal, walks);
  } else {
    // where a rollout is left open, later ones would start elsewhere than they do after it
    for (let ordinal = 0; ordinal < task.rollouts && !signal.aborted && !leftOpen(); ordinal++) {
      await walkRollout(growing, ordinal, startOf(growing, ordinal));
    }
  }
  if (!signal.aborted && !leftOpen()) await closeTree(growing, 'completed');
}

async function closeTree(
  tree: GrowingTree,
  reason: 'completed' | 'exhausted' | 'failed',
  rollouts?: number,
  fault?: string,
): Promise<void> {
  const openedOtherwise = tree.openedOtherwise.size > 0;
  tree.onClosing?.();
  await tree.appender.append([treeClosedDraft(tree, openedOtherwise ? 'failed' : reason, rollouts, fault)]);
  if (openedOtherwise) tree.onFailed(failedAt(tree));
}

/** What a plan goes on behind was recorded by another run, whose opening it repeats too. */
function failedAt({ task }: TreeOptions): FailedAt {
  return task.behind ? 'way' : 'opening';
}

function countRecorded(options: TreeOptions): void {
  const { tree, onRollout, onStep, onFailed, onFailure, onLost } = options;
  const taken = [...(tree?.steps.values() ?? [])].filter(({ depth }) => depth > 0);
  for (const _ of taken) onStep();
  for (const rollout of tree?.rollouts.values() ?? []) {
    if (rollout.outcome === null) continue;
    onRollout(rollout.success === true);
    if (rollout.outcome === 'failed') onFailure(rollout.reason);
  }
  if (tree?.closed === 'failed') {
    if (tree.fault === null) onFailed(failedAt(options));
    else onLost(tree.fault);
  }
  if (taken.length > 0) return;
  for (const fact of tree?.searchFacts ?? []) if (fact.kind === 'node-expanded' && fact.reason) onFailure(fact.reason);
}

/** Starts the task and opens its tree, or goes on with the recorded one: whether the task opens alike is seen by each rollout. */
async function openTree(options: TreeOptions, prefix: Prefix | null): Promise<GrowingTree> {
  const { runId, task, treeIndex, plan, kind, tree, appender } = options;
  const treeId = treeIdOf(runId, task, treeIndex);
  const rootStepId = derivedId('root', treeId);
  const openedOtherwise = new Set(tree?.diverged.filter((stepId) => stepId === rootStepId));
  const growing = { ...options, treeId, rootStepId, openedOtherwise };
  if (tree) return { ...growing, opening: tree.opening, nodes: recordedNodes(tree, rootStepId, tree.opening) };
  const start = { alias: task.alias, seed: plan.taskSeed };
  const environment = await kind.create();
  try {
    const opening =
      prefix && prefix.observation !== null
        ? (await resetAsRecorded(environment, start, prefix.observation, prefix.pictures)).opening
        : await environment.reset(start);
    await appender.append([openingEvent(growing, opening)]);
    return { ...growing, opening, nodes: recordedNodes(null, rootStepId, opening) };
  } finally {
    await environment.close();
  }
}

function openingEvent(
  { runId, plan, task, kind, treeId, rootStepId }: Omit<GrowingTree, 'opening' | 'nodes'>,
  opening: Opening,
): Draft {
  const observationHash = sha256Hex(opening.observation.toWellFormed());
  return {
    type: 'TreeOpened',
    id: derivedId('TreeOpened', treeId),
    correlationId: runId,
    causationId: derivedId('RunStarted', runId),
    data: {
      treeId,
      runId,
      task: {
        taskId: derivedId('task', kind.name, kind.fingerprint, observationHash),
        environment: kind.name,
        serverFingerprint: kind.fingerprint,
        observationHash,
        alias: task.alias,
        goal: opening.goal,
        depth: opening.depth,
        split: opening.split,
        ...(typeof opening.kind === 'string' ? { kind: opening.kind } : {}),
      },
      rootStepId,
      instruction: opening.instruction,
      observation: opening.observation,
      ...pictureData(picturesOf(opening)),
      admissibleActions: opening.admissibleActions ? [...opening.admissibleActions] : null,
      stateHash: opening.stateHash,
      plannedRollouts: task.rollouts,
      seed: plan.taskSeed,
    },
  };
}

function recordedNodes(tree: RecordedTree | null, rootStepId: string, opening: RecordedOpening): Map<string, TreeNode> {
  const nodes = new Map<string, TreeNode>();
  const root = {
    stepId: rootStepId,
    parentStepId: null,
    depth: 0,
    response: '',
    action: '',
    observation: opening.observation,
    pictures: picturesOf(opening),
  };
  const { admissibleActions, stateHash } = opening;
  nodes.set(rootStepId, { ...root, ended: false, admissibleActions, stateHash, policyVersion: 0, prompt: null });
  for (const step of tree?.steps.values() ?? []) {
    if (step.depth > 0) {
      const prompt = tree?.prompts.get(step.stepId) ?? null;
      const pictures = tree?.pictures.get(step.stepId) ?? [];
      nodes.set(step.stepId, { ...step, pictures, ended: step.termination !== 'none', prompt });
    }
  }
  return nodes;
}

/**
 * Returns the node at which a rollout of a bushy tree starts: drawn among the nodes reached by the rollouts before it that have
 * not ended. The draw depends on those alone, so a resumed tree draws the same.
 */
function startOf({ seed, task, nodes, tree, rootStepId, treeId }: GrowingTree, ordinal: number): string {
  const recorded = tree?.rollouts.get(ordinal);
  if (recorded) return recorded.fromStepId;
  if (ordinal === 0) return rootStepId;
  const open = [...nodes.values()].filter((node) => !node.ended);
  const chosen = createRandom(seedFrom('start', seed, task.alias, ordinal)).int(open.length);
  const node = open[chosen];
  if (!node) throw new RangeError(`tree ${treeId} has no open node to start rollout ${ordinal} at`);
  return node.stepId;
}
