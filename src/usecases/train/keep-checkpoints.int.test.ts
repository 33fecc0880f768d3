import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { derivedId } from '../../events/derived-id.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { recordLineage } from '../../testing/record-training.ts';
import { encodeTorchCheckpoint } from '../../training/backends/torch/torch-checkpoint.ts';
import { torchFolder } from '../../training/backends/torch/torch-plan.ts';
import { keepCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import { checkpointKeeper } from './keep-checkpoints.ts';

const sha = (text: string) => derivedId('sha', text).replaceAll('-', '').repeat(2);
const folderOf = (policyId: string, version: number) => sha(`${policyId} ${version}`);

let platform: Platform & { readonly home: string };
let builder: EventBuilder;
beforeEach(async () => {
  const opened = await openTestPlatform();
  platform = { ...opened, config: { ...opened.config, torchCheckpoints: 2 } };
  builder = new EventBuilder('checkpoints');
});
afterEach(() => platform.close());

/** Records versions 0 to `newest` of a policy, each with a checkpoint on disk. @param folder names the folder of a version. */
async function recordPolicy(policyId: string, newest: number, folder = (version: number) => folderOf(policyId, version)) {
  const lineageId = recordLineage(builder, policyId);
  for (let version = 0; version <= newest; version++) {
    const checkpoint = folder(version);
    const manifest = { format: 'espalier-torch/1' as const, checkpoint, weights: sha('w'), rest: sha('r'), steps: version };
    const kept: BlobRef = await keepCheckpoint(platform.blobs, encodeTorchCheckpoint(manifest));
    await mkdir(join(torchFolder(platform.config), checkpoint), { recursive: true });
    await writeFile(join(torchFolder(platform.config), checkpoint, 'state.json'), '{}');
    const checkpointId = builder.id('checkpoint', policyId, version);
    const weights = (version % 10).toString().repeat(64);
    const saved = { checkpointId, version, backend: 'torch', weights, kept, covers: version === 0 ? null : version - 1 };
    builder.record('CheckpointSaved', { lineageId, policyId, ...saved }, lineageId);
    if (version === 0) continue; // recorded with the lineage
    const update = {
      version,
      parentVersion: version - 1,
      batchId: builder.id('batch', policyId, version),
      checkpointId,
      weights,
    };
    const rest = { estimator: null, loss: null, samples: 0, metrics: {} };
    builder.record('PolicyUpdated', { lineageId, policyId, ...update, ...rest }, lineageId);
  }
}

function recordEvaluation(policyId: string, version: number): void {
  const runId = builder.run(`evaluation of ${version}`, { kind: 'evaluate', policy: { policyId, version } });
  const interval = { low: 0, high: 1 };
  builder.record(
    'EvaluationFinished',
    {
      runId,
      policy: { policyId, version },
      environment: 'echo',
      split: null,
      tasks: 1,
      episodes: 1,
      meanReturn: 0,
      successRate: 0,
      returnInterval: interval,
      successInterval: interval,
      meanSteps: 1,
      repeatedActions: [],
      byDepth: [],
      bootstrap: { confidence: 0.95, resamples: 100, seed: 1 },
      recovery: null,
      trained: null,
    },
    runId,
  );
}

/** Records a rollout by a version of a policy, and a release that holds it. */
function recordRelease(policyId: string, version: number): void {
  const runId = builder.run('collected');
  const tree = builder.tree(runId, 'released', { plannedRollouts: 1 });
  const goodRolloutId = builder.rollout(tree, 0, { policy: { policyId, version } });
  const [datasetId, sha256] = [builder.id('dataset'), sha('dataset')];
  const made = { query: {}, parameters: {}, position: {}, counts: {}, bytes: 1, codeVersion: '1', runs: [runId] };
  builder.record(
    'DatasetReleased',
    { datasetId, name: 'chosen', version: 1, format: 'dpo', formatVersion: 1, sha256, ...made },
    datasetId,
  );
  const example = { line: 1, lines: 1, kind: 'pair' as const, treeId: tree.treeId, badRolloutId: null, revisionId: null };
  builder.record('DatasetSourced', { datasetId, sha256, part: 0, examples: [{ ...example, goodRolloutId }] }, datasetId);
}

const lying = async () => (await readdir(torchFolder(platform.config))).sort();
const foldersOf = (policyId: string, versions: readonly number[]) => versions.map((version) => folderOf(policyId, version));

describe('torch checkpoints of a policy', () => {
  test('the newest checkpoints, version 0 and those that an evaluation, a fork or a release names are kept; the record keeps all', async () => {
    await recordPolicy('model', 7);
    recordEvaluation('model', 2);
    builder.run('fork', { kind: 'fork', policy: { policyId: 'model', version: 3 } });
    recordRelease('model', 4);
    await givenEvents(platform.database.db, builder.events);
    expect([...(await checkpointKeeper(platform)())].sort()).toEqual(foldersOf('model', [1, 5]).sort());
    expect(await lying()).toEqual(foldersOf('model', [0, 2, 3, 4, 6, 7]).sort());
    expect(await platform.database.db.selectFrom('checkpoints').select('version').execute()).toHaveLength(8);
  });

  test('checkpoints are counted per policy, and a shared one is kept while either policy needs it', async () => {
    await recordPolicy('old', 3);
    await recordPolicy('young', 1, (version) => folderOf('old', version)); // equal updates of equal models
    await givenEvents(platform.database.db, builder.events);
    expect(await checkpointKeeper(platform)()).toEqual([]);
    expect(await lying()).toEqual(foldersOf('old', [0, 1, 2, 3]).sort());
  });

  test('an update that changed nothing shares its folder, which is kept with the newer version', async () => {
    await recordPolicy('model', 4, (version) => folderOf('model', Math.max(1, version - 2))); // 1, 2 and 3 share one
    await givenEvents(platform.database.db, builder.events);
    expect(await checkpointKeeper(platform)()).toEqual([]);
  });

  test('checkpoints unknown to the read models are kept, and leftovers of a killed process are removed', async () => {
    await recordPolicy('model', 3);
    await givenEvents(platform.database.db, builder.events);
    const folder = torchFolder(platform.config);
    const left = ['.partial-new', '.partial-old', `.removed-${folderOf('model', 9)}`, sha('unknown')];
    for (const name of left) await mkdir(join(folder, name));
    await utimes(join(folder, '.partial-old'), new Date(0), new Date(0));
    const keep = checkpointKeeper(platform);
    expect(await keep()).toEqual(foldersOf('model', [1]));
    expect(await lying()).toEqual(['.partial-new', sha('unknown'), ...foldersOf('model', [0, 2, 3])].sort());
    expect(await keep()).toEqual([]); // again changes nothing
  });

  test('all checkpoints are kept when a manifest among them cannot be read', async () => {
    await recordPolicy('model', 5);
    await givenEvents(platform.database.db, builder.events);
    const blind = { ...platform, blobs: { ...platform.blobs, get: () => Promise.reject(new Error('no such blob')) } };
    await expect(checkpointKeeper(blind)()).rejects.toThrow('no such blob');
    expect(await lying()).toHaveLength(6);
  });
});
