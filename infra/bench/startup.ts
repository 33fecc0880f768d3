import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { table } from '../../src/cli/terminal.ts';

/**
 * Measures starts: `espalier --help` and `espalier up` until it is ready, compiled and by tsx, compared with an empty Node
 * program.
 *
 *     npx tsx infra/bench/startup.ts [runs]
 */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RUNS = Number(process.argv[2] ?? 7);
const COMPILED = ['bin/espalier.js'];
const SOURCES = ['--import', 'tsx', 'src/cli/main.ts'];

const home = await mkdtemp(join(tmpdir(), 'espalier-startup-'));
const env = { PATH: process.env.PATH, HOME: process.env.HOME, ESPALIER_HOME: home }; // nothing that names another database or log
try {
  await untilReady(COMPILED); // the first start of an installation makes the database, and compiles where install did not
  const empty = median(repeat(() => timed(['-e', '0'])));
  const rows = [
    ['espalier --help', ...figures(median(repeat(() => timed([...COMPILED, '--help']))), empty)],
    ['the same by tsx', ...figures(median(repeat(() => timed([...SOURCES, '--help']))), empty)],
    ['espalier up until ready', ...figures(median(await repeatAsync(() => untilReady(COMPILED))), empty)],
    ['the same by tsx', ...figures(median(await repeatAsync(() => untilReady(SOURCES))), empty)],
  ];
  process.stdout.write(`median of ${RUNS} runs; Node ${process.version}; an empty program takes ${Math.round(empty)} ms\n\n`);
  process.stdout.write(`${table(['start', 'ms', '× an empty program'], rows).join('\n')}\n`);
} finally {
  await rm(home, { recursive: true, force: true });
}

function figures(ms: number, empty: number): readonly string[] {
  return [ms.toFixed(0), (ms / empty).toFixed(1)];
}

function timed(args: readonly string[]): number {
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`);
  return performance.now() - began;
}

async function untilReady(program: readonly string[]): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, [...program, 'up'], { cwd: ROOT, env: { ...env, ESPALIER_PORT: '0' } });
  let said = '';
  const ready = await new Promise<number>((resolve, reject) => {
    const look = (text: string) => {
      said += text;
      if (/GraphQL http/.test(said)) resolve(performance.now() - began);
    };
    child.stdout.setEncoding('utf8').on('data', look);
    child.stderr.setEncoding('utf8').on('data', look);
    child.once('exit', (code) => reject(new Error(`espalier up ended with ${code}: ${said}`)));
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
  return ready;
}

function repeat(measure: () => number): readonly number[] {
  return Array.from({ length: RUNS }, measure);
}

async function repeatAsync(measure: () => Promise<number>): Promise<readonly number[]> {
  const all: number[] = [];
  for (let run = 0; run < RUNS; run += 1) all.push(await measure());
  return all;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
