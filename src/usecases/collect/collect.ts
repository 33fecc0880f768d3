import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { textReader } from '../../blobs/read-text.ts';
import type { Person } from '../../environments/chat/person.ts';
import { withPerson } from '../../environments/chat/with-person.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { id, name } from '../../events/schemas/values.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { watchForgotten } from '../../platform/watch-forgotten.ts';
import { createPolicy, parsePolicyText } from '../../policies/policy-spec.ts';
import { forgottenAmong } from '../../postgres/stream-keys.ts';
import { readRecordedEpoch } from '../../projections/epochs/mark-superseded.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { readRecordedSteps } from '../../projections/step-tree/read-recorded-steps.ts';
import { readProjected, waitUntilProjected } from '../../projections/wait-until.ts';
import { followVersions } from '../../training/versions/train-versions.ts';
import { type CollectedRun, collectRun, type Progress } from './collect-run.ts';
import { treeIdOf } from './collect-tree.ts';
import { type HeldRun, type HoldOptions, holdRun, openFences, RunRefused } from './hold-run.ts';
import { type CollectPlan, collectPlan } from './plan.ts';
import { refuseSearchPayment } from './prompting/closing-rewards.ts';
import { dropDrawn, openPrompter } from './prompting/prompter.ts';
import {
  nothingRecorded,
  type RecordedRun,
  readBeginning,
  readPrefix,
  readRecordedRun,
  readRecordedTree,
  readRunEnd,
} from './recorded-run.ts';
import { candidatesFor, differenceFrom, refuseUnfit } from './refuse-unfit.ts';
import { admissionFor } from './train-admission.ts';

export interface Collection {
  readonly runId: string;
  readonly name: string;
  readonly seed: number;
  readonly plan: CollectPlan;
  readonly experimentId?: string | null;
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly progress?: (progress: Progress) => void;
  /** See `CollectOptions.failure`. */
  readonly failure?: () => Promise<string | null>;
  /** Whether the record may hold a part of this run already. */
  readonly mode: 'new' | 'resume';
  readonly hold?: HoldOptions;
  /** The text of a module by which the studio shows steps of this run, in place of the environment's own. */
  readonly renderer?: string;
  /** Who talks with the policy, where the plan is a chat. */
  readonly chat?: Chat;
}

/** A person, and what they said to the opening, where that is not on record. */
export interface Chat {
  readonly person: Person;
  readonly opening: string;
}

/** A run that other work depends on ended as failed. */
export class RunFailed extends Error {
  override readonly name = 'RunFailed';
  constructor(runId: string, { state, message }: Pick<CollectedRun, 'state' | 'message'>) {
    super(`run ${runId} ${state === 'interrupted' ? 'was interrupted' : 'failed'}: ${message}`);
  }
}

/** @throws RunFailed for a run that failed or was interrupted. */
export function throwIfFailed(runId: string, collected: CollectedRun): void {
  if (collected.state === 'failed' || collected.state === 'interrupted') throw new RunFailed(runId, collected);
}

const CATCH_UP_MS = 60_000;

/**
 * Collects a run into the platform's record, one process per run at a time. A resume first waits until the read models hold
 * everything that was appended, then goes on behind it; what a collector before it still appends has no effect.
 * @throws PolicyUnfit before anything is recorded of a run whose policy cannot act in its environment; RunBusy; RunTakenOver when
 * another process resumed the run since this one was not heard from.
 */
export async function collect(platform: Platform, collection: Collection): Promise<CollectedRun> {
  const held = await holdRun(platform, collection.runId, collection.hold);
  try {
    return await collectHeld(platform, { ...collection, signal: AbortSignal.any([collection.signal, held.lost]) }, held);
  } finally {
    await held.release(); // where another process took the run this says why the work failed, if it did
  }
}

async function collectHeld(platform: Platform, collection: Collection, run: HeldRun): Promise<CollectedRun> {
  const { runId, plan } = collection;
  const prompter = plan.prompt ? openPrompter(platform, plan.prompt) : undefined;
  const opened: { close(): Promise<void> }[] = []; // closed whatever fails to open after it
  if (prompter?.drawing) {
    const { renderer } = prompter.drawing;
    opened.push({ close: async () => renderer.clear() }); // runs next to this one draw their histories from the beginning once
    opened.push(watchForgotten(platform, () => dropDrawn(platform)));
  }
  try {
    const bare = await openEnvironment(plan.environment);
    opened.push(bare);
    const recorded = collection.mode === 'resume' ? await recordOf(platform, collection, run) : nothingRecorded;
    const given = await withChat(platform, collection, bare); // reads the turns of a resumed chat: behind the wait for the record
    const { db } = platform.database;
    const policy = await createPolicy(parsePolicyText(plan.policy), {
      apiKey: platform.config.openai.apiKey ?? undefined,
      versionsOf: (policyId, acting) => followVersions(platform, policyId, acting),
      signal: collection.signal,
    });
    opened.push(policy);
    const kind = candidatesFor(given, policy);
    const unpayable = recorded.started ? null : refuseSearchPayment(plan); // a run that was begun so goes on as it was, unpaid
    if (unpayable !== null) throw new RunRefused(unpayable);
    const began = recorded.started && recorded.end === null ? await readBeginning(db, runId) : null;
    const difference = began && differenceFrom(began, plan, kind, policy);
    if (difference) throw new RunRefused(`${difference}; put back what the run began with, or begin a new run`);
    if (!recorded.started) await refuseUnfit(kind, policy, plan);
    const admission = plan.training && (await admissionFor(platform, plan.training, policy)); // where the log ends behind the record
    if (admission) opened.push(admission);
    const numbers = collection.mode === 'resume' ? 'continue' : 'begin';
    const appender = openAppender(platform, 'collector', { epoch: run.epoch, numbers });
    return await collectRun({
      ...collection,
      readPrefix: (behind) => readPrefix(platform, behind),
      ...(prompter ? { prompter } : {}),
      ...(admission ? { admission } : {}),
      codeVersion: CODE_VERSION,
      kind,
      policy,
      appender,
      recorded,
      clock: Date.now,
    });
  } finally {
    for (const each of opened.reverse()) await each.close();
  }
}

/**
 * Reads the seed, name and plan of a recorded run, so that a resume needs only its id. @throws RunRefused when there
 * is none.
 */
export async function readCollection(
  platform: Platform,
  runId: string,
  purpose: 'collect' | 'evaluate' | 'fork' = 'collect',
): Promise<Pick<Collection, 'name' | 'seed' | 'plan' | 'experimentId'>> {
  const target = await platform.log.ends(TOPICS);
  await waitUntilProjected(platform.database.db, target, { timeoutMs: CATCH_UP_MS });
  const run = await readRun(platform.database.db, runId);
  if (!run) throw new RunRefused(`there is no run ${runId}; \`espalier status\` lists the runs`);
  const plan = collectPlan.safeParse(run.config);
  const kinds = purpose === 'collect' ? ['collect', 'search'] : [purpose];
  if (!kinds.includes(run.kind) || !plan.success)
    throw new RunRefused(
      `run ${runId} is a run of kind ${run.kind}, not one that \`${purpose === 'fork' ? 'replay fork' : purpose}\` began`,
    );
  return { name: run.name, seed: run.seed, plan: plan.data, experimentId: run.experimentId };
}

/** @throws RunRefused where a person is needed and none is there. */
async function withChat(platform: Platform, { runId, plan, chat }: Collection, kind: EnvironmentKind): Promise<EnvironmentKind> {
  if (plan.chat && chat) {
    const [task] = plan.tasks;
    const { db } = platform.database;
    const steps = task ? await readRecordedSteps(db, treeIdOf(runId, task, 0), textReader(platform.blobs)) : new Map();
    return withPerson(kind, chat.person, { opening: chat.opening, turns: [...steps.values()].sort((a, b) => a.depth - b.depth) });
  }
  if (plan.chat) throw new RunRefused(`run ${runId} is a chat; continue it with: espalier chat --resume ${runId}`);
  if (kind.needsPerson) throw new RunRefused(`${plan.environment} waits for what a person says; use espalier chat`);
  return kind;
}

const planFile = z.strictObject({ runId: id, name, seed: z.int(), plan: collectPlan });

/**
 * Reads the file that describes to a collecting worker what to do: run id, name, seed and plan. @throws RunRefused naming the
 * field.
 */
export async function readPlanFile(path: string | undefined): Promise<Pick<Collection, 'runId' | 'name' | 'seed' | 'plan'>> {
  if (path === undefined) throw new RunRefused('name a plan file: a JSON object with runId, name, seed and plan');
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new RunRefused(`cannot read the plan ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parsed = planFile.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new RunRefused(`plan ${path}: ${issue?.path.join('.')} ${issue?.message}`);
}

async function recordOf(platform: Platform, { runId, plan, seed, signal }: Collection, held: HeldRun): Promise<RecordedRun> {
  const { db } = platform.database;
  await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
  await held.raiseAbove(await readRecordedEpoch(db, runId));
  const run = await readRun(db, runId);
  if (run && (canonicalJson(run.config) !== canonicalJson(plan) || run.seed !== seed)) {
    throw new RunRefused(
      `run ${runId} was begun with another plan or seed; resume it with the ones recorded, or begin a new run`,
    );
  }
  const treeOf = (index: number) => {
    const task = plan.tasks[index];
    if (!task) throw new RangeError(`the plan has no task ${index}`);
    return treeIdOf(runId, task, index);
  };
  const fences = openFences(platform, { runId, epoch: held.epoch, signal });
  const text = textReader(platform.blobs);
  const bytes = (sha256: string) => platform.blobs.get(sha256);
  const recorded = await readRecordedRun(db, runId, treeOf, text, bytes);
  if (recorded.end !== null) return recorded;
  const forgotten = await forgottenAmong(
    db,
    recorded.open.map(({ treeId }) => treeId),
  );
  if (forgotten.size > 0)
    throw new RunRefused(
      `the payload of ${forgotten.size} open trees of run ${runId} is forgotten: nothing can go on from it; begin a new run`,
    );
  return {
    ...recorded,
    takeOver: async () => ((await fences.run()) ? readRunEnd(db, runId) : null),
    async tree(_runId, index) {
      const tree = await recorded.tree(runId, index);
      if (tree?.closed) return tree;
      const fence = await fences.tree(treeOf(index));
      if (fence === null) return tree;
      return readProjected(db, fence, (trx) => readRecordedTree(trx, treeOf(index), text, bytes)); // with what came before the fence
    },
  };
}
