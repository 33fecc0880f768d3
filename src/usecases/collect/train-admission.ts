import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { admissionBudget } from '../../domain/training/batching/admission-budget.ts';
import type { LinearWeights } from '../../policies/linear/weights.ts';
import { linearPolicy } from '../../policies/linear-policy.ts';
import type { Policy } from '../../policies/policy.ts';
import type { Db } from '../../postgres/database.ts';
import { trainingPool } from '../../projections/training-pool/training-pool.ts';
import type { Admission } from './admission.ts';

export interface AdmissionRules {
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

const POLL_MS = 20; // a look is one statement over the groups of the policy

/**
 * Holds groups back so that none grows older than it may: with B groups per batch and staleness s, a group may begin while owed +
 * B·(newest version − version that the oldest owed group began with) < B·(1 + s). Every group that is owed then fits into the
 * next s + 1 batches, so nothing needs to be dropped; a rejected group gives its place free at once. Groups that this process
 * admitted count from that moment, those of others when they are in the read models. @param live the policy that follows; @param
 * atLeast gives weights of a version that is known to be there.
 */
export function openAdmission(
  db: Db,
  rules: AdmissionRules,
  live: Policy,
  atLeast: (version: number, signal: AbortSignal) => Promise<LinearWeights>,
  temperature?: number,
): Admission {
  const { groupsPerBatch, maxStaleness, mode, policyId, untilVersion } = rules;
  // tree → the version it began with, until the read models say that nothing of it is owed
  const admitted = new Map<string, number>();
  const seen = new Map<string, number>(); // place → how far the pool had folded it when it was looked at last

  async function admit(treeId: string, signal: AbortSignal): Promise<Policy | null> {
    for (;;) {
      signal.throwIfAborted();
      const looked = performance.now();
      const { newest, groups, cursors } = await readOwed(db, policyId, [...admitted.keys()]);
      if ([...seen].some(([place, next]) => (cursors[place] ?? 0) < next)) {
        // the database went back: groups that are owed are not in it until they are folded again
        await delay(POLL_MS, undefined, { signal });
        continue;
      }
      for (const [place, next] of Object.entries(cursors)) seen.set(place, next);
      for (const { treeId: known, owed } of groups) if (!owed) admitted.delete(known);
      const owed = new Map(groups.filter((group) => group.owed).map((group) => [group.treeId, group.version ?? newest]));
      for (const [own, version] of admitted) owed.set(own, version);
      const begun = owed.has(treeId);
      if (!begun && untilVersion !== null && newest >= untilVersion) return null;
      const oldest = Math.min(newest, ...owed.values());
      const outstanding = owed.size + groupsPerBatch * (newest - oldest);
      const rule = { miniBatchSize: groupsPerBatch, requireBatches: 1, trigger: 1, staleness: maxStaleness };
      if (begun || admissionBudget(rule, outstanding).left > 0) {
        admitted.set(treeId, owed.get(treeId) ?? newest);
        if (mode === 'bounded') return live;
        return linearPolicy(await atLeast(newest, signal), { policyId, temperature });
      }
      // A look takes longer the more groups there were; half of the time at most goes to looking.
      await delay(Math.max(POLL_MS, performance.now() - looked), undefined, { signal });
    }
  }
  return { admit };
}

interface OwedGroup {
  readonly treeId: string;
  readonly owed: boolean;
  /** The version that its first rollout began with; null before one began. */
  readonly version: number | null;
}

/**
 * Reads the newest version, how far the pool has folded the log and, of the same moment, the groups of a policy that are owed:
 * open, or with a sample that is neither rejected nor in a batch that was abandoned or that a version came of. @param also trees
 * to be told of whether they are owed or not, if they are known.
 */
async function readOwed(
  db: Db,
  policyId: string,
  also: readonly string[],
): Promise<{
  readonly newest: number;
  readonly groups: readonly OwedGroup[];
  readonly cursors: Readonly<Record<string, number>>;
}> {
  const { rows } = await sql<OwedRow>`
    with own as (
      select g.tree_id, g.closed_at is null or exists (
          select from samples s
          where s.tree_id = g.tree_id
            and not exists (select from sample_rejections j where j.rollout_id = s.rollout_id)
            and not exists (
              select from batch_samples b join policy_versions v on v.batch_id = b.batch_id where b.rollout_id = s.rollout_id)
            and not exists (
              select from batch_samples b join batch_abandonments x on x.batch_id = b.batch_id where b.rollout_id = s.rollout_id)
        ) as owed
      from groups g join training_runs r on r.run_id = g.run_id
      where r.policy_id = ${policyId} and r.channel = 'train'
    )
    select coalesce((select max(version) from policy_versions where policy_id = ${policyId}), 0)::int as newest,
           (select coalesce(jsonb_object_agg(c.topic || '.' || c.partition, c.next_offset), '{}') from cursors c
            join projections p on p.name = c.projection and p.version = c.version where c.projection = ${trainingPool.name}) as cursors,
           o.tree_id as "treeId", coalesce(o.owed, false) as owed,
           (select min(policy_version) from samples s where s.tree_id = o.tree_id) as version
    from (select 1) one left join own o on o.owed or o.tree_id = any(${[...also]}::uuid[])`.execute(db);
  const groups = rows.flatMap(({ treeId, owed, version }) => (treeId === null ? [] : [{ treeId, owed, version }]));
  return { newest: rows[0]?.newest ?? 0, groups, cursors: rows[0]?.cursors ?? {} };
}

interface OwedRow {
  readonly newest: number;
  readonly cursors: Readonly<Record<string, number>>;
  readonly treeId: string | null;
  readonly owed: boolean;
  readonly version: number | null;
}
