import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const VERSION = '0.316.0'; // of the module of Prometheus 3.16
const FOLDER = join(homedir(), '.cache/espalier', `promtool-${VERSION}`);

/** Returns Prometheus' own checker of rules, built by Go once per machine, in some minutes. @throws where there is no Go. */
export async function promtool(): Promise<string> {
  const program = join(FOLDER, 'promtool');
  if (existsSync(program)) return program;
  const env = { ...process.env, GOBIN: FOLDER, GOFLAGS: '-p=2' };
  await run('go', ['install', `github.com/prometheus/prometheus/cmd/promtool@v${VERSION}`], { env, maxBuffer: 1 << 28 });
  return program;
}

/** Why it can neither be found nor built here; undefined where it can. */
export async function whyNoPromtool(): Promise<string | undefined> {
  if (existsSync(join(FOLDER, 'promtool'))) return undefined;
  return run('go', ['version']).then(
    () => undefined,
    () => 'no Go to build promtool by',
  );
}
