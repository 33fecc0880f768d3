import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { startProcess } from '../../src/testing/worker-process.ts';
import { projectsProperty } from './projects.ts';
import { tryRecord } from './record.ts';
import { installSchemathesis, runSchemathesis } from './schemathesis.ts';
import { trySearch } from './search.ts';
import { repliesProperty, socketsProperty } from './sockets.ts';
import type { Stage } from './stage.ts';

/** How much of the time of a campaign each part has. */
const PARTS = {
  openapi: 0.3,
  graphql: 0.15,
  policy: 0.05,
  sockets: 0.15,
  replies: 0.05,
  projects: 0.1,
  readers: 0.1,
  record: 0.05,
  search: 0.05,
} as const;
export type Part = keyof typeof PARTS;
export const parts = Object.keys(PARTS) as readonly Part[];

/** Whether Schemathesis tries it. */
export function isSchemaPart(part: Part): boolean {
  return part === 'openapi' || part === 'graphql' || part === 'policy';
}

export interface Campaign {
  /** Of all parts together; Schemathesis takes longer to begin and to end. */
  readonly seconds: number;
  readonly seed: number;
  readonly only?: readonly Part[];
}
export interface PartResult {
  readonly part: Part;
  readonly cases: number;
  readonly seconds: number;
  /** What did not hold, with the case; none when all held. */
  readonly fault: string | undefined;
}

const LEAST_S = { schema: 20, other: 5 }; // Schemathesis reads the schema within its time

/** Tries every part in turn, while good requests are sent to the same servers. The same seed yields the same cases. */
export async function runCampaign(
  stage: Stage,
  { seconds, seed, only = parts }: Campaign,
  onResult: (result: PartResult) => void = () => undefined,
): Promise<readonly PartResult[]> {
  const ids = [...new Set(stage.recorded.builder.events.flatMap(({ id, stream }) => [id, stream]))].slice(0, 50);
  const all = only.reduce((sum, part) => sum + PARTS[part], 0);
  const results: PartResult[] = [];
  for (const part of only) {
    const least = isSchemaPart(part) ? LEAST_S.schema : LEAST_S.other;
    const limit = Math.max(least, Math.round((seconds * PARTS[part]) / all));
    const schema = {
      openapi: `${stage.url.api}/openapi.json`,
      graphql: `${stage.url.api}/graphql`,
      policy: `${stage.url.policy}/openapi.json`,
    };
    const began = performance.now();
    // its servers are killed, and its conflicts are reported in their logs
    const trying =
      part === 'record'
        ? tryRecord(stage, seed, limit).then((cases) => ({ cases, fault: undefined }))
        : part === 'search'
          ? trySearch(stage.platform, seed, limit).then((cases) => ({ cases, fault: undefined }))
          : stage.watch(async (): Promise<Tried> => {
              switch (part) {
                case 'openapi':
                case 'graphql':
                case 'policy':
                  return runSchemathesis(await installSchemathesis(), { schema: schema[part], seed, seconds: limit, ids });
                case 'sockets':
                  return check(socketsProperty(stage), seed, limit);
                case 'replies':
                  return check(repliesProperty(stage), seed, limit);
                case 'projects':
                  return check(await projectsProperty(stage), seed, limit);
                case 'readers':
                  return readFiles(stage, seed, limit);
                default:
                  return part satisfies never;
              }
            });
    let tried = await trying.catch((error: Error): Tried => ({ cases: 0, fault: error.message }));
    if (tried.cases === 0) tried = { cases: 0, fault: tried.fault ?? `no case was tried in ${limit} s` };
    const result = { part, seconds: (performance.now() - began) / 1_000, ...tried };
    onResult(result);
    results.push(result);
  }
  return results;
}

type Tried = Pick<PartResult, 'cases' | 'fault'>;

/** Draws cases for so many seconds. */
async function check<T>(property: fc.IAsyncProperty<T>, seed: number, seconds: number): Promise<Tried> {
  const report = await fc.check(property, {
    seed,
    numRuns: 1_000_000,
    interruptAfterTimeLimit: seconds * 1_000,
    markInterruptAsFailure: false,
  });
  const counterexample = fc.stringify(report.counterexample).slice(0, 2_000);
  const fault = report.failed ? `${report.errorInstance}; case ${counterexample}` : undefined;
  return { cases: report.numRuns, fault };
}

const STUCK_MS = 30_000;
const START_MS = 120_000;
const HEAP_MB = 1_024; // a bomb that no limit of ours stops ends the process

/** Gives hostile files to readers in another process, and ends it when one case takes too long. */
async function readFiles({ platform, env }: Stage, seed: number, seconds: number): Promise<Tried> {
  const caseFile = join(platform.home, 'case');
  const args = [String(seed), String(seconds * 1_000), caseFile];
  const child = startProcess('infra/hostile/read-hostile-files.ts', args, {
    ...env,
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
  });
  let code: number | string | undefined;
  void child.ended.then((end) => {
    code = end;
  });
  const began = Date.now();
  while (code === undefined) {
    const since = await stat(caseFile).then(
      ({ mtimeMs }) => mtimeMs + STUCK_MS,
      () => began + START_MS,
    );
    if (Date.now() > since) child.kill('SIGKILL');
    await Promise.race([child.ended, delay(1_000)]);
  }
  if (code !== 0) {
    const current = await readFile(caseFile, 'utf8').catch(() => 'none');
    return { cases: 0, fault: `the process ended with ${code}: ${child.stderr().slice(-1_000)}; case ${current}` };
  }
  const { cases, fault } = JSON.parse(child.stdout()) as { cases: number; fault: string | null }; // as it is printed
  return { cases, fault: fault ?? undefined };
}
