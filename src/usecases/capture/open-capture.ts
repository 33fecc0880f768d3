import type { Appender, Draft } from '../../append/appender.ts';
import { isLostBlob } from '../../blobs/blob-store.ts';
import type { Topic } from '../../events/catalogue.ts';
import { derivedId, isDerived } from '../../events/derived-id.ts';
import { newId } from '../../events/new-id.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import { type AppendingWorld, openAppender } from '../../platform/open-appender.ts';
import type { Json } from '../../policies/openai/read-messages.ts';
import type { HeldTransaction } from '../../postgres/hold-transaction.ts';
import { type OwnedWork, ownWork, tryOwnWork } from '../../postgres/own-work.ts';
import { may, owns, type Principal, sees } from '../../postgres/principal.ts';
import { heldSpans } from '../../projections/held-spans/held-spans.ts';
import { readWaitingRollouts } from '../../projections/held-spans/read-waiting.ts';
import { journal } from '../../projections/journal/journal.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import { hasFact } from '../../projections/journal/read-stream-topics.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import { owners } from '../../projections/owners/owners.ts';
import { type Owner, readOwners } from '../../projections/owners/read-owners.ts';
import { PromptUnreadable } from '../../projections/prompts/prompt-unreadable.ts';
import { prompts } from '../../projections/prompts/prompts.ts';
import { readShownPrompts } from '../../projections/prompts/read-prompts.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { openCache } from '../../runtime/cache.ts';
import { createExclusive } from '../../runtime/exclusive.ts';
import { limitOf } from '../../runtime/limit.ts';
import { CaptureRefused, isOver, NotRecorded } from './capture-errors.ts';
import { CapturedRollout, type ReadPrompt, type RolloutOutcome } from './captured-rollout.ts';
import { type CloseOptions, type CloseResult, createClosing } from './close-captured.ts';
import { openPictureReader } from './conversation.ts';
import {
  type CapturePlace,
  checkNames,
  isHeard,
  type NamedPlace,
  rewardDraft,
  runIdOf,
  type Scorer,
  sameReward,
} from './place.ts';
import { openingDrafts, type RecordedPlace, recoverRollout } from './recover-rollout.ts';
import { placeSpans } from './traces/place-spans.ts';

export interface CaptureWorld extends Omit<AppendingWorld, 'stamp'> {
  /** What the run that a first call opens says of itself. */
  readonly config: Json;
  /** How long to wait for the read models. */
  readonly catchUpMs?: number;
}

/** Who says what of a rollout as a whole, or of its last step. */
export interface CaptureReward {
  readonly value: number;
  readonly component: string;
  readonly scorer: Scorer;
  /** Of the last step rather than of the rollout, which is recorded with this observation when it is open. */
  readonly step: { readonly observation: string | null } | null;
}

export interface CaptureEnd {
  readonly outcome: RolloutOutcome;
  readonly success: boolean | null;
  readonly reason: string;
  readonly observation: string;
}

/** Finds the rollouts that calls belong to, and records what programs say of them. */
export interface Capture {
  /**
   * Records what spans of a rollout that wait say of it, in the order of their times, unless another process places those of its run. @throws
   * CaptureRefused; NotRecorded.
   */
  placeSpans(place: NamedPlace, principal: Principal): Promise<OwnedWork<unknown>['kind']>;
  /** The rollout of a place, opened by its first call. Work with it by `using`, which lets go of one that failed. */
  using<T>(place: NamedPlace, principal: Principal, work: (rollout: CapturedRollout) => Promise<T>): Promise<T>;
  /** Whether a span of a rollout is on record. */
  hasSpan(rollout: CapturedRollout, spanId: string): Promise<boolean>;
  /** Lets go of a rollout that could not be appended to: the next call reads it from the record. */
  letGo(rollout: CapturedRollout): void;
  /** Returns the position behind the reward, empty where the record held it. @throws CaptureRefused. */
  reward(place: NamedPlace, principal: Principal, given: CaptureReward): Promise<string>;
  /**
   * Ends a rollout. Returns the position behind its end, empty where it had ended so, and how many calls next to its path may belong
   * to it. @throws CaptureRefused.
   */
  end(
    place: NamedPlace,
    principal: Principal,
    given: CaptureEnd,
  ): Promise<{ readonly position: string; readonly unclearCalls: number; readonly lostParts: number }>;
  /** Closes a task, or a whole run. Returns the position, empty where it was closed so. @throws CaptureRefused. */
  close(named: CloseResult, principal: Principal, options: CloseOptions): Promise<string>;
}

const CATCH_UP_MS = 10_000;
const OPEN = 2_000; // rollouts in memory; others are read from the record again
const PLACED = 3; // rollouts of which spans are placed at a time: each keeps a connection of the pool

/** Opens the recording of calls that programs make by a proxy, or of which they send traces. */
export function openCapture(world: CaptureWorld): Capture {
  const { database, log, blobs, config, catchUpMs = CATCH_UP_MS } = world;
  const { db } = database;
  const rollouts = openCache<CapturedRollout>({ max: OPEN });
  const names = openCache<string>({ max: OPEN }); // keys of those rollouts, by their ids
  const appenders = openCache<Appender>({ max: 100 });
  const cache = openCache<Pick<Owner, 'principal' | 'project'>>({ max: 50_000 }); // runs by this process, before they are folded
  const senders = new WeakMap<CapturedRollout, Principal>(); // who rollouts append for
  const places = openCache<Partial<RecordedPlace>>({ max: 50_000 }); // what was opened here of runs and trees, by their ids
  const readPictures = openPictureReader();
  const placing = limitOf(PLACED);
  const exclusive = createExclusive();
  const closed = openCache<'closed'>({ max: 50_000 }); // runs and trees that take no further rollout
  const close = createClosing({ db, exclusive, closed, folded, projectOf, using, appenderOf });

  async function folded(topics: readonly Topic[], projections = [journal, owners, heldSpans]): Promise<void> {
    try {
      await waitUntilProjected(db, await log.ends(topics), { timeoutMs: catchUpMs, projections });
    } catch (cause) {
      throw new NotRecorded(`the read models are behind the log: ${cause instanceof Error ? cause.message : String(cause)}`, {
        cause,
      });
    }
  }

  const readPrompt: ReadPrompt = async ({ treeId }, id) => {
    await folded(['trees'], [prompts]);
    const bytes = ({ blob }: BlobRef) => blobs.get(blob);
    const text = async (reference: BlobRef) => Buffer.from(await bytes(reference)).toString('utf8');
    try {
      return (await readShownPrompts(db, [{ treeId, id }], { bytes, text })).get(keyInTree(treeId, id))?.messages ?? null;
    } catch (error) {
      if (error instanceof PromptUnreadable || isLostBlob(error)) return null;
      throw error;
    }
  };

  /** Returns the project that a run's events are stamped with. @throws CaptureRefused where it is another's. */
  async function projectOf(run: string, principal: Principal): Promise<string> {
    const runId = runIdOf(run, principal.project);
    const owner = cache.get(runId) ?? (await readOwners(db, 'runs', [runId])).get(runId);
    if (!owner) {
      if (principal.keyId === null || run !== runId || !isDerived(run)) return principal.project;
      // it is what another project's name of a run comes to, or what a collector will derive
      throw new CaptureRefused(
        'unknown',
        `there is no run ${run}, and an id of version 8 follows from what it names`,
        'name a run of your own by a text, or by a random UUID',
      );
    }
    cache.set(runId, owner);
    if (principal.keyId === null) return owner.project;
    if (owner.project !== principal.project) {
      if (sees(principal, owner.project))
        throw new CaptureRefused(
          'forbidden',
          `the run ${run} belongs to project ${owner.project}, and this request writes ${principal.project}`,
          `send the header espalier-project: ${owner.project}`,
        );
      throw new CaptureRefused('forbidden', `the id ${run} is taken`, 'choose another: a random UUID is never taken');
    }
    if (owns(principal, owner.principal) || may(principal, 'admin')) return owner.project;
    throw new CaptureRefused(
      'forbidden',
      `the run ${run} belongs to another key`,
      'use the key that opened it, one that replaces it, or one of the scope admin',
    );
  }

  /** Several servers record into one tree: each appender is a producer of its own, which numbers its events alone. */
  function appenderOf(principal: Principal['principal'], project: string): Appender {
    const key = `${principal} ${project}`;
    const world = { database, log, blobs, stamp: { principal, project } };
    const found = appenders.get(key) ?? openAppender(world, `capture ${newId()}`, { numbers: 'begin' });
    appenders.set(key, found);
    return found;
  }

  /** Whether a rollout in memory appends for who may. One that is not open may be of who asked before another opened the run. */
  function isUsable(rollout: CapturedRollout, principal: Principal): boolean {
    const sender = senders.get(rollout);
    if (rollout.state.isOpen || sender?.principal === principal.principal) return true;
    const owner = cache.get(rollout.place.runId);
    return owner !== undefined && sender !== undefined && isHeard(sender, owner);
  }

  /** Whether a rollout in memory is of spans, and another server has placed those with which it ends. */
  async function hasEndedElsewhere({ place, state }: CapturedRollout): Promise<boolean> {
    if (!state.hasSpans || state.ended) return false;
    return hasFact(db, place.treeId, 'RolloutFinished', place.rolloutId);
  }

  async function find(named: NamedPlace, principal: Principal): Promise<CapturedRollout> {
    checkNames(named);
    const runId = runIdOf(named.run, principal.project);
    const key = keyOf(runId, named);
    return exclusive.run([key], async () => {
      const known = rollouts.get(key);
      if (!known || cache.get(runId) === undefined) await folded(['runs', 'trees']);
      const project = await projectOf(named.run, principal);
      if (known && isUsable(known, principal) && !(await hasEndedElsewhere(known))) return known;
      const { place, state, held } = await recoverRollout(db, named, runId, { bytes: (sha256) => blobs.get(sha256) });
      // of rollouts that are opened at once each is to see what the others opened
      state.open = (request, policy, append) =>
        exclusive.run([runId], async () => {
          await projectOf(named.run, principal); // another may have opened it meanwhile
          if (closed.get(runId) || closed.get(place.treeId)) throw isOver(closed.get(runId) ? 'run' : 'task');
          const ordinals = new Set([...held.ordinals, ...(places.get(place.treeId)?.ordinals ?? [])]);
          const now = { ...held, ...places.get(runId), ...places.get(place.treeId), ordinals };
          const { drafts, held: then } = openingDrafts(place, now, config, request, policy);
          await append(drafts);
          cache.set(runId, cache.get(runId) ?? { principal: principal.principal, project });
          places.set(runId, { environments: then.environments });
          places.set(place.treeId, { hasTree: true, ordinals: then.ordinals });
        });
      // one that is named by ids is that which its names opened
      const same = rollouts.get(names.get(place.rolloutId) ?? '');
      if (same && isUsable(same, principal) && (same.state.ended !== null || state.ended === null)) return same;
      const rollout = new CapturedRollout(place, state, appenderOf(principal.principal, project), {
        readPictures,
        readPrompt,
      });
      senders.set(rollout, principal);
      rollouts.set(key, rollout);
      names.set(place.rolloutId, key);
      return rollout;
    });
  }

  async function using<T>(named: NamedPlace, principal: Principal, work: (rollout: CapturedRollout) => Promise<T>): Promise<T> {
    const rollout = await find(named, principal);
    try {
      return await work(rollout);
    } catch (error) {
      // what it remembers may not be what is on record
      if (!(error instanceof CaptureRefused)) letGo(rollout);
      throw error;
    }
  }

  function letGo({ place }: CapturedRollout): void {
    rollouts.delete(keyOf(place.runId, place));
  }

  /** Finds a rollout that is on record, once what waits of it is placed. */
  function recorded<T>(named: NamedPlace, principal: Principal, work: (rollout: CapturedRollout) => Promise<T>): Promise<T> {
    return using(named, principal, async (found) => {
      if (found.state.hasSpans) await placing(() => ownWork(db, placingOf(found), (lock) => place(found, principal, lock)));
      const rollout = await find(named, principal); // another server may have placed them
      if (rollout.state.isOpen) return work(rollout);
      letGo(rollout);
      throw new CaptureRefused(
        'unknown',
        `there is no rollout ${named.rollout} of task ${named.task}`,
        'its first call opens it',
      );
    });
  }

  /** Places the spans of a rollout, while this server owns those of its run. */
  async function place(found: CapturedRollout, principal: Principal, { confirm }: HeldTransaction): Promise<void> {
    const { runId } = found.place;
    await folded(['runs', 'trees']);
    const holder = cache.get(runId) ?? (await readOwners(db, 'runs', [runId])).get(runId) ?? principal;
    const world = { db, blobs, confirm };
    if (found.state.isOpen && (await placeSpans(found, holder, world)) === 'placed') return;
    letGo(found); // another server may have opened its run or its task, or placed some, since this one read the record
    const again = await find(found.place, principal);
    if ((await placeSpans(again, holder, world)) === 'placed') return;
    letGo(again);
    throw new NotRecorded('calls of the rollout were recorded while its spans were placed');
  }

  /** Places what waits of a task, or of a whole run. */
  async function placeAll({ run, task }: CloseResult, principal: Principal): Promise<void> {
    await folded(['trees']);
    const runId = runIdOf(run, principal.project);
    for (const waiting of await readWaitingRollouts(db, { limit: null }))
      if (runIdOf(waiting.run, waiting.project) === runId && (task === null || task === waiting.task))
        await using(waiting, principal, (rollout) =>
          placing(() => ownWork(db, placingOf(rollout), (lock) => place(rollout, principal, lock))),
        );
  }

  async function held({ treeId }: CapturePlace, rewardId: string) {
    await folded(['trees']);
    const rewards = await readEventsOfTypes(db, treeId, ['RewardAssigned']);
    return rewards.find(({ data }) => data.rewardId === rewardId)?.data ?? null;
  }

  return {
    placeSpans: (named, principal) =>
      using(named, principal, async (rollout) => {
        const work = (lock: HeldTransaction) => place(rollout, principal, lock);
        return (await placing(() => tryOwnWork(db, placingOf(rollout), work))).kind;
      }),
    using,
    hasSpan: ({ place }, spanId) => hasFact(db, place.treeId, 'SpanReceived', spanId),
    letGo,
    reward: (named, principal, given) =>
      recorded(named, principal, async (rollout) => {
        const { place, state } = rollout;
        const stepId = given.step && (await lastStep(rollout, given.step.observation));
        const rewardId = derivedId('reward', stepId ?? place.rolloutId, given.component);
        return exclusive.run([rewardId], async () => {
          const before = await held(place, rewardId);
          if (before === null) return rollout.append([rewardDraft(place, rewardId, stepId, given)] satisfies Draft[]);
          if (sameReward(before, given)) return '';
          throw new CaptureRefused(
            'conflict',
            `the reward ${given.component} of ${stepId === null ? 'the rollout' : `step ${state.depths.get(stepId)}`} is ${before.value}`,
            'name another component, or revise it by a RewardRevised event',
          );
        });
      }),
    end: (named, principal, given) =>
      recorded(named, principal, async (rollout) => {
        const position = await rollout.end(given.outcome, { ...given, now: Date.now() });
        const { unclearCalls = 0, lostParts = 0 } = rollout.state.ended ?? {};
        return { position: position ?? '', unclearCalls, lostParts };
      }),
    async close(named, principal, given) {
      await placeAll(named, principal);
      return close(named, principal, given);
    },
  };
}

/** Names the placing of the spans of a run, which one server owns at a time: it opens the run and numbers the rollouts of tasks. */
function placingOf({ place }: CapturedRollout): string {
  return `spans ${place.runId}`;
}

function keyOf(runId: string, { task, rollout }: NamedPlace): string {
  return JSON.stringify([runId, task, rollout]);
}

/** Returns the last step of the path, which is recorded now where its observation is said. @throws CaptureRefused. */
async function lastStep(rollout: CapturedRollout, observation: string | null): Promise<string> {
  const { state } = rollout;
  if (observation !== null) await rollout.recordOpen(observation, Date.now());
  else if (rollout.hasOpen())
    throw new CaptureRefused(
      'conflict',
      'the last reply is no step yet: what follows on it comes with the next call',
      'send `observation` with the reward, or give the reward to the rollout',
    );
  if (state.leafStepId !== state.rootStepId) return state.leafStepId;
  throw new CaptureRefused('conflict', 'the rollout has no step yet', 'its first reply becomes one');
}
