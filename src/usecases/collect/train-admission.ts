import { setTimeout as delay } from 'node:timers/promises';
import { smallest } from '../../domain/extremes.ts';
import { admissionBudget } from '../../domain/training/batching/admission-budget.ts';
import { planRules } from '../../events/schemas/training.ts';
import type { Offsets } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { isLive } from '../../policies/live-policy.ts';
import type { Policy } from '../../policies/policy.ts';
import type { Db } from '../../postgres/database.ts';
import type { Notices } from '../../postgres/notices.ts';
import { topicsOf } from '../../projections/concerns.ts';
import { countMoves } from '../../projections/moved-cursors.ts';
import { readLineages } from '../../projections/training-pool/read-lineages.ts';
import { readOwedGroups } from '../../projections/training-pool/read-owed-groups.ts';
import { trainingPool } from '../../projections/training-pool/training-pool.ts';
import { readRefusedGroups, TrainingRefused } from '../../training/read-plan-request.ts';
import type { CollectPlan } from './plan.ts';

interface AdmissionRules {
  readonly policyId: string;
  readonly groupsPerBatch: number;
  /**
   * `strict`: a group walks with the version it began with, and none begins while another batch is owed. `bounded`: its steps
   * follow the newest version.
   */
  readonly mode: 'strict' | 'bounded';
  /** Versions that the oldest span of a group may lie behind the one that is trained; 0 where strict. */
  readonly maxStaleness: number;
  /** No group is wanted once this version is there; null: always another one. */
  readonly untilVersion: number | null;
}

interface AdmissionWorld {
  readonly db: Db;
  /** The policy that follows. */
  readonly live: Policy;
  /** Returns the policy by a version that is known to be there, or a newer one. */
  readonly atLeast: (version: number, signal: AbortSignal) => Promise<Policy>;
  /**
   * Where the log ended when the record was read: a pool that lies before it, of a database that crashed since, admits nobody.
   */
  readonly from?: Offsets;
  /**
   * The closed groups of which no member will be trained, whether the planner said so already or not; without it they are owed
   * until it does.
   */
  readonly refused?: (db: Db, policyId: string) => Promise<readonly string[]>;
  /**
   * Word of moved cursors in the topic of training, where groups are refused and versions appear, and in that of trees while the
   * gate is `expecting`; looks alone without it.
   */
  readonly moves?: Pick<Notices, 'count' | 'beyond'>;
}

/** The gate of one run. */
export interface Gate extends Pick<Admission, 'admit' | 'closing' | 'unopened'> {
  /** Whether a group of this process is closed, and the read models do not hold it yet. */
  expecting(): boolean;
}

const POLL_MS = 20; // a look is one statement over the groups of the policy
const FRESH_MS = 50; // groups that follow each other are admitted by one look, unless there is word that something moved
const LOOK_MS = 250; // a notice wakes it; this is for those that are lost, and for a group that closes without a sample

/**
 * Holds groups back so that none grows older than it may: with B groups per batch and staleness s, a group may begin while owed +
 * B·(newest version − version that the oldest owed group began with) < B·(1 + s). Every group that is owed then fits into the
 * next s + 1 batches, so nothing needs to be dropped; a group that will be rejected frees its place as soon as its end is folded.
 * Groups that this process admitted count from that moment, those of others when they are in the read models.
 */
export function openAdmission(
  { db, live, atLeast, from = new Map(), refused, moves }: AdmissionWorld,
  rules: AdmissionRules,
): Gate {
  const { groupsPerBatch, maxStaleness, mode, policyId, untilVersion } = rules;
  // tree → the version it began with, until the read models say that nothing of it is owed
  const admitted = new Map<string, number>();
  // place → how far the pool has folded it at least
  const seen = new Map([...from].flatMap(([topic, ends]) => [...ends].map(([partition, end]) => [`${topic}.${partition}`, end])));

  // groups of this process that are closed, or about to be, as long as the read models do not hold that
  const closing = new Set<string>();
  // places that the last look found free besides the one that was taken then
  let spare = { places: 0, newest: 0, owed: new Map<string, number>(), count: 0, at: 0 };

  function begin(treeId: string, version: number, newest: number, signal: AbortSignal): Policy | Promise<Policy> {
    admitted.set(treeId, version);
    return mode === 'bounded' ? live : atLeast(newest, signal);
  }

  async function admit(treeId: string, signal: AbortSignal): Promise<Policy | null> {
    for (;;) {
      signal.throwIfAborted();
      const looked = performance.now();
      const count = moves?.count ?? 0;
      const isFresh =
        spare.count === count && looked - spare.at < FRESH_MS && (untilVersion === null || spare.newest < untilVersion);
      if (spare.places > 0 && moves && isFresh && !spare.owed.has(treeId)) {
        spare.places -= 1;
        return begin(treeId, spare.newest, spare.newest, signal);
      }
      const { newest, groups, cursors } = await readOwedGroups(db, policyId, [...admitted.keys()]);
      if ([...seen].some(([place, next]) => (cursors[place] ?? 0) < next)) {
        // the database regressed: groups that are owed are not in it until they are folded again
        await delay(POLL_MS, undefined, { signal });
        continue;
      }
      for (const [place, next] of Object.entries(cursors)) seen.set(place, next);
      for (const { treeId: known, owed, closed } of groups) {
        if (!owed) admitted.delete(known);
        if (closed) closing.delete(known);
      }
      const owed = new Map(groups.filter((group) => group.owed).map((group) => [group.treeId, group.version ?? newest]));
      for (const [own, version] of admitted) owed.set(own, version);
      const begun = owed.has(treeId);
      if (!begun && untilVersion !== null && newest >= untilVersion) return null;
      if (!begun && refused && placesLeft(owed, newest) <= 0) for (const out of await refused(db, policyId)) owed.delete(out);
      const left = placesLeft(owed, newest);
      spare = { places: begun ? left : left - 1, newest, owed, count, at: looked };
      if (begun || left > 0) return begin(treeId, owed.get(treeId) ?? newest, newest, signal);
      // A look takes longer the more groups there were; half of the time at most goes to looking.
      const lookMs = performance.now() - looked;
      await delay(moves ? lookMs : Math.max(POLL_MS, lookMs), undefined, { signal });
      await moves?.beyond(count, LOOK_MS, signal);
    }
  }

  function placesLeft(owed: ReadonlyMap<string, number>, newest: number): number {
    const oldest = smallest(owed.values(), newest);
    const outstanding = owed.size + groupsPerBatch * (newest - oldest);
    const rule = { miniBatchSize: groupsPerBatch, requireBatches: 1, trigger: 1, staleness: maxStaleness };
    return admissionBudget(rule, outstanding).left;
  }

  return {
    admit,
    closing: (treeId) => void (refused && closing.add(treeId)),
    unopened: (treeId) => void admitted.delete(treeId),
    expecting: () => closing.size > 0,
  };
}

/**
 * Opens the gate of a collection that feeds a trainer, which who opens it closes; undefined for channels that feed none. @throws
 * TrainingRefused when the policy is not declared, or does not follow its versions.
 */
export async function admissionFor(
  { database, directUrl, log }: Platform,
  { policyId, channel, mode, maxStaleness, untilVersion }: NonNullable<CollectPlan['training']>,
  policy: Policy,
): Promise<Admission | undefined> {
  if (channel !== 'train') return undefined;
  if (policy.ref.policyId !== policyId)
    throw new TrainingRefused(`the plan trains ${policyId} and acts by ${policy.ref.policyId}; act by live:${policyId}`);
  const { db } = database;
  const [lineage] = await readLineages(db, [policyId]);
  if (!lineage)
    throw new TrainingRefused(`the policy ${policyId} is not declared for training; begin it with \`espalier train\``);
  const { groupsPerBatch } = planRules.parse(lineage.rules);
  if (mode === 'strict' && maxStaleness !== 0) throw new TrainingRefused('strict means a staleness of 0; say bounded for more');
  const pin = isLive(policy) ? policy.pin : null;
  if (mode === 'strict' && pin === null)
    throw new TrainingRefused(
      `strict groups walk with one version of ${policyId}, and the plan names a policy that follows none; act by live:${policyId}`,
    );
  const atLeast = pin ?? (() => Promise.reject(new TypeError('bounded groups follow the newest version')));
  const from = await log.ends(topicsOf(trainingPool));
  let gate: Gate | undefined;
  const moves = await countMoves(directUrl, () => (gate?.expecting() ? ['training', 'trees'] : ['training']));
  const rules = { policyId, groupsPerBatch, mode, maxStaleness, untilVersion };
  gate = openAdmission({ db, live: policy, atLeast, from, refused: readRefusedGroups, moves }, rules);
  return { ...gate, close: () => moves.close() };
}

/** Decides when a group may begin, and by which policy. Nobody is refused: who may not begin yet waits. */
export interface Admission {
  /**
   * Waits until the group of a tree may begin, and returns the policy that it is to be collected with. The calls of a run come
   * one after the other, in the order of its plan. A group that was begun before (the run is resumed) is admitted at once. Null
   * when no further group is wanted: the run is then complete.
   * @throws the signal's reason.
   */
  admit(treeId: string, signal: AbortSignal): Promise<Policy | null>;
  /** Takes note of a group that is about to be closed: its place may be free before anything is recorded of its samples. */
  closing(treeId: string): void;
  /** Takes note of a group that was admitted and could not be begun: nothing of it will be recorded, and its place is free. */
  unopened(treeId: string): void;
  close(): Promise<void>;
}
