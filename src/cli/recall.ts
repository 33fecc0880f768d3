import type { Command } from 'commander';
import type { Moment } from '../projections/as-of/moment.ts';
import { type RecallRequest, seedOf } from '../projections/lineage/recall-seeds.ts';
import { readTouched } from '../projections/lineage/recall-touched.ts';
import type { Touched } from '../projections/lineage/touched.ts';
import { AS_OF, atMoment, parseMoment } from './at-moment.ts';
import { checkedId } from './collect.ts';
import { type Lines, print, table } from './terminal.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

const SHOWN = 50; // lines of each list; --json has all

interface RecallFlags {
  readonly scorer?: string;
  readonly trajectory?: string;
  readonly step?: string;
  readonly tree?: string;
  readonly task?: string;
  readonly run?: string;
  readonly label?: string;
  readonly asOf?: Moment;
}

/** `espalier recall`: lists what must be looked at again when something that was recorded turns out to be wrong. */
export function addRecall(program: Command): void {
  const command = program
    .command('recall')
    .option('--scorer <name@revision>', 'a wrong scorer, in one revision or all')
    .option('--trajectory <rollout>', 'a rollout')
    .option('--step <id>', 'a step: the rollouts with it on their path')
    .option('--tree <id>', 'the tree of that rollout or step, if several trees have its id')
    .option('--task <id>', 'a task: all of its trees')
    .option('--run <id>', 'a run')
    .option('--label <text>', 'everything with this label')
    .option('--as-of <moment>', AS_OF, parseMoment);
  command.action((flags: RecallFlags) => {
    const asked = askedOf(flags);
    return withProjector('recall', async ({ platform, signal, settle }) => {
      await settle();
      const touched = await atMoment(platform, flags.asOf, 'all', signal, async (source) =>
        readTouched(source, await seedOf(source, asked)),
      );
      print(wantsJson(command) ? JSON.stringify({ asked, ...touched }) : describeTouched(touched));
    });
  });
}

/** Reads what is to be recalled. @throws Error unless exactly one thing is named, and it can be an id. */
function askedOf({ scorer, trajectory, step, tree, task, run, label }: RecallFlags): RecallRequest {
  if ([scorer, trajectory, step, task, run, label].filter((each) => each !== undefined).length !== 1)
    throw new Error('name one thing to recall: --scorer, --trajectory, --step, --task, --run or --label');
  if (scorer !== undefined) {
    const at = scorer.lastIndexOf('@');
    return at > 0
      ? { kind: 'scorer', name: scorer.slice(0, at), revision: scorer.slice(at + 1) }
      : { kind: 'scorer', name: scorer, revision: null };
  }
  const of = tree === undefined ? {} : { treeId: checkedId('--tree', tree) };
  if (trajectory !== undefined) return { kind: 'trajectory', rolloutId: checkedId('--trajectory', trajectory), ...of };
  if (step !== undefined) return { kind: 'step', stepId: checkedId('--step', step), ...of };
  if (tree !== undefined) throw new Error('--tree is of --trajectory or --step');
  if (task !== undefined) return { kind: 'task', taskId: checkedId('--task', task) };
  if (label !== undefined) return { kind: 'label', label };
  return { kind: 'run', runId: checkedId('--run', run ?? '') };
}

/** Lays out what is touched: a line of counts, then each list that is not empty. */
export function describeTouched({ runs, trees, rollouts, datasets, batches, versions, evaluations }: Touched): Lines {
  const begins = rollouts > 0 ? `${many(rollouts, 'rollout')} in ${many(trees, 'tree')} of ${many(runs.length, 'run')} → ` : '';
  const head = `touched: ${begins}${many(datasets.length, 'release')}, ${many(batches.length, 'batch', 'batches')}, ${many(versions.length, 'policy version')}, ${many(evaluations.length, 'evaluation')}`;
  const lists: readonly [readonly string[], readonly (readonly (string | number)[])[]][] = [
    [
      ['release', 'examples', 'state', 'id'],
      datasets.map((d) => [
        `${d.name}@${d.version}`,
        d.examples ?? 'unknown',
        d.withdrawn ? 'withdrawn' : 'in force',
        d.datasetId,
      ]),
    ],
    [
      ['batch', 'samples', 'state', 'id'],
      batches.map((b) => [`${b.policyId}#${b.ordinal}`, b.samples, b.trained ? 'trained' : 'not trained', b.batchId]),
    ],
    [['policy version', 'how'], versions.map((v) => [`${v.policyId}@${v.version}`, v.how])],
    [
      ['evaluation of', 'how', 'mean return', 'run'],
      evaluations.map((e) => [`${e.policyId}@${e.version}`, e.how, e.meanReturn?.toFixed(3) ?? '–', e.runId]),
    ],
  ];
  return [head, ...lists.filter(([, rows]) => rows.length > 0).map(([header, rows]) => ['', layOut(header, rows)])];
}

function many(n: number, one: string, more = `${one}s`): string {
  return `${n} ${n === 1 ? one : more}`;
}

function layOut(header: readonly string[], rows: readonly (readonly (string | number)[])[]): Lines {
  const more = rows.length > SHOWN ? [`… ${rows.length - SHOWN} more; --json has all`] : [];
  return [table(header, rows.slice(0, SHOWN)), more];
}
