import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LOCAL } from '../../src/testing/local-token.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const INSTALL_MS = 300_000;

/**
 * Returns the program `schemathesis`, installed in a virtual environment outside of the checkout that is named after the pins.
 * @throws Error with the remedy when it cannot be installed.
 */
export async function installSchemathesis(): Promise<string> {
  const requirements = join(FOLDER, 'requirements.txt');
  const pins = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const venv = join(cache, 'espalier', `hostile-${pins}`);
  if (existsSync(join(venv, 'complete'))) return join(venv, 'bin/schemathesis');
  try {
    await execute('python3', ['-m', 'venv', '--clear', venv], { limitMs: INSTALL_MS });
    const install = ['install', '--quiet', '--disable-pip-version-check', '-r', requirements];
    await execute(join(venv, 'bin/pip'), install, { limitMs: INSTALL_MS });
  } catch (cause) {
    throw new Error(
      `Schemathesis cannot be installed; it needs python3 (3.10 or later) with venv, and a package index: ${(cause as Error).message}`,
      { cause },
    );
  }
  await writeFile(join(venv, 'complete'), '');
  return join(venv, 'bin/schemathesis');
}

export interface SchemaRun {
  /** The address of an OpenAPI document or of a GraphQL endpoint. */
  readonly schema: string;
  readonly seed: number;
  readonly seconds: number;
  /** Ids that are used in place of some generated strings. */
  readonly ids: readonly string[];
}

export interface SchemaReport {
  readonly cases: number;
  /** What Schemathesis prints of failures, with the requests; none when all held. */
  readonly fault: string | undefined;
}

/** Requests what a schema allows, and what it does not; returns how many cases and what failed. */
export async function runSchemathesis(program: string, { schema, seed, seconds, ids }: SchemaRun): Promise<SchemaReport> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-schemathesis-'));
  try {
    const isGraphql = schema.endsWith('/graphql');
    await writeFile(join(folder, 'schemathesis.toml'), configOf(ids, isGraphql));
    const args = [
      ...['--config-file', 'schemathesis.toml', 'run', schema, '-H', `Authorization: ${LOCAL.authorization}`],
      ...['--seed', String(seed), '--max-time', String(seconds), '--max-examples', '20', '--request-timeout', '60'],
      ...['--phases', isGraphql ? 'fuzzing' : 'coverage,fuzzing,stateful', '--no-shrink', '--warnings', 'off', '--no-color'],
      ...['--generation-database', 'none', '--report', 'json', '--report-dir', '.'],
    ];
    const env = { SCHEMATHESIS_HOOKS: join(FOLDER, 'hooks.py') };
    const { code, stdout } = await execute(program, args, { limitMs: (2 * seconds + 120) * 1_000, cwd: folder, env, any: true });
    const file = (await readdir(folder)).find((name) => /^json-.*\.json$/.test(name));
    const report = file === undefined ? '' : await readFile(join(folder, file), 'utf8');
    const fault = code === 0 ? undefined : stdout.slice(-8_000);
    if (report === '') return { cases: 0, fault: fault ?? 'Schemathesis wrote no report' };
    return { cases: (JSON.parse(report) as { test_cases: { generated: number } }).test_cases.generated, fault };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function configOf(ids: readonly string[], isGraphql: boolean): string {
  return `[dictionaries.ids]
values = ${JSON.stringify(ids)}

[generation.dictionaries.string]
dictionary = "ids"
probability = 0.3

[checks]
# what a schema allows is refused for the state of the record alone
positive_data_acceptance.expected-statuses = ["2xx", "304", "401", "403", "404", "409", "410", "422", "429", "431", "502", "503", "504"]
${isGraphql ? 'not_a_server_error.enabled = false # hooks.py has one that knows our codes' : ''}

# the covering cases of a union of 50 types of events take more than ten minutes to compute
[[operations]]
include-path = "/v1/events"
phases.coverage.enabled = false

# passes on what the model server replies
[[operations]]
include-path-regex = "^/v1/proxy/.*(completions|responses|[*][}])$"
checks.response_schema_conformance.enabled = false
checks.positive_data_acceptance.enabled = false

# what is passed on takes its methods at every path below the proxy, as the path with the wildcard says
[[operations]]
include-path-regex = "^/v1/proxy/"
checks.allow_header_conformance.enabled = false

# a document that is no operation of the schema is 400 by the specification of GraphQL over HTTP
[[operations]]
include-path = "/graphql"
checks.positive_data_acceptance.enabled = false
`;
}

interface Execution {
  readonly limitMs: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Takes any exit code. */
  readonly any?: boolean;
}

function execute(
  file: string,
  args: readonly string[],
  { limitMs, cwd, env = {}, any = false }: Execution,
): Promise<{ readonly code: number; readonly stdout: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      timeout: limitMs,
      env: { ...process.env, ...env },
      maxBuffer: 2 ** 28,
      ...(cwd === undefined ? {} : { cwd }),
    };
    execFile(file, args, options, (error, stdout, stderr) => {
      if (!error || (any && typeof error.code === 'number')) resolve({ code: Number(error?.code ?? 0), stdout: stdout + stderr });
      else reject(new Error(`${file} ${args[0]}: ${stderr.slice(-1_000) || error.message}`));
    });
  });
}
