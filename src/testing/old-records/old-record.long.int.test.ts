import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import { openPlatform, type Platform } from '../../platform/open-platform.ts';
import { connect } from '../../postgres/pool.ts';
import type { Projection } from '../../projections/projection.ts';
import { projections } from '../../projections/registry.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { readConfig } from '../../runtime/config.ts';
import { runDigest } from '../../usecases/datasets/run-digest.ts';
import { rebuildProjection } from '../../usecases/rebuild/rebuild-projection.ts';
import { environmentOf } from '../crashing-run.ts';
import { createDatabase, type TestDatabase } from '../database.ts';
import { openTestPlatform } from '../open-test-platform.ts';
import { killRunning, runEspalier } from '../worker-process.ts';
import { compareTables } from './compare-tables.ts';
import { EXPORTS, READS, REPLAYS, RUNS, VERIFY } from './record-commands.ts';
import { type Answer, type OldAnswers, type RecordPart, readRecord } from './record-file.ts';
import { logRecordsOf, restoreFiles, restoreRecord } from './restore-record.ts';

const NAME = 'ffe8f67';
/** What the earlier program released from quarantine in its database alone; its log does not say so. */
const RELEASED = [/^rewards trees/, /^step-tree trees/, /^rewards trees/];
/** The tables in which the log alone leaves other rows for it. */
const OF_RELEASES = [
  ...['returns', 'reward_edges', 'reward_revisions', 'rewards', 'rollouts', 'steps', 'sample_rewards', 'samples'],
];
/** Formats whose rows have had other metadata or columns, or numbers with a point, since. */
const RAISED = /--format (openai|trl-grpo|agent-r|dpo|parquet|batches) /;
/** Exports of a run that worded its prompts before they were recorded: they held the chat of the environment instead. */
const WORDED = EXPORTS.filter((line) => line.includes(RUNS.drawn));
/** Where the release that `record-releases` appended lies elsewhere than the event that the database alone had released. */
const MOVED: Readonly<Record<string, { readonly kind: 'differs'; readonly differing: readonly string[] }>> = {
  'step-tree': { kind: 'differs', differing: ['steps.log_offset', 'quarantine.code'] },
  rewards: { kind: 'differs', differing: ['quarantine.code'] },
};
const signal = new AbortController().signal;

let parts: readonly RecordPart[];
let old: OldAnswers;
beforeAll(async () => {
  parts = await readRecord(new URL(`./fixtures/${NAME}.ndjson.br`, import.meta.url));
  old = JSON.parse(await readFile(new URL(`./fixtures/${NAME}.json`, import.meta.url), 'utf8')) as OldAnswers;
});
afterAll(killRunning);

type Home = Platform & { readonly home: string };

async function ask(platform: Home, line: string, ...more: readonly string[]): Promise<Answer> {
  const words = line.split(' ').map((word) => word.replace('FOLDER', join(platform.home, 'released')));
  const { code, stdout, stderr } = await runEspalier(['--json', ...words, ...more], environmentOf(platform));
  if (stdout.trim() === '') throw new Error(`${line} ended with ${code}:\n${stderr}`);
  return { code: Number(code), said: JSON.parse(stdout.trim().split('\n').at(-1) ?? '') };
}

function fileOf({ home }: Home, line: string): string {
  return join(home, `exported-${createHash('sha256').update(line).digest('hex')}`);
}

async function exported(platform: Home, line: string): Promise<Answer> {
  const out = fileOf(platform, line);
  const { code } = await ask(platform, line, '--out', out);
  return {
    code,
    said: createHash('sha256')
      .update(await readFile(out))
      .digest('hex'),
  };
}

/** Opens a database and a folder that an earlier program left, as a start of this program does. */
async function openLeft(database: TestDatabase): Promise<Home> {
  const home = await mkdtemp(join(tmpdir(), 'espalier-old-'));
  await restoreRecord(parts, database.url, home);
  const config = readConfig({
    ESPALIER_HOME: home,
    DATABASE_URL: database.url,
    ESPALIER_PARTITIONS: '4',
    ESPALIER_PORT: '0',
  });
  const platform = await openPlatform(config, 'test');
  const close = async () => {
    await platform.close();
    await database.drop();
    await rm(home, { recursive: true });
  };
  return { ...platform, home, close };
}

/** What comes out of a record does not depend on who reads it: the digests of its runs, and the answers to questions. */
async function expectAnswers(platform: Home, lines: readonly string[], answer = ask): Promise<void> {
  for (const line of lines) {
    const { code, said } = await answer(platform, line);
    expect({ line, code, said }).toMatchObject({ line, ...comparable(answerOf(line)) });
  }
}

/**
 * Leaves out what differs from one time to the next (the id of a replay), what is worded for people (notes), and how many tables
 * a replay of projections compares: there are more now.
 */
function comparable({ code, said }: Answer): Answer {
  if (typeof said !== 'object' || said === null || !('outcome' in said)) return { code, said };
  const { replay: _replay, notes: _notes, compared, ...rest } = said as Record<string, unknown>;
  return { code, said: rest.mode === 'projections' ? rest : { ...rest, compared } };
}

function answerOf(line: string): Answer {
  const answer = old.answers[line];
  if (!answer) throw new Error(`the program that made the record was not asked ${line}`);
  return answer;
}

async function expectDigests({ database, blobs }: Platform): Promise<void> {
  for (const [run, digest] of Object.entries(old.digests))
    expect({ run, ...(await runDigest({ database, blobs }, run)) }).toMatchObject({ run, digest });
}

describe('an installation that an earlier program left', () => {
  let platform: Home;
  beforeAll(async () => {
    const server = process.env.DATABASE_URL ?? '';
    platform = await openLeft(await createDatabase(server, 'espalier_old', 'template0'));
  });
  afterAll(() => platform.close());

  test('the pool of training is folded again by the rules of this program', async () => {
    expect(await ask(platform, 'rebuild training-pool')).toMatchObject({ code: 0, said: { kind: 'swapped' } });
  });

  test('verify names the releases that its log does not hold, and nothing else, until they are recorded', async () => {
    const {
      faults: _,
      faulty: _intact,
      ...counts
    } = answerOf(VERIFY).said as { faults: unknown; faulty: number; events: number };
    const { code, said } = await ask(platform, VERIFY);
    expect({ code, said }).toMatchObject({ code: 1, said: { ...counts, faulty: RELEASED.length, doubtful: 0 } });
    expect((said as { faults: unknown }).faults).toEqual(
      RELEASED.map((place) => ({ what: 'release', kind: 'unrecorded', place: expect.stringMatching(place) })),
    );
    expect(await ask(platform, 'quarantine record-releases')).toEqual({ code: 0, said: { releases: 2, followers: 5 } });
    // what was appended again is known by its ids: the journal holds each event once
    expect(await ask(platform, VERIFY)).toMatchObject({ code: 0, said: { ...counts, faulty: 0 } });
  });

  test('every question is answered as the earlier program answered it', async () => {
    await expectDigests(platform);
    await expectAnswers(platform, READS);
    await expectAnswers(
      platform,
      EXPORTS.filter((line) => !WORDED.includes(line) && !RAISED.test(line)),
      exported,
    );
  });

  test('rows of a run that worded its prompts, which its record does not hold, say that they are composed', async () => {
    for (const line of WORDED) {
      const { code, said } = await exported(platform, line);
      expect(code).toBe(0);
      expect(said).not.toBe(answerOf(line).said);
    }
    const grpo = WORDED.find((line) => line.includes('trl-grpo')) ?? '';
    const rows = (await readFile(fileOf(platform, grpo), 'utf8')).trimEnd().split('\n');
    expect(new Set(rows.map((row) => JSON.parse(row).metadata.prompt))).toEqual(new Set(['composed']));
  });

  test('a rebuild of every projection is equal to what the earlier program folded, but for where a recorded release lies', async () => {
    const projector = await runProjections(platform);
    const rebuild = (projection: Projection, differing: 'refuse' | 'accept') =>
      rebuildProjection(platform, projection, { signal, progress: () => undefined, limitMs: 60_000, differing });
    for (const projection of projections) {
      const { name } = projection;
      const { kind, comparison } = await rebuild(projection, 'refuse');
      const differing = comparison?.differences.map(({ table, field }) => `${table}.${field}`);
      expect({ name, kind, differing }).toEqual({ name, ...(MOVED[name] ?? { kind: 'swapped', differing: [] }) });
      if (kind === 'differs') expect(await rebuild(projection, 'accept')).toMatchObject({ kind: 'swapped' });
    }
    await projector.close();
  });

  test('every replay comes to what the earlier program came to', () => expectAnswers(platform, REPLAYS));
});

describe('a fresh installation that is given the log of an earlier program', () => {
  let platform: Home;
  beforeAll(async () => {
    platform = await openTestPlatform();
    await restoreFiles(parts, platform.home);
    await platform.log.append(logRecordsOf(parts));
    const projector = await runProjections(platform);
    await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
    await projector.close();
  });
  afterAll(() => platform.close());

  test('the rows are those that the earlier program folded, but for what only its releases brought', async () => {
    const client = await connect(platform.databaseUrl);
    const tables = await compareTables(parts, client);
    await client.end();
    expect(tables.flatMap(({ table, gone }) => gone.map((column) => `${table}.${column}`))).toEqual([]);
    const differing = tables.filter(({ onlyOld, onlyNew }) => onlyOld.length + onlyNew.length > 0);
    expect(differing.map(({ table }) => table)).toEqual(OF_RELEASES);
    for (const { onlyOld, onlyNew } of differing)
      for (const row of [...onlyOld, ...onlyNew]) expect(row).toContain('bbbbbbbb-0000-4000-8000-');
    expect(tables.filter(({ rows }) => rows > 0).length).toBeGreaterThan(30);
  });

  test('the runs have their digests, and verify finds what the earlier program found', async () => {
    await expectDigests(platform);
    await expectAnswers(platform, [VERIFY]);
  });
});
