import { sql } from 'kysely';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { promptMessages } from '../../domain/history/prompt.ts';
import { unpack } from '../../events/packed.ts';
import type { Packed } from '../../events/schemas/values.ts';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';
import type { StepRow } from './step-row.ts';

/** Rollouts whose steps are not all in the read models, or not as a rollout is. */
export class RowsUnreadable extends Error {
  override readonly name = 'RowsUnreadable';
}

/**
 * Reads the steps of rollouts as a trainer sees them, their rewards as they are in force now. The read models must hold the rollouts to their ends.
 * Steps before the node where a rollout began are its history and no rows. @throws RowsUnreadable that names a rollout which is not whole.
 */
export async function readStepRows(
  db: Db,
  blobs: BlobStore,
  rolloutIds: readonly string[],
  chats: 'with-chats' | 'without-chats' = 'without-chats',
): Promise<readonly StepRow[]> {
  const rollouts = await readRollouts(db, blobs, rolloutIds);
  const missing = rolloutIds.find((rolloutId) => !rollouts.some((rollout) => rollout.rolloutId === rolloutId));
  if (missing !== undefined) throw new RowsUnreadable(`rollout ${missing} is not in the read models, or has no end`);
  const trees = [...new Set(rollouts.map(({ treeId }) => treeId))];
  const steps = new Map((await readSteps(db, blobs, trees)).map((step) => [step.stepId, step]));
  const rewards = await readRewards(db, trees);
  return rollouts.flatMap((rollout) => rowsOf(rollout, steps, rewards, chats));
}

interface Rollout {
  readonly rolloutId: string;
  readonly treeId: string;
  readonly leafStepId: string;
  readonly fromStepId: string;
  readonly outcome: string;
  readonly steps: number;
  readonly goal: string;
  readonly instruction: string;
  readonly temperature: number | null;
  /** Whether its steps were asked for with the plain chat of what happened: no template, no search, no system text moved. */
  readonly plainChat: boolean;
}

async function readRollouts(db: Db, blobs: BlobStore, rolloutIds: readonly string[]): Promise<readonly Rollout[]> {
  const { rows } = await sql<Rollout & { readonly treeBlobs: Blobs | null }>`
    select o.rollout_id as "rolloutId", o.tree_id as "treeId", o.leaf_step_id as "leafStepId", o.from_step_id as "fromStepId", o.outcome, o.steps,
           t.goal, t.instruction, t.blobs as "treeBlobs", (r.config->'prompt' is null and coalesce(r.config->>'search', '') = '' and coalesce(r.config->>'policy', '') not like '%"merged"%') as "plainChat",
           case when jsonb_typeof(r.config->'temperature') = 'number' then (r.config->>'temperature')::float8 end as temperature
    from rollouts o join trees t using (tree_id) left join runs r on r.run_id = o.run_id
    where o.rollout_id = any(${[...rolloutIds]}::uuid[]) and o.finished_at is not null`.execute(db);
  return Promise.all(
    rows.map(async ({ treeBlobs, ...row }) => ({
      ...row,
      instruction: await textOf(blobs, treeBlobs, 'instruction', row.instruction),
    })),
  );
}

interface Step {
  readonly stepId: string;
  readonly parentId: string | null;
  readonly response: string;
  /** Its prompt lost turns, so that it would fit. */
  readonly trimmed: boolean;
  readonly action: string;
  readonly observation: string;
  readonly termination: string;
  readonly candidates: readonly string[] | null;
  readonly tokens: StepRow['tokens'];
  readonly stateHash: string | null;
  readonly versions: readonly number[];
}

async function readSteps(db: Db, blobs: BlobStore, trees: readonly string[]): Promise<readonly Step[]> {
  const records = await db
    .selectFrom('steps')
    .select([
      'step_id',
      'parent_step_id',
      'response',
      'call',
      'action',
      'observation',
      'termination',
      'admissible',
      'tokens',
      'state_hash',
      'policy_spans',
      'blobs',
    ])
    .where('tree_id', 'in', [...trees])
    .execute();
  return Promise.all(
    records.map(async (record): Promise<Step> => {
      const text = (field: 'response' | 'action' | 'observation') => textOf(blobs, record.blobs, field, record[field]);
      return {
        ...{ stepId: record.step_id, parentId: record.parent_step_id, termination: record.termination },
        ...{ response: await text('response'), trimmed: (record.call?.trimmed ?? null) !== null },
        ...{ action: await text('action'), observation: await text('observation'), candidates: record.admissible },
        tokens: record.tokens && (await tokensOf(blobs, record.tokens as unknown as PackedTokens)), // the step-tree writes them as the event's schema has them
        stateHash: record.state_hash,
        versions: record.policy_spans.map(({ version }) => version),
      };
    }),
  );
}

async function textOf(blobs: BlobStore, kept: Blobs | null, field: string, inline: string): Promise<string> {
  const reference = kept?.[field];
  return reference ? Buffer.from(await blobs.get(reference.blob)).toString('utf8') : inline;
}

interface PackedTokens {
  readonly ids: Packed;
  readonly logProbs: Packed | null;
}

async function tokensOf(blobs: BlobStore, { ids, logProbs }: PackedTokens): Promise<NonNullable<StepRow['tokens']>> {
  const read = async (array: Packed) =>
    unpack(array, typeof array.bytes === 'string' ? undefined : await blobs.get(array.bytes.blob));
  return { ids: await read(ids), logProbs: logProbs && (await read(logProbs)) };
}

/** Step → its rewards together; rollout → those of the whole rollout. Summed in the order of their ids: floating-point sums have one order. */
interface Rewards {
  readonly ofSteps: ReadonlyMap<string, number>;
  readonly ofRollouts: ReadonlyMap<string, number>;
}

async function readRewards(db: Db, trees: readonly string[]): Promise<Rewards> {
  const records = await db
    .selectFrom('rewards')
    .select(['step_id', 'rollout_id', 'value'])
    .where('tree_id', 'in', [...trees])
    .orderBy('reward_id')
    .execute();
  const [ofSteps, ofRollouts] = [new Map<string, number>(), new Map<string, number>()];
  for (const { step_id, rollout_id, value } of records) {
    if (step_id !== null) ofSteps.set(step_id, (ofSteps.get(step_id) ?? 0) + value);
    else if (rollout_id !== null) ofRollouts.set(rollout_id, (ofRollouts.get(rollout_id) ?? 0) + value);
  }
  return { ofSteps, ofRollouts };
}

function rowsOf(
  rollout: Rollout,
  steps: ReadonlyMap<string, Step>,
  rewards: Rewards,
  chats: 'with-chats' | 'without-chats',
): readonly StepRow[] {
  const path: Step[] = [];
  for (let id: string | null = rollout.leafStepId; id !== null; ) {
    const step = steps.get(id);
    if (!step) throw new RowsUnreadable(`rollout ${rollout.rolloutId}: step ${id} is not in the read models`);
    path.push(step);
    id = step.parentId;
  }
  path.reverse();
  const from = path.findIndex(({ stepId }) => stepId === rollout.fromStepId);
  const own = path.slice(from + 1);
  const root = path[0];
  if (from < 0 || root === undefined || own.length !== rollout.steps)
    throw new RowsUnreadable(
      `rollout ${rollout.rolloutId} has ${own.length} steps in the read models, its end says ${rollout.steps}`,
    );
  const history = path.slice(1).map(({ action, observation }) => ({ action, observation }));
  const chatOf = (step: Step, i: number): StepRow['chat'] => {
    if (chats === 'without-chats' || !rollout.plainChat || step.trimmed) return undefined;
    const { instruction } = rollout;
    const messages = promptMessages({ instruction, firstObservation: root.observation, history: path.slice(1, from + i + 1) });
    return { messages, response: step.response };
  };
  return own.map((step, i): StepRow => {
    const chat = chatOf(step, i);
    const before = path[from + i] ?? root;
    const isLast = i === own.length - 1;
    const ofRollout = isLast ? (rewards.ofRollouts.get(rollout.rolloutId) ?? 0) : 0;
    return {
      ...{ groupId: rollout.treeId, rolloutId: rollout.rolloutId, step: i },
      situation: { goal: rollout.goal, firstObservation: root.observation, history: history.slice(0, from + i) },
      ...{ candidates: before.candidates, tokens: step.tokens, temperature: rollout.temperature ?? 1 },
      reward: (rewards.ofSteps.get(step.stepId) ?? 0) + ofRollout,
      ...{ stateHash: before.stateHash, action: step.action, observation: step.observation },
      end: !isLast ? 'none' : rollout.outcome === 'terminated' ? 'terminated' : 'truncated',
      version: Math.min(...step.versions),
      ...(chat ? { chat } : {}),
    };
  });
}
