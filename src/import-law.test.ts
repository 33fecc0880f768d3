import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A room may import the rooms above it in this list, never one below it and never a sibling. */
const RANKS: readonly (readonly string[])[] = [
  ['src/domain', 'src/digest'],
  ['src/events'],
  ['src/log', 'src/postgres', 'src/blobs', 'src/images'],
  ['src/append'],
  ['src/projections', 'src/environments', 'src/policies'],
  ['src/training'],
  ['src/platform'],
  ['src/usecases/capture'],
  [
    'src/usecases/annotate',
    'src/usecases/backup',
    'src/usecases/datasets',
    'src/usecases/lineage',
    'src/usecases/rebuild',
    'src/usecases/requeue',
  ],
  ['src/usecases/collect'],
  ['src/usecases/evaluate', 'src/usecases/revise', 'src/usecases/forget'],
  ['src/usecases/train'],
  ['src/usecases/replay'],
  ['src/usecases/fork'],
  ['src/usecases/score'],
  ['src/usecases/verify'],
  ['src/usecases/experiment'],
  ['graphql', 'src/http', 'src/conformance'],
  ['src/app'],
  ['src/cli', 'workers', 'infra'],
];
/** `runtime` may be used by all but domain and events, and itself uses nothing. */
const RUNTIME = 'src/runtime';
/** The ways sideways: the embedded log keeps its records in Postgres; a release compiles as a checkout does. */
const SIDEWAYS = [
  { from: /^src\/log\/embedded-log/, to: 'src/postgres' },
  { from: /^infra\/release\//, to: 'bin' },
];
/** What runs in a browser imports its operations and the pure rules. */
const OF_STUDIO = /^(studio\/|graphql\/studio\/|src\/domain\/|package:)/;

/** One library, one importer. */
const IMPORTERS: readonly { readonly library: RegExp; readonly importer: RegExp }[] = [
  { library: /^kafkajs$/, importer: /^src\/log\/kafka-log/ },
  { library: /^(pg|pg-copy-streams)$/, importer: /^src\/(postgres\/|projections\/install\.ts)/ },
  { library: /^@aws-sdk\//, importer: /^src\/blobs\/s3-objects\.ts$/ },
  { library: /^sharp$/, importer: /^src\/images\// },
  { library: /^@modelcontextprotocol\/sdk/, importer: /^src\/(environments\/tools|testing)\// },
  { library: /^@huggingface\//, importer: /^src\/usecases\/datasets\// },
  { library: /^(graphql($|[-/])|@graphql|dataloader)/, importer: /^graphql\// },
  { library: /^yaml$/, importer: /^(src\/usecases\/experiment|infra\/helm)\// },
  { library: /^commander$/, importer: /^src\/cli\// },
  { library: /^(@?fastify($|\/))/, importer: /^src\/http\// },
  { library: /^apache-arrow$/, importer: /^src\/usecases\/datasets\/tables\// },
  { library: /^prom-client$/, importer: /^src\/runtime\/metrics\.ts$/ },
  { library: /^lru-cache$/, importer: /^src\/runtime\/cache\.ts$/ },
  { library: /^playwright-core$/, importer: /^infra\/(hostile\/browser\/|docs\/|bench\/studio)/ },
  { library: /^protobufjs/, importer: /^src\/usecases\/capture\/traces\// },
  { library: /^@opentelemetry\//, importer: /^src\/runtime\/tracing/ },
  { library: /^p-limit$/, importer: /^src\/runtime\/limit\.ts$/ },
];

const SQL = /\bsql(<[^`]*?>)?`|\.(selectFrom|insertInto|updateTable|deleteFrom)\(/;
const MAY_HOLD_SQL = /^src\/(projections|log|postgres|training)\//;

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

  test('no room imports a room to its right or a sibling', () => {
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

  test('the studio imports its operations and the domain alone, and no other room imports the studio', () => {
    const ofStudio = sourceFiles(join(ROOT, 'studio/src')).flatMap((file) => importsOf(file));
    expect(ofStudio.filter(({ target }) => target.startsWith('graphql/studio/')).length).toBeGreaterThan(20);
    expect(ofStudio.filter(({ target }) => !OF_STUDIO.test(target))).toEqual([]);
    const reached = [...reachedFrom(ofStudio.map(({ target }) => target))];
    const graphqlFiles = reached.filter((file) => file.startsWith('graphql/') && !file.startsWith('graphql/studio/'));
    expect(graphqlFiles).toEqual([]);
    expect(imports.filter(({ file, target }) => target.startsWith('studio/') && !isTesting(file))).toEqual([]);
  });

  test('each library is imported by its importer only', () => {
    const broken = imports.filter(({ file, target }) => {
      const name = target.startsWith('package:') ? target.slice('package:'.length) : undefined;
      return (
        name !== undefined &&
        !isTesting(file) &&
        IMPORTERS.some(({ library, importer }) => library.test(name) && !importer.test(file))
      );
    });
    expect(broken).toEqual([]);
  });

  test('only runtime/config.ts reads the environment', () => {
    const readers = files.filter((file) => !isTesting(file) && !file.startsWith('infra/') && /process\.env\b/.test(code(file)));
    expect(readers).toEqual(['src/runtime/config.ts']);
  });

  test('only digest/sha256.ts hashes', () => {
    const hashing = files.filter((file) => !isTesting(file) && /\bcreateHash\b|\bsubtle\.digest\b/.test(code(file)));
    expect(hashing).toEqual(['src/digest/sha256.ts']);
  });

  test('imports form no cycle, imports of types included', () => {
    expect(cycles()).toEqual([]);
  });

  test('only projections, log, postgres and training contain SQL', () => {
    expect(files.filter((file) => !isTesting(file) && !MAY_HOLD_SQL.test(file) && SQL.test(code(file)))).toEqual([]);
  });

  test('no file of postgres names a table of a projection', () => {
    const folders = readdirSync(join(ROOT, 'src/projections'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const sql = folders.map(({ name }) => join(ROOT, 'src/projections', name, 'tables.sql')).filter((path) => existsSync(path));
    const tables = sql.flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/^create table (\w+)/gm)].map(([, name]) => name),
    );
    const named = new RegExp(`(['"\`]|\\b(from|join|into|update|table|copy)\\s+)(${tables.join('|')})\\b`);
    expect(tables.length).toBeGreaterThan(30);
    expect(files.filter((file) => file.startsWith('src/postgres/') && !isTesting(file) && named.test(code(file)))).toEqual([]);
  });

  test('every file of the domain is reached from the command line, a worker, HTTP or GraphQL, or has a listed reason', () => {
    const reached = reachedFrom(
      files.filter((file) => !isTesting(file) && /^(src\/cli\/|src\/http\/|workers\/|graphql\/)/.test(file)),
    );
    const unreached = files.filter((file) => file.startsWith('src/domain/') && !isTesting(file) && !reached.has(file));
    expect(unreached).toEqual([]);
  });

  test('the domain imports no library and nothing of Node', () => {
    expect(
      imports.filter(({ file, target }) => file.startsWith('src/domain/') && target.startsWith('package:') && !isTesting(file)),
    ).toEqual([]);
  });
});

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules') && !name.endsWith('.d.ts'))
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

/** Returns each set of files that import each other in a circle (Tarjan). */
function cycles(): readonly (readonly string[])[] {
  const targets = byFile(imports.filter(({ file }) => !isTesting(file)));
  const [index, low, open] = [new Map<string, number>(), new Map<string, number>(), [] as string[]];
  const found: string[][] = [];
  const visit = (file: string): number => {
    const own = index.size;
    index.set(file, own);
    open.push(file);
    let lowest = own;
    for (const { target } of targets.get(file) ?? []) {
      if (!targets.has(target)) continue;
      if (!index.has(target)) lowest = Math.min(lowest, visit(target));
      else if (open.includes(target)) lowest = Math.min(lowest, index.get(target) ?? lowest);
    }
    low.set(file, lowest);
    if (lowest === own) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) found.push(circle.sort());
    }
    return lowest;
  };
  for (const file of targets.keys()) if (!index.has(file)) visit(file);
  return found;
}

/** Returns every file that some files import, directly or through others; what only vector files run does not count. */
function reachedFrom(starts: readonly string[]): ReadonlySet<string> {
  const targets = byFile(imports);
  const reached = new Set<string>();
  const next = [...starts];
  for (let file = next.pop(); file !== undefined; file = next.pop()) {
    if (reached.has(file) || file.startsWith('src/conformance/')) continue;
    reached.add(file);
    next.push(...(targets.get(file) ?? []).map(({ target }) => target));
  }
  return reached;
}

function byFile(some: readonly Import[]): ReadonlyMap<string, readonly Import[]> {
  const grouped = new Map<string, Import[]>();
  for (const one of some) grouped.set(one.file, [...(grouped.get(one.file) ?? []), one]);
  return grouped;
}

function roomOf(file: string): string {
  const [first = '', second = '', third = ''] = file.split('/');
  if (first === 'src' && second === 'usecases') return `${first}/${second}/${third}`;
  return first === 'src' ? `${first}/${second}` : first;
}

function rankOf(file: string): number | undefined {
  const rank = RANKS.findIndex((rooms) => rooms.includes(roomOf(file)));
  return rank < 0 ? undefined : rank;
}

/**
 * Tests, what only tests use, the crash laboratory, what makes the reference, and benchmarks (which measure
 * libraries alone as their baseline) may import anything.
 */
function isTesting(file: string): boolean {
  return (
    /\.(test|contract)\.ts$/.test(file) ||
    file.startsWith('src/testing/') ||
    file.startsWith('graphql/testing/') ||
    file.startsWith('infra/bench/') ||
    file.startsWith('infra/docs/') ||
    file.startsWith('infra/chaos/') ||
    file.startsWith('infra/hostile/') ||
    file.startsWith('infra/agentgym/') ||
    file.startsWith('infra/gates/') ||
    file.includes('/contract/') ||
    /-testing\.ts$/.test(file)
  );
}
