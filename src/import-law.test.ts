import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The law: a room may import the rooms to its left, never one to its right and never a sibling. */
const RANKS: readonly (readonly string[])[] = [
  ['src/domain'],
  ['src/events'],
  ['src/log', 'src/postgres', 'src/blobs', 'src/images'],
  ['src/append'],
  ['src/projections', 'src/environments', 'src/policies'],
  ['src/datasets', 'src/collect', 'src/training', 'src/replay', 'src/lineage', 'src/conformance'],
  ['graphql', 'src/http'],
  ['src/platform'],
  ['src/cli', 'workers', 'infra'],
];
/** `runtime` may be used by all but domain and events, and itself uses nothing. */
const RUNTIME = 'src/runtime';
/** The one way sideways: the embedded log keeps its records in Postgres. */
const SIDEWAYS = [{ from: /^src\/log\/embedded-log/, to: 'src/postgres' }];

/** One library, one door. */
const DOORS: readonly { readonly library: RegExp; readonly door: RegExp }[] = [
  { library: /^kafkajs$/, door: /^src\/log\/kafka-log/ },
  { library: /^(pg|pg-copy-streams)$/, door: /^src\/(postgres\/|projections\/install\.ts)/ },
  { library: /^sharp$/, door: /^src\/images\// },
  { library: /^(graphql($|[-/])|@graphql|dataloader)/, door: /^graphql\// },
  { library: /^commander$/, door: /^src\/cli\// },
  { library: /^prom-client$/, door: /^src\/runtime\/metrics\.ts$/ },
];

interface Import {
  readonly file: string;
  readonly target: string;
}
const files = ['src', 'graphql', 'workers', 'infra'].flatMap((folder) => sourceFiles(join(ROOT, folder)));
const imports = files.flatMap((file) => importsOf(file));

describe('the law of imports', () => {
  test('every source file lies in a room that the law knows', () => {
    const strangers = files.filter((file) => rankOf(file) === undefined && roomOf(file) !== RUNTIME && !isTesting(file));
    expect(strangers).toEqual([]);
  });

  test('no room imports one to its right or a sibling', () => {
    const broken = imports.filter(({ file, target }) => {
      if (isTesting(file) || target.startsWith('package:')) return false;
      const [from, to] = [roomOf(file), roomOf(target)];
      if (isTesting(target)) return true;
      if (from === to || SIDEWAYS.some((way) => way.from.test(file) && way.to === to)) return false;
      if (to === RUNTIME) return from === 'src/domain' || from === 'src/events';
      const [own, other] = [rankOf(file), rankOf(target)];
      return own === undefined || other === undefined || other >= own;
    });
    expect(broken).toEqual([]);
  });

  test('each library is imported at its door only', () => {
    const broken = imports.filter(({ file, target }) => {
      const name = target.startsWith('package:') ? target.slice('package:'.length) : undefined;
      return name !== undefined && !isTesting(file) && DOORS.some(({ library, door }) => library.test(name) && !door.test(file));
    });
    expect(broken).toEqual([]);
  });

  test('only runtime/config.ts reads the environment', () => {
    const readers = files.filter((file) => !isTesting(file) && !file.startsWith('infra/') && /process\.env\b/.test(code(file)));
    expect(readers).toEqual(['src/runtime/config.ts']);
  });

  test('the domain is pure: no library and nothing of node', () => {
    expect(
      imports.filter(({ file, target }) => file.startsWith('src/domain/') && target.startsWith('package:') && !isTesting(file)),
    ).toEqual([]);
  });
});

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules') && !name.endsWith('.d.ts'))
    .map((name) => relative(ROOT, join(folder, name)));
}

function code(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

function importsOf(file: string): Import[] {
  const found = code(file).matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?from\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g,
  );
  return [...found].map((match) => {
    const name = match[1] ?? match[2] ?? '';
    return { file, target: name.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), name)) : `package:${name}` };
  });
}

function roomOf(file: string): string {
  const [first = '', second = ''] = file.split('/');
  return first === 'src' ? `${first}/${second}` : first;
}

function rankOf(file: string): number | undefined {
  const rank = RANKS.findIndex((rooms) => rooms.includes(roomOf(file)));
  return rank < 0 ? undefined : rank;
}

/** Tests, what only tests use, the crash laboratory, what makes the reference, and benchmarks (which measure libraries without our doors as the baseline) may import anything. */
function isTesting(file: string): boolean {
  return (
    /\.(test|contract)\.ts$/.test(file) ||
    file.startsWith('src/testing/') ||
    file.startsWith('graphql/testing/') ||
    file.startsWith('infra/bench/') ||
    file.startsWith('infra/docs/') ||
    file.startsWith('infra/chaos/') ||
    file.startsWith('infra/hostile/') ||
    file.includes('/contract/') ||
    /-testing\.ts$/.test(file)
  );
}
