import { afterAll, expect, test } from '@jest/globals';
import { environmentOf } from '../testing/crashing-run.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'none' });
afterAll(killRunning);

test('`migrate` makes the tables of an empty database and ends, and again it changes nothing', async () => {
  const { pool } = platform.database;
  const empty = `empty_${process.pid}`;
  await pool.query(`create database ${empty}`);
  try {
    const url = new URL(platform.databaseUrl);
    url.pathname = empty;
    const env = { ...environmentOf(platform), DATABASE_URL: url.toString() };
    for (const _ of [1, 2]) {
      const { code, stdout } = await runEspalier(['migrate'], env);
      expect([code, stdout]).toEqual([0, 'database and log are ready for this version\n']);
    }
    const doctor = await runEspalier(['--json', 'doctor'], env);
    const findings = JSON.parse(doctor.stdout) as readonly { step: string; detail: string }[];
    expect(findings.find(({ step }) => step === 'record')?.detail).toMatch(/^of the log /);
  } finally {
    await pool.query(`drop database ${empty} with (force)`);
  }
});

test('`migrate` names the read models that are live in an earlier version', async () => {
  const { pool } = platform.database;
  await pool.query("update projections set version = 1 where name = 'annotations'");
  try {
    const { code, stdout } = await runEspalier(['migrate'], environmentOf(platform));
    expect([code, stdout]).toEqual([0, expect.stringContaining('run `espalier rebuild annotations`')]);
  } finally {
    await pool.query("update projections set version = 2 where name = 'annotations'");
  }
});
