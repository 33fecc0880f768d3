import { join } from 'node:path';
import { afterRelease, beforeRelease, placesToRelease } from './external-events.ts';
import type { Answer } from './record-file.ts';

/** The program that makes a record. */
export interface Espalier {
  /** Runs a command with `--json` to its end. */
  run(args: readonly string[]): Promise<Answer>;
  /** Appends events to its log as its own appender does. */
  append(events: readonly object[]): Promise<void>;
}

/** The runs of the record, by what they are about. */
export const RUNS = {
  grown: 'aaaaaaaa-0000-4000-8000-000000000001',
  drawn: 'aaaaaaaa-0000-4000-8000-000000000002',
  searched: 'aaaaaaaa-0000-4000-8000-000000000003',
  echoed: 'aaaaaaaa-0000-4000-8000-000000000004',
  measured: 'aaaaaaaa-0000-4000-8000-000000000005',
} as const;

/** What is done over from the record; each appends what it found. */
export const REPLAYS: readonly string[] = [
  ...['grown', 'drawn', 'searched'].map((run) => `replay environment --run ${RUNS[run as keyof typeof RUNS]}`),
  `replay images --run ${RUNS.drawn}`,
  `replay scores --run ${RUNS.grown}`,
  `replay scores --run ${RUNS.drawn}`,
  `replay scores --run ${RUNS.drawn} --lambda 0.5 --mu 0.1`,
  `replay scores --run ${RUNS.searched} --alpha 0.4 --beta 0.9`,
  'replay training --policy learner',
  'replay projections',
];

/** The check of the whole record; it counts the events. FOLDER is the folder that released files lie in. */
export const VERIFY = 'verify FOLDER/mined.jsonl';

/** What only reads, and does not count what was appended since. */
export const READS: readonly string[] = [
  'ledger',
  'dataset list',
  'recall --scorer answer-f1@1',
  'trace learner#0',
  'trace mined@2#1',
  `diff-rewards --run ${RUNS.drawn}`,
  `compression-sweep --run ${RUNS.drawn}`,
];

/** Exports of which the bytes are compared. */
export const EXPORTS: readonly string[] = [
  `export --format openai --run ${RUNS.grown}`,
  `export --format parquet --run ${RUNS.grown}`,
  `export --format verl --layout step --run ${RUNS.drawn}`,
  `export --format trl-grpo --run ${RUNS.drawn}`,
  `export --format agent-r --data revisions --run ${RUNS.searched}`,
  `export --format dpo --data pairs --run ${RUNS.searched}`,
  'export --format batches --policy learner',
];

/** Makes the record: every kind of run, rewards that are revised, training, releases, and events that wait in quarantine. */
export async function recordEverything(espalier: Espalier, folder: string): Promise<void> {
  const run = async (line: string, ...more: readonly string[]) => {
    const { code, said } = await espalier.run([...line.split(' '), ...more]);
    if (code !== 0) throw new Error(`${line} ended with ${code}`);
    return said;
  };
  await run(
    `collect --run ${RUNS.grown} --tasks 6 --rollouts 4 --policy planner:0.4 --branching anywhere --max-steps 12 --seed 5`,
  );
  const image = '--prompt image --compression tokens-saved';
  await run(`collect --run ${RUNS.drawn} --environment search-qa --policy planner:0.4 --tasks 3 --rollouts 3 ${image}`);
  await run(`score --run ${RUNS.drawn} --scorer answer-f1@1`);
  await run(`score --run ${RUNS.drawn} --scorer qa-em-format@report-1 --component environment`);
  const search = '--search mcts --iterations 4 --candidates 3 --max-depth 6';
  await run(`collect --run ${RUNS.searched} --tasks 1,45 --policy planner:0.5 --seed 3 ${search}`);
  await run(`revise --run ${RUNS.searched}`);
  await run(`collect --run ${RUNS.echoed} --environment echo --tasks 2 --rollouts 2`);
  const updates = '--updates 3 --groups 2 --group 3 --keep-zero-variance --test-tasks 4 --rollouts 1 --max-steps 4';
  await run(`train --policy learner --environment search-qa ${updates}`);
  await run(`evaluate --run ${RUNS.measured} --environment search-qa --policy live:learner --tasks 4 --max-steps 4`);
  const release = `dataset release --name mined --run ${RUNS.searched} --data`;
  await run(`${release} good --out`, join(folder, 'good.jsonl'));
  await run(`${release} both --out`, join(folder, 'mined.jsonl'));
  await run('dataset withdraw mined@1 --reason', 'it holds no revisions');
  await espalier.append(beforeRelease);
  await run('verify'); // waits until all is folded
  for (const place of placesToRelease(await run('quarantine list'))) await run(`quarantine release ${place}`);
  await espalier.append(afterRelease);
  await run('verify');
}
