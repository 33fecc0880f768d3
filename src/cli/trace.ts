import type { Command } from 'commander';
import type { Moment } from '../projections/as-of/moment.ts';
import type { Touched } from '../projections/lineage/touched.ts';
import type { Links } from '../projections/lineage/trace-links.ts';
import { type Trace, traceRecord } from '../usecases/lineage/trace-record.ts';
import { AS_OF, atMoment, parseMoment } from './at-moment.ts';
import { checkedId } from './collect.ts';
import { describeTouched } from './recall.ts';
import { type Lines, print } from './terminal.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

/** `espalier trace ID`: shows what an id names, which events made it, where it came from and what resulted from it. */
export function addTrace(program: Command): void {
  const command = program
    .command('trace')
    .argument(
      '<id>',
      'of an event, run, tree, step, rollout, reward, task, revision, dataset, batch or checkpoint; the SHA-256 of an image, segment, render spec, weights or manifest; NAME@V of a policy or release, NAME@V#LINE of a line of a release, POLICY#N of a batch',
    );
  command.option('--tree <id>', 'its tree, if several trees have its id').option('--as-of <moment>', AS_OF, parseMoment);
  command.action((id: string, { asOf, tree }: { readonly asOf?: Moment; readonly tree?: string }) => {
    const inTree = tree === undefined ? null : checkedId('--tree', tree);
    return withProjector('trace', async ({ platform, signal, settle }) => {
      await settle();
      const trace = await atMoment(platform, asOf, 'all', signal, (source) => traceRecord(source, id, inTree));
      print(
        wantsJson(command)
          ? JSON.stringify({ ...trace, touched: trace.touched && cutTouched(trace.touched) })
          : describeTrace(trace),
      );
    });
  });
}

const SHOWN = 50;

/** Cuts the lists of what is touched, and keeps their sizes; `espalier recall` returns them whole. */
function cutTouched({ trees, rollouts, ...lists }: Touched) {
  const cut = <T>(list: readonly T[]) => ({ total: list.length, first: list.slice(0, SHOWN) });
  const { runs, datasets, batches, versions, evaluations } = lists;
  return {
    trees,
    rollouts,
    runs: cut(runs),
    datasets: cut(datasets),
    batches: cut(batches),
    versions: cut(versions),
    evaluations: cut(evaluations),
  };
}

/** Writes a trace: what it is, its events, backward, forward. */
export function describeTrace({ kind, id, title, madeBy, from, usedBy, touched }: Trace): Lines {
  const events = madeBy.first.map(
    ({ eventId, type, place, occurredAt }) => `  ${type} ${eventId} at ${place}, ${occurredAt.toISOString()}`,
  );
  return [
    `${kind} ${id}: ${title}`,
    ...(madeBy.total > 0
      ? [`made by ${madeBy.total} ${madeBy.total === 1 ? 'event' : 'events'}`, ...events, ...more(madeBy)]
      : []),
    ...(from.length > 0 ? ['came from', ...from.flatMap(describeLinks)] : []),
    ...(usedBy.length > 0 ? ['used by', ...usedBy.flatMap(describeLinks)] : []),
    ...(touched ? [describeTouched(touched)] : []),
  ];
}

function describeLinks(links: Links): readonly string[] {
  const lines = links.first.map(({ id, text }) => `    ${id}${text === '' ? '' : `  ${text.replaceAll(/\s+/g, ' ')}`}`);
  return [`  ${links.relation}: ${links.total}`, ...lines, ...more(links)];
}

function more({ total, first }: { readonly total: number; readonly first: readonly unknown[] }): readonly string[] {
  return total > first.length ? [`    … ${total - first.length} more`] : [];
}
