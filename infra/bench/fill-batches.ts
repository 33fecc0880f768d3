import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { derivedId } from '../../src/events/derived-id.ts';
import type { Packed } from '../../src/events/schemas/values.ts';
import { recordset } from '../../src/postgres/bulk.ts';
import type { Db } from '../../src/postgres/database.ts';
import { type RecordedTokens, tokenBytesOf } from '../../src/projections/step-tree/token-bytes.ts';

export interface BatchFill {
  readonly policyId: string;
  readonly batches: number;
  /** Samples of a batch, eight to a group; each of one step. */
  readonly samples: number;
  /** Tokens of a sample, of 151,643 possible, with log-probabilities and a mask: 9 bytes each. */
  readonly tokens: number;
}
const MEMBERS = 8;

/**
 * Fills the read models with planned batches, as the projections would have: through the log it would take minutes for what is
 * read here in seconds, and what is measured is reading. Every token array is another one.
 */
export async function fillBatches(db: Db, { policyId, batches, samples, tokens }: BatchFill): Promise<void> {
  const lineageId = derivedId('lineage', policyId);
  await sql`
    insert into runs (run_id, name, kind, seed, code_version, config, environments, started_at)
    values (${derivedId('run', policyId)}::uuid, ${policyId}, 'collect', 1, '1', '{"temperature": 1}', '[]', now())`.execute(db);
  for (let ordinal = 0; ordinal < batches; ordinal++) {
    const rows = Array.from({ length: samples }, (_, place) => sampleRow(policyId, ordinal, place, tokens));
    await insertSamples(db, rows);
    await sql`
      insert into batches (batch_id, lineage_id, policy_id, ordinal, policy_version, estimator, rules, seed, position, groups, samples, tokens, shards,
        previous_hash, manifest_hash, planned_at)
      values (${derivedId('batch', lineageId, ordinal)}::uuid, ${lineageId}::uuid, ${policyId}, ${ordinal}, 0,
        '{"name": "grpo", "revision": "1", "mode": {}}', '{}', 1, '', ${Math.ceil(samples / MEMBERS)}, ${samples}, ${samples * tokens},
        ${JSON.stringify([rows.map((_, place) => place)])}::jsonb, null, ${'a'.repeat(64)}, now())`.execute(db);
  }
  await sql`analyze`.execute(db);
}

function sampleRow(policyId: string, ordinal: number, place: number, tokens: number) {
  const group = Math.floor(place / MEMBERS);
  const id = (kind: string, ...parts: readonly (string | number)[]) => derivedId(kind, policyId, ordinal, ...parts);
  return {
    tree_id: id('tree', group),
    first: place % MEMBERS === 0,
    run_id: derivedId('run', policyId),
    root: id('root', group),
    rollout_id: id('rollout', place),
    step_id: id('step', place),
    reward_id: id('reward', place),
    batch_id: derivedId('batch', derivedId('lineage', policyId), ordinal),
    group_ordinal: group,
    place,
    token_bytes: bytesOf({
      ids: tokenIds(tokens),
      logProbs: packed('float32', tokens, 4, (bytes) => {
        for (let i = 0; i < tokens; i++) bytes.writeFloatLE(-bytes.readUInt32LE(4 * i) / 2 ** 31, 4 * i);
      }),
      mask: packed('uint8', tokens, 1, (bytes) => void bytes.fill(1)),
    }),
    spans: [{ from: 0, to: tokens, policyId, version: 0 }],
  };
}
type SampleRow = ReturnType<typeof sampleRow>;

function bytesOf(tokens: RecordedTokens): string {
  return `\\x${tokenBytesOf(tokens)?.toString('hex') ?? ''}`;
}

function tokenIds(tokens: number): Packed {
  return packed('int32', tokens, 4, (bytes) => {
    for (let i = 0; i < tokens; i++) bytes.writeInt32LE(bytes.readUInt32LE(4 * i) % 151_643, 4 * i);
  });
}

function packed(dtype: Packed['dtype'], length: number, width: number, write: (bytes: Buffer) => void) {
  const bytes = randomBytes(length * width);
  write(bytes);
  return { dtype, length, bytes: bytes.toString('base64') };
}

const COLUMNS: Record<keyof SampleRow, string> = {
  tree_id: 'uuid',
  first: 'boolean',
  run_id: 'uuid',
  root: 'uuid',
  rollout_id: 'uuid',
  step_id: 'uuid',
  reward_id: 'uuid',
  batch_id: 'uuid',
  group_ordinal: 'integer',
  place: 'integer',
  token_bytes: 'bytea',
  spans: 'jsonb',
};
const SLICE = 1_000;

async function insertSamples(db: Db, rows: readonly SampleRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += SLICE) {
    await sql`
      with r as materialized (select * from ${recordset(rows.slice(from, from + SLICE), COLUMNS)}), t as (
        insert into trees (tree_id, run_id, task_id, environment, server_fingerprint, observation_hash, alias, goal, root_step_id, instruction,
          planned_rollouts, seed, opened_at, closed_at)
        select tree_id, run_id, tree_id, 'bench', '1', '', '1', 'a goal', root, 'Do it.', ${MEMBERS}, 1, now(), now() from r where first
      ), s as (
        insert into step_tree_v3.steps (step_id, tree_id, parent_step_id, rollout_id, depth, log_offset, response, thought, action, observation, well_formatted,
          executable, termination, policy_spans, token_bytes, policy_ms, environment_ms, occurred_at)
        select root, tree_id, null, null, 0, 0, '', '', '', 'A hall.', true, true, 'none', '[]', null, 0, 0, now() from r where first
        union all
        select step_id, tree_id, root, rollout_id, 1, 0, 'a reply', '', 'look', 'A hall.', true, true, 'terminated', spans, token_bytes, 1, 1, now() from r
      ), o as (
        insert into rollouts (rollout_id, tree_id, run_id, task_id, environment, from_step_id, ordinal, seed, policy_id, policy_version, started_at,
          finished_at, outcome, success, leaf_step_id, steps, reason)
        select rollout_id, tree_id, run_id, tree_id, 'bench', root, place, 1, 'bench', 0, now(), now(), 'terminated', true, step_id, 1, '' from r
      ), w as (
        insert into rewards (reward_id, tree_id, step_id, rollout_id, component, value, assigned_value, scorer, scorer_revision, revisions, assigned_at)
        select reward_id, tree_id, step_id, rollout_id, 'environment', 1, 1, 'bench', '1', 0, now() from r
      )
      insert into batch_samples (rollout_id, batch_id, policy_id, tree_id, group_ordinal, place)
      select rollout_id, batch_id, 'bench', tree_id, group_ordinal, place from r`.execute(db);
  }
}
