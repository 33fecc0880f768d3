import type { Command } from 'commander';
import { PUBLISHED_SEED } from '../domain/revision/pair-as-published.ts';
import type { PublishedDataType } from '../domain/revision/rows-as-published.ts';
import { type FaithfullyRevised, reviseFaithfully } from '../usecases/revise/revise-faithfully.ts';
import { exitStopped } from './stoppable.ts';
import { type Lines, print } from './terminal.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

/** What `--mode faithful` takes besides what both modes do. */
export interface FaithfulFlags {
  readonly revise?: '0' | '1';
  readonly dataType?: PublishedDataType;
  readonly out?: string;
  readonly xtuner?: string;
  readonly maxTokenLength?: number;
  readonly force?: boolean;
}

interface Flags extends FaithfulFlags {
  readonly run: string;
  readonly alpha: number;
  readonly beta: number;
  readonly judge?: string;
  readonly environment?: string;
  readonly seed?: number;
  readonly concurrency: number;
}

/** The options of each mode that mean nothing in the other, by their attribute names. */
export const SOUND_ONLY = ['verify', 'signal', 'unparsed', 'beforeBranch'];
export const FAITHFUL_ONLY = ['revise', 'dataType', 'out', 'xtuner', 'maxTokenLength', 'force'];

export const FAITHFUL_HELP = `
--mode faithful writes the rows that Agent-R's path_collection.py writes of the same trees, in its order and in its bytes; only the
sentences of its prompt to the judge and of its reflections are ours, drawn at the same places. It takes the trees of
\`collect --search mcts --compat agent-r\` or of \`import\` of search_results_<n>.json, whole ones alone.
  rules    > alpha and > beta, on the environment's own scale of rewards (ScienceWorld: --alpha 50); every ordered pair;
           Python's shuffle, seeded again for every tree; "good" or "uncertain" anywhere behind the last Judgement: goes on
  judge    the original asks the acting model (--judge self, the default here) again for each good partner of a bad trajectory, at its
           temperature. We ask at temperature 0, so each request is sent once, recorded, and its answer used wherever
           the original would send it again, in a second call of the command too
  record   the answers of the judge (StepJudged, with the verdict as sound mode reads it) and nothing else: the original turns back
           before the branch too, which a recorded revision cannot. Nothing is executed
  files    whole or not at all; --xtuner has them by the original's conversion, which trains on the bad steps as well`;

/** Runs `espalier revise --mode faithful`. @throws Error for options that do not go together. */
export async function reviseFaithfullyByFlags(command: Command, flags: Flags): Promise<void> {
  const { run: runId, alpha, beta, dataType = 'centric', out, xtuner = null, maxTokenLength } = flags;
  const revise = flags.revise !== '0';
  if (out === undefined) throw new Error('--mode faithful writes rows to a file: name it with --out FILE');
  refuseIdleJudge(flags, revise, dataType);
  await withProjector('revise', async ({ platform, signal, settle, line }) => {
    const revised = await reviseFaithfully(platform, {
      runId,
      out,
      xtuner,
      existing: flags.force ? 'replace' : 'refuse',
      plan: { alpha, beta, dataType, revise, seed: flags.seed ?? PUBLISHED_SEED, maxTokenLength },
      judge: flags.judge ?? 'self',
      environment: flags.environment ?? null,
      concurrency: flags.concurrency,
      signal,
      progress: (so) => line.show(`revising: ${so.trees}/${so.plannedTrees} trees, ${so.rows} rows, ${so.asked} steps judged`),
    });
    line.end();
    print(
      wantsJson(command)
        ? JSON.stringify({ run: runId, state: revised.files ? 'completed' : 'stopped', out, xtuner, ...revised })
        : describeRows(runId, out, xtuner, revised),
    );
    if (!revised.files) exitStopped();
    await settle();
  });
}

function refuseIdleJudge({ judge, environment }: Flags, revise: boolean, dataType: PublishedDataType): void {
  const quiet = !revise ? '--revise 0' : dataType === 'good' ? '--data-type good' : null;
  if (quiet === null) return;
  for (const [option, value] of Object.entries({ judge, environment }))
    if (value !== undefined) throw new Error(`${quiet} asks nobody: leave out --${option}`);
}

function describeRows(runId: string, out: string, xtuner: string | null, revised: FaithfullyRevised): Lines {
  const { trees, plannedTrees, unfinished, skipped, found, accepted, rows, judged, asked, judge, files } = revised;
  const state = files ? 'completed' : 'stopped';
  const left = unfinished > 0 ? `; ${unfinished} not searched to the end` : '';
  const by = judge === null ? 'nobody was asked' : `by ${judge}: ${judged} steps, ${asked} asked now`;
  return [
    `run ${runId} revised as published, ${state}: ${trees} of ${plannedTrees} trees, ${skipped} without reward${left}`,
    `  pairs      ${found} far enough apart, ${accepted} with a good trajectory`,
    `  judged     ${by}`,
    ...(files
      ? [
          `  rows       ${rows} in ${out}, ${files.out.bytes} bytes, sha256 ${files.out.sha256}`,
          ...(files.xtuner ? [`  xtuner     ${xtuner}, ${files.xtuner.bytes} bytes, sha256 ${files.xtuner.sha256}`] : []),
        ]
      : ['  rows       none was written; continue with the same command']),
  ];
}
