import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { evidence } from '../../../testing/formats-evidence.ts';
import { BEHIND_CONTEXT, RECORDED, type Read, recordSays, VALUES } from '../../../testing/formats-recorded.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { MemoryBlobs } from '../../../testing/memory-blobs.ts';
import { consumersForTests } from '../../../testing/python.ts';
import { leaseInto, recordPicturedRun, recordRun } from '../../../testing/record-formats.ts';
import { recordRevision } from '../../../testing/record-revision.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { exportRows } from '../rows/export-rows.ts';
import type { RowFormat } from '../rows/row-options.ts';
import { type ChatTokenizer, openChatTokenizer } from './chat-tokenizer.ts';
import { exportFolder } from './export-folder.ts';
import { exportTrajectories } from './export-trajectories.ts';
import type { ExportFormat } from './formats.ts';
import { manifestPath } from './manifest.ts';

const found = await consumersForTests();
const python = found.kind === 'found' ? found.python : '';
const EVIDENCE = new URL('../../../../docs/evidence/formats.md', import.meta.url);
const database = useTestDatabase({ emptied: 'before-each' });
const shop = datasetWorkshop();
const signal = new AbortController().signal;

(found.kind === 'found' ? describe : describe.skip)(
  `the formats and their readers (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    let folder: string;
    let tokenizer: ChatTokenizer;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-readers-'));
      await run('-m', 'tests_consumers.tiny_model', join(folder, 'model'));
      tokenizer = await openChatTokenizer(join(folder, 'model'));
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    test('every reader trains the tokens that the record says and no other, or the export counts what a form cannot say', async () => {
      const runs = [recordRun('one', VALUES[0], 'environment'), recordRun('two', VALUES[1], 'match')];
      for (const [i, name] of ['one', 'two'].entries()) {
        const { events = [] } = runs[i] ?? {};
        await givenEvents(database.db, events);
        await exportAll(join(folder, name), String(events.find(({ type }) => type === 'RunStarted')?.stream));
      }
      await leaseInto(database.db, join(folder, 'lease.safetensors'));
      await exportPictured();
      await exportMined(join(folder, 'mined'));
      const said = await run('-m', 'tests_consumers.matrix', folder, join(folder, 'model'));
      const read: readonly Read[] = JSON.parse(/^found (.*)$/m.exec(said)?.[1] ?? 'null');
      const reads = [...read, await byImport()];
      expect(reads).toEqual(
        reads.map(({ format, reader, version, read }) => ({
          format,
          reader,
          version,
          read,
          ...recordSays(format, reader, read),
        })),
      );
      const cells = new Set(reads.map(({ format, reader, read }) => `${format} by ${reader}, ${read}`));
      expect(cells.size).toBe(reads.length);
      for (const format of Object.keys(RECORDED))
        for (const [reader, read] of EVERY_FORMAT) {
          const asked = PICTURED_LINES.includes(format) ? ASKED[reader] : undefined;
          expect(cells).toContain(`${format} by ${reader}, ${asked ?? read}`);
        }
      for (const cell of OWN_READERS) expect(cells).toContain(cell);
      const table = evidence(reads);
      if (process.env.ESPALIER_WRITE_EVIDENCE === '1') await writeFile(EVIDENCE, table);
      expect(await readFile(EVIDENCE, 'utf8')).toBe(table);
    }, 600_000);

    async function exportAll(into: string, runId: string): Promise<void> {
      const query = { ...everyTrajectory, runs: [runId] };
      const common = { db: database.db, blobs: new MemoryBlobs(), query, codeVersion: 'test', waitMs: 60_000, signal, tokenizer };
      const plain = { weights: 'own', metadata: 'include' } as const;
      const formats: Readonly<Record<string, ExportFormat>> = {
        openai: { kind: 'openai', ...plain, context: 'drop' },
        sharegpt: { kind: 'sharegpt', weights: 'own', context: 'drop' },
        trl: { kind: 'trl', ...plain },
        'trl-tokens': { kind: 'trl', ...plain, tokenizer: tokenizer.sha256 },
        'trl-tokens-parquet': { kind: 'trl', ...plain, tokenizer: tokenizer.sha256, container: 'parquet' },
        'trl-grpo': { kind: 'trl-grpo', metadata: 'include' },
        xtuner: { kind: 'xtuner', ...plain },
        atif: { kind: 'atif', weights: 'own' },
        parquet: { kind: 'parquet', weights: 'own' },
        verl: { kind: 'verl', layout: 'trajectory', tokenizer: tokenizer.sha256 },
        prompts: { kind: 'verl-prompts', truths: null },
        steps: { kind: 'verl', layout: 'step' },
      };
      const choices = { existing: 'refuse', empty: 'refuse', onProgress: () => undefined } as const;
      for (const [name, format] of Object.entries(formats)) {
        const ending = name.endsWith('parquet') || format.kind.startsWith('verl') ? 'parquet' : 'jsonl';
        await mkdir(join(into, name), { recursive: true });
        const { counts } = await exportTrajectories({ ...common, ...choices, format, out: join(into, name, `data.${ending}`) });
        if ('context' in format) expect(counts.lost).toEqual({ replies: BEHIND_CONTEXT.length, tokens: 0, rows: 2 });
      }
      for (const context of ['refuse'] as const)
        await expect(
          exportTrajectories({
            ...common,
            ...choices,
            format: { kind: 'openai', ...plain, context },
            out: join(into, 'refused.jsonl'),
          }),
        ).rejects.toThrow('2 trained replies in 2 rows follow replies that are not to be trained on');
      await mkdir(join(into, 'dpo'));
      const gates = { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null } as const;
      await exportRows({
        ...common,
        ...choices,
        out: join(into, 'dpo', 'data.jsonl'),
        general: null,
        format: { kind: 'dpo', metadata: 'include', span: 'reply' },
        parameters: { data: 'pairs', thresholds: { alpha: 0.2, beta: 0.2 }, state: 'verified', gates },
      });
      await exportFolder({
        ...common,
        ...choices,
        format: { kind: 'trl', ...plain, tokenizer: tokenizer.sha256 },
        out: join(into, 'hf'),
      });
    }

    /** Exports two runs that show pictures behind many rows without. */
    async function exportPictured(): Promise<void> {
      for (const [i, name] of ['one', 'two'].entries()) {
        const { events } = await recordPicturedRun(`pictured ${name}`, VALUES[i] ?? 0);
        await givenEvents(database.db, events);
        const runId = String(events.find(({ type }) => type === 'RunStarted')?.stream);
        const common = { db: database.db, blobs: new MemoryBlobs(), query: { ...everyTrajectory, runs: [runId] } };
        const choices = { existing: 'refuse', empty: 'refuse', codeVersion: 'test', waitMs: 60_000, signal } as const;
        const formats: Readonly<Record<string, ExportFormat>> = {
          openai: { kind: 'openai', weights: 'own', metadata: 'include', context: 'drop' },
          sharegpt: { kind: 'sharegpt', weights: 'own', context: 'drop' },
          trl: { kind: 'trl', weights: 'own', metadata: 'include' },
          'trl-grpo': { kind: 'trl-grpo', metadata: 'include' },
          parquet: { kind: 'parquet', weights: 'own' },
          steps: { kind: 'verl', layout: 'step' },
        };
        const out = async (format: string, ending: string) => {
          const into = join(folder, 'seen', name, format);
          await mkdir(into, { recursive: true });
          return join(into, `data.${ending}`);
        };
        for (const [named, format] of Object.entries(formats)) {
          const ending = named === 'parquet' || named === 'steps' ? 'parquet' : 'jsonl';
          await exportTrajectories({
            ...common,
            ...choices,
            format,
            out: await out(named, ending),
            onProgress: () => undefined,
          });
        }
      }
    }

    /** What an empty installation trains on that a file of events was imported into. */
    async function byImport(): Promise<Read> {
      const events = recordRun('one', VALUES[0], 'environment').events;
      await givenEvents(shop.db, events);
      const source = await shop.exportTo('events.jsonl', { kind: 'jsonl', scope: 'trajectories' });
      await shop.startAgain();
      await shop.importing({ source });
      const out = shop.path('again.jsonl');
      await exportTrajectories({
        db: shop.db,
        blobs: shop.blobs,
        query: everyTrajectory,
        out,
        existing: 'refuse',
        empty: 'refuse',
        format: { kind: 'trl', weights: 'own', metadata: 'include', tokenizer: tokenizer.sha256 },
        tokenizer,
        codeVersion: 'test',
        waitMs: 60_000,
        signal,
        onProgress: () => undefined,
      });
      const masks = (await readFile(out, 'utf8'))
        .trimEnd()
        .split('\n')
        .map((line): string => JSON.parse(line).loss_mask.join(''));
      const ones = masks.flatMap((mask) => mask.match(/1+/g) ?? []);
      const tokens = ones.reduce((sum, { length }) => sum + length, 0);
      return {
        format: 'jsonl',
        reader: 'espalier import',
        version: '',
        read: 'file',
        rows: masks.length,
        tokens,
        weight: ones.length,
      };
    }

    /** Exports examples of a searched tree, and puts those for TRL in one folder with the trajectories of the two runs. */
    async function exportMined(into: string): Promise<void> {
      const { builder, place } = recordRevision();
      await givenEvents(database.db, builder.events);
      const query = { ...everyTrajectory, runs: [place.run] };
      const common = { db: database.db, blobs: new MemoryBlobs(), query, codeVersion: 'test', waitMs: 60_000, signal, tokenizer };
      const gates = { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null } as const;
      const formats: Readonly<Record<string, Partial<RowFormat> & Pick<RowFormat, 'kind'>>> = {
        trl: { kind: 'trl' },
        'trl-tokens': { kind: 'trl', tokenizer: tokenizer.sha256 },
        'trl-tokens-parquet': { kind: 'trl', tokenizer: tokenizer.sha256, container: 'parquet' },
        openai: { kind: 'openai', context: 'drop' },
        xtuner: { kind: 'xtuner' },
        'agent-r': { kind: 'agent-r' },
      };
      for (const [name, format] of Object.entries(formats)) {
        await mkdir(join(into, name), { recursive: true });
        const { counts } = await exportRows({
          ...common,
          out: join(into, name, `data.${format.container ?? 'jsonl'}`),
          general: null,
          existing: 'refuse',
          onProgress: () => undefined,
          format: { metadata: 'include', span: 'reply', ...format },
          parameters: { data: 'both', thresholds: { alpha: 0.5, beta: 0.2 }, state: 'verified', gates },
        });
        expect(counts.lost).toEqual(format.context && { replies: 1, tokens: 0, rows: 1 });
      }
      await mkdir(join(folder, 'several', '_manifests'), { recursive: true });
      for (const [name, from] of Object.entries({ one: 'one/trl', two: 'two/trl', mined: 'mined/trl' })) {
        const target = join(folder, 'several', `${name}.jsonl`);
        await cp(join(folder, from, 'data.jsonl'), target);
        await cp(manifestPath(join(folder, from, 'data.jsonl')), manifestPath(target));
      }
    }
  },
);

/** Readers of every format. */
const EVERY_FORMAT = [
  ...['file', 'folder', 'two runs', 'two runs, the other first'].map((read) => ['load_dataset', read] as const),
  ...['pandas', 'polars', 'duckdb', 'pyarrow'].map((reader) => [reader, 'file'] as const),
];
/** Files of lines whose pictures begin late, and what these readers are asked for. */
const PICTURED_LINES = ['openai', 'sharegpt', 'trl', 'trl-grpo'].map((format) => `seen-${format}`);
const ASKED: Readonly<Record<string, string>> = {
  polars: 'file, infer_schema_length=None',
  pyarrow: 'file, block_size of the file',
};
/** The trainers that a format is written for. */
const OWN_READERS = [
  'trl by TRL SFTTrainer, file',
  'trl-tokens by TRL SFTTrainer, file',
  'trl-tokens-parquet by TRL SFTTrainer, file',
  'mined-trl-tokens-parquet by TRL SFTTrainer, file',
  'jsonl by espalier import, file',
  'seen-trl by TRL SFTTrainer, vision, file',
  'openai by TRL SFTTrainer(assistant_only_loss=True), file',
  'openai by LLaMA-Factory SupervisedDatasetProcessor, file',
  'sharegpt by LLaMA-Factory SupervisedDatasetProcessor, file',
  'xtuner by xtuner encode_fn, file',
  'xtuner by xtuner encode_fn, file, by load_dataset',
  'dpo by TRL DPOTrainer, file',
  'atif by atif Trajectory, file',
  'verl by verl DataProto, file',
  'prompts by verl RLHFDataset, file',
  'lease by TRL SFTTrainer, body',
  'lease by TRL DPOTrainer, body',
  'lease by TRL GRPOTrainer, body, as rollouts',
  'lease by verl DataProto, body',
  'trl-tokens --layout hf by load_dataset, folder, split train',
  'trl-tokens --layout hf by load_dataset, folder, split test',
  'openai by verl MultiTurnSFTDataset, file',
  'trl-grpo by TRL GRPOTrainer, file, as rollouts of two a group',
  'mined-trl by TRL SFTTrainer, file',
  'mined-trl-tokens by TRL SFTTrainer, file',
  'mined-openai by LLaMA-Factory SupervisedDatasetProcessor, file',
  'mined-openai by verl MultiTurnSFTDataset, file',
  'mined-xtuner by xtuner encode_fn, file',
  'mined-agent-r by load_dataset, file',
  'trl by load_dataset, folder of two runs and mined examples',
];

async function run(...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = {
      ...process.env,
      HF_HUB_OFFLINE: '1',
      HF_DATASETS_CACHE: join(tmpdir(), `espalier-readers-cache-${process.pid}`),
    };
    execFile(
      python,
      ['-W', 'ignore', ...args],
      { cwd: 'python', env, timeout: 540_000, maxBuffer: 16 * 2 ** 20 },
      (error, stdout, stderr) => (error ? reject(new Error(`${error.message}\n${stderr.slice(-4_000)}`)) : resolve(stdout)),
    );
  });
}
