import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { textMessage } from '../../../domain/prompts/same-message.ts';
import { AMOUNT_LIMIT, sumAmounts } from '../../../domain/reward/amount.ts';
import { pack } from '../../../events/packed.ts';
import { AtomicFile } from './atomic-file.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import { ParquetRows } from './write-parquet.ts';

/** What the writer wrote, an independent reader reads back: DuckDB shares no code with it. */
let folder: string;
let duckdb: DuckDBInstance;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-parquet-'));
  duckdb = await DuckDBInstance.create(':memory:');
});
afterAll(async () => {
  duckdb.closeSync();
  await rm(folder, { recursive: true });
});

const NO_PICTURES = { any: false, prompts: true, structured: false, unshaped: new Set<string>(), of: async () => [] };
const out = () => join(folder, 'data.parquet');

async function write(trajectories: readonly ExportTrajectory[]): Promise<void> {
  const file = await AtomicFile.open(out(), 'replace');
  const rows = new ParquetRows(file, { kind: 'parquet', weights: 'policy' }, NO_PICTURES);
  for (const trajectory of trajectories) await rows.write(trajectory);
  await rows.finish();
  await file.seal();
  await file.publish();
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const connection = await duckdb.connect();
  try {
    return (await connection.runAndReadAll(sql.replace('FILE', `'${out()}'`))).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

const text = fc.string({ unit: 'binary', maxLength: 10 }).map((s) => s.replaceAll('\0', '0'));
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const number = fc.double({ noNaN: true, min: -AMOUNT_LIMIT, max: AMOUNT_LIMIT }).map((x) => x + 0); // what an event can hold
const rewards = fc.dictionary(fc.string({ minLength: 1, maxLength: 3 }), number, { maxKeys: 3 });
const step = fc.record({
  response: text,
  thought: text,
  action: text,
  observation: text,
  wellFormatted: fc.boolean(),
  executable: fc.boolean(),
  termination: fc.constantFrom('none' as const, 'terminated' as const),
  rolloutId: fc.option(fc.uuid()),
  rewards,
  stateHash: fc.option(fc.constant('ab')),
  promptTokens: fc.option(fc.nat()),
  finishReason: fc.option(fc.constant('stop')),
  policySpans: fc.array(fc.record({ from: fc.nat(), to: fc.nat(), policyId: fc.constantFrom('p', 'q'), version: fc.nat() }), {
    maxLength: 2,
  }),
  tokens: fc.option(
    fc.record({
      ids: fc.array(int32, { maxLength: 4 }),
      logProbs: fc.option(fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { maxLength: 4 })),
    }),
  ),
});
const trajectory = fc
  .record({
    alias: text,
    goal: text,
    instruction: text,
    observation: text,
    rewards,
    returnValue: number,
    seed: fc.maxSafeInteger(),
    split: fc.option(text),
    taskDepth: fc.option(fc.nat(9)),
    success: fc.option(fc.boolean()),
    steps: fc.array(step, { maxLength: 4 }),
    annotations: fc.array(
      fc.record({
        id: fc.uuid(),
        label: fc.option(fc.constantFrom('a', 'b c')),
        score: fc.option(number),
        note: text,
        stepId: fc.option(fc.uuid()),
      }),
      { maxLength: 3 },
    ),
  })
  .map(
    ({
      alias,
      goal,
      instruction,
      observation,
      returnValue,
      seed,
      split,
      taskDepth,
      success,
      steps,
      annotations,
      rewards: sums,
    }): ExportTrajectory => {
      const base = { treeId: 'tree', blobs: null };
      const root = {
        ...base,
        stepId: 'root',
        parentStepId: null,
        rolloutId: null,
        depth: 0,
        response: '',
        thought: '',
        reply: null,
        action: '',
        observation,
        wellFormatted: true,
        executable: true,
        termination: 'none' as const,
        policySpans: [],
        tokens: null,
        promptTokens: null,
        completionTokens: null,
        finishReason: null,
        stateHash: null,
      };
      return {
        head: {
          ...base,
          runId: 'run',
          taskId: 'task',
          environment: 'e',
          serverFingerprint: 'f',
          alias,
          goal,
          taskDepth,
          split,
          toolsKwargs: null,
          instruction,
          seed: 1,
        },
        rollout: {
          treeId: 'tree',
          rolloutId: 'r',
          fromStepId: 'root',
          leafStepId: 'leaf',
          ordinal: 3,
          seed,
          policyId: 'p',
          policyVersion: 7,
          outcome: 'truncated',
          success,
          startedAt: new Date(1_700_000_000_123),
          finishedAt: new Date(1_700_000_000_456),
        },
        returnValue: Object.keys(sums).length === 0 ? null : returnValue,
        rewards: sums,
        rolloutRewards: {},
        root,
        annotations: annotations.map((each) => ({
          kind: each.stepId === null ? 'rollout' : 'step',
          rolloutId: null,
          revisionId: null,
          principal: 'local',
          ...each,
          addedAt: new Date(1_700_000_000_789),
        })),
        config: null,
        steps: steps.map((s, i) => ({
          ...root,
          ...s,
          prompt: null,
          message: textMessage('assistant', s.response),
          stepId: `s${i}`,
          depth: i + 1,
          tokens: s.tokens && {
            ids: pack('int32', s.tokens.ids),
            logProbs: s.tokens.logProbs && pack('float32', s.tokens.logProbs),
            mask: null,
          },
        })),
      };
    },
  );

describe('Parquet files of trajectories', () => {
  test('every column and every nested field of any trajectory is read back unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(trajectory, { maxLength: 5 }), async (trajectories) => {
        await write(trajectories);
        const rows = await query('select * from FILE');
        expect(rows).toHaveLength(trajectories.length);
        // one row each
        for (const [i, row] of rows.entries()) expect(row).toEqual(expectedRow(trajectories[i] as ExportTrajectory));
      }),
      { numRuns: 8 },
    );
  });

  function expectedRow({ head, rollout, root, steps, ...rest }: ExportTrajectory): Record<string, unknown> {
    const pairs = (sums: Readonly<Record<string, number>>) =>
      Object.entries(sums).map(([component, value]) => ({ component, value }));
    const floats = (bytes: unknown) => [...new Float32Array(Uint8Array.from(Buffer.from(String(bytes), 'base64')).buffer)];
    const ints = (bytes: unknown) => [...new Int32Array(Uint8Array.from(Buffer.from(String(bytes), 'base64')).buffer)];
    return {
      trajectory_id: 'r',
      tree_id: 'tree',
      run_id: 'run',
      task_id: 'task',
      environment: 'e',
      server_fingerprint: 'f',
      task_alias: head.alias,
      goal: head.goal,
      task_depth: head.taskDepth,
      split: head.split,
      policy_id: 'p',
      policy_version: 7,
      ordinal: 3,
      seed: String(rollout.seed),
      outcome: 'truncated',
      success: rollout.success,
      return: rest.returnValue ?? 'NaN',
      rewards: pairs(rest.rewards),
      labels: [...new Set(rest.annotations.flatMap(({ label }) => label ?? []))].sort().join('\n'),
      annotations: rest.annotations.map(({ id, stepId, label, score, note }) => ({
        annotation_id: id,
        step_id: stepId,
        label,
        score,
        note,
        principal: 'local',
        added_at: '2023-11-14 22:13:20.789',
      })),
      step_count: steps.length,
      instruction: head.instruction,
      first_observation: root.observation,
      images: [],
      started_at: '2023-11-14 22:13:20.123',
      finished_at: '2023-11-14 22:13:20.456',
      steps: steps.map((s) => ({
        step_id: s.stepId,
        rollout_id: s.rolloutId,
        depth: s.depth,
        response: s.response,
        thought: s.thought,
        action: s.action,
        observation: s.observation,
        termination: s.termination,
        well_formatted: s.wellFormatted,
        executable: s.executable,
        weight: s.policySpans.some(({ policyId }) => policyId === 'p') ? 1 : 0,
        reward: Object.keys(rest.rewards).length === 0 ? 'NaN' : sumAmounts(Object.values(s.rewards)),
        rewards: pairs(s.rewards),
        state_hash: s.stateHash,
        policy_spans: s.policySpans.map(({ policyId, ...span }) => ({ ...span, policy_id: policyId })),
        prompt_tokens: s.promptTokens,
        completion_tokens: null,
        finish_reason: s.finishReason,
        token_ids: s.tokens && ints(s.tokens.ids.bytes),
        log_probs: s.tokens?.logProbs ? floats(s.tokens.logProbs.bytes) : null,
        token_mask: null,
        prompt: null,
      })),
    };
  }

  test('the columns have the types that readers expect', async () => {
    await write([]);
    const columns = await query('describe select * from FILE');
    const types = Object.fromEntries(columns.map(({ column_name, column_type }) => [column_name, column_type]));
    expect(types).toMatchObject({
      trajectory_id: 'VARCHAR',
      seed: 'BIGINT',
      success: 'BOOLEAN',
      return: 'DOUBLE',
      started_at: 'TIMESTAMP',
      rewards: 'STRUCT(component VARCHAR, "value" DOUBLE)[]',
    });
    expect(types.steps).toContain('token_ids INTEGER[], log_probs FLOAT[]');
    expect(await query('select count(*)::int as n from FILE')).toEqual([{ n: 0 }]);
  });

  test('row groups are bounded by rows and by text, so that neither writer nor reader holds the whole file', async () => {
    const [one] = fc.sample(
      trajectory.filter(({ steps }) => steps.length > 0),
      { numRuns: 1, seed: 3 },
    );
    if (!one) throw new Error('sampled one');
    await write(Array.from({ length: 2_100 }, () => one));
    const groups = (sql: string) => query(`select ${sql} from parquet_metadata(FILE) where path_in_schema = 'trajectory_id'`);
    expect(await groups('row_group_num_rows::int as n')).toEqual([{ n: 1_024 }, { n: 1_024 }, { n: 52 }]);
    const long = { ...one, root: { ...one.root, observation: 'x'.repeat(5_000_000) } };
    await write([long, long, long]);
    expect(await groups('row_group_num_rows::int as n')).toEqual([{ n: 2 }, { n: 1 }]);
    expect(await query('select length(first_observation)::int as n from FILE')).toEqual([{ n: 5e6 }, { n: 5e6 }, { n: 5e6 }]);
  });

  test('one query answers the mean reward by depth', async () => {
    const [one] = fc.sample(trajectory, { numRuns: 1, seed: 3 });
    const [at] = fc.sample(step, { numRuns: 1, seed: 3 });
    if (!one || !at) throw new Error('sampled one');
    const walk = (values: readonly number[]): ExportTrajectory => ({
      ...one,
      steps: values.map((value, i) => ({
        ...one.root,
        depth: i + 1,
        rewards: { a: value },
        prompt: null,
        message: textMessage('assistant', ''),
      })),
    });
    await write([walk([0, 1]), walk([1, 0.5]), walk([0.5])]);
    expect(await query('select s.depth, avg(s.reward) as mean from FILE, unnest(steps) as t(s) group by 1 order by 1')).toEqual([
      { depth: 1, mean: 0.5 },
      { depth: 2, mean: 0.75 },
    ]);
  });
});
