import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { agentocrGlyphsCheck, agentocrRenderCheck } from './checks/agentocr-render.ts';
import { pairsCheck, publishedTreesCheck, revisionRowsCheck, verdictCheck, xtunerCheck } from './checks/revision-rows.ts';
import { rlGaeCheck, rlGigpoCheck, rlGroupBaselinesCheck, rlReinforceCheck } from './checks/rl-advantages.ts';
import { rlBatchingCheck } from './checks/rl-batching.ts';
import {
  rlMaskedStatisticsCheck,
  rlPolicyLossCheck,
  rlRolloutCorrectionCheck,
  rlValueKlEntropyCheck,
} from './checks/rl-policy-loss.ts';
import { rlProcessRewardsCheck, rlRuleRewardsCheck } from './checks/rl-rule-rewards.ts';
import { rlToolProtocolCheck } from './checks/rl-tool-protocol.ts';
import { searchCheck, treeOnDiskCheck } from './checks/search.ts';
import {
  backUpCheck,
  bestChildCheck,
  clientActionCheck,
  contextTruncationCheck,
  parseReactCheck,
  publishedExceptionsCheck,
  publishedReplyCheck,
  pythonRandomCheck,
  snapActionCheck,
  uctCheck,
} from './checks/search-rules.ts';
import { textcraftResetCheck, textcraftSessionsCheck, textcraftWorldCheck } from './checks/textcraft-world.ts';
import { failed, type JudgedCase, skipped, type VectorCheck, type VectorFile } from './vector-check.ts';

interface ConformanceCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Runs the vector files below a folder and writes a line for each case that failed or was skipped, a line for each file that
 * passed, and last `N passed, N failed, N skipped`. @param write receives one line at a time, without its newline. @throws Error
 * when the folder cannot be read.
 */
export async function conformanceMain(folder: string, write: (line: string) => void): Promise<ConformanceCounts> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const perFile = new Map<string, number>();
  const finish = (): void => {
    for (const [file, passed] of perFile) if (passed > 0) write(`passed   ${file}: ${passed}`);
    perFile.clear();
  };
  for await (const { file, case: name, status, detail } of runConformance(folder)) {
    if (!perFile.has(file)) {
      finish();
      perFile.set(file, 0);
    }
    counts[status]++;
    if (status === 'passed') perFile.set(file, (perFile.get(file) ?? 0) + 1);
    else write(`${status.padEnd(8)} ${file}${name === file.split('/').at(-1) ? '' : ` · ${name}`}: ${detail}`);
  }
  finish();
  write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts;
}

/** A judged case with the file that holds it, relative to the folder that was asked for. */
export interface ConformanceResult extends JudgedCase {
  readonly file: string;
}

/**
 * Runs the vector files of a folder (one system's, or all below it; a single file will do) through the public functions, in order
 * of their paths. Every file yields at least one result: what cannot be read or has another shape fails, what no check knows is
 * skipped, and neither stops the run.
 * @throws Error when the folder itself cannot be read.
 */
export async function* runConformance(folder: string, checks: readonly VectorCheck[] = CHECKS): AsyncIterable<ConformanceResult> {
  for (const path of await listFiles(folder)) {
    const file = relative(folder, path) || basename(path);
    for await (const result of judgeFile(path, checks)) yield { file, ...result };
  }
}

async function* judgeFile(path: string, checks: readonly VectorCheck[]): AsyncIterable<JudgedCase> {
  const name = basename(path);
  const check = checks.find(({ fileName }) => fileName.test(name));
  if (check === undefined) {
    yield skipped(
      name,
      name.endsWith('.json')
        ? 'not implemented yet: no check for files of this name'
        : 'no vector file: its name does not end in .json',
    );
    return;
  }
  let cases = 0;
  try {
    const file: VectorFile = {
      name,
      json: await readJson(path),
      readSibling: (sibling) => readJson(join(dirname(path), sibling)),
    };
    for await (const result of check.judge(file)) {
      cases++;
      yield result;
    }
    if (cases === 0) yield failed(name, 'the file holds no case');
  } catch (error) {
    // The shape of the rest is unknown, so the file ends with one failed case; the cases before it stand.
    yield failed(name, error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error));
  }
}

async function listFiles(path: string): Promise<readonly string[]> {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`cannot read ${basename(path)}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${basename(path)} is no JSON: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

/** Every kind of vector file that we can judge: a new kind is one file in `checks/` and one line here. */
export const CHECKS: readonly VectorCheck[] = [
  uctCheck,
  bestChildCheck,
  backUpCheck,
  pythonRandomCheck,
  publishedTreesCheck,
  pairsCheck,
  revisionRowsCheck,
  verdictCheck,
  publishedReplyCheck,
  searchCheck,
  treeOnDiskCheck,
  contextTruncationCheck,
  xtunerCheck,
  textcraftWorldCheck,
  textcraftSessionsCheck,
  textcraftResetCheck,
  publishedExceptionsCheck,
  parseReactCheck,
  clientActionCheck,
  snapActionCheck,
  rlMaskedStatisticsCheck,
  rlGaeCheck,
  rlGroupBaselinesCheck,
  rlReinforceCheck,
  rlGigpoCheck,
  rlPolicyLossCheck,
  rlValueKlEntropyCheck,
  rlRolloutCorrectionCheck,
  rlBatchingCheck,
  agentocrRenderCheck,
  agentocrGlyphsCheck,
  rlProcessRewardsCheck,
  rlRuleRewardsCheck,
  rlToolProtocolCheck,
];
