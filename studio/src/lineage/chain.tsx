import type { LineagePageQuery } from '../../../graphql/studio/generated/operations.ts';
import { whole } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';

type Trace = NonNullable<LineagePageQuery['trace']>;

interface Station {
  readonly name: string;
  readonly count: number | null;
  /** Where on the page it is listed. */
  readonly anchor?: string;
  readonly here?: true;
}

/** The way of what is traced through the record: from what it was made of to the evaluations that it went into. */
export function Chain({ trace }: { readonly trace: Trace }) {
  const stations = stationsOf(trace);
  return (
    <nav aria-label="The way through the record" className="scroll-x">
      <ol className="chain">
        {stations.map(({ name, count, anchor, here }) => (
          <li key={name} className={here ? 'chain-here' : ''} aria-current={here ? 'true' : undefined}>
            {anchor === undefined ? (
              <span>{name}</span>
            ) : (
              <a href={`#${anchor}`} data-item>
                {name}
              </a>
            )}
            {count === null ? null : <b>{whole(count)}</b>}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** What is not there is left out; what came before the traced thing stands before it. */
function stationsOf({ kind, from, madeBy, touched }: Trace): readonly Station[] {
  const stations: readonly Station[] = [
    ...from.map(({ relation, total }) => ({ name: visible(relation), count: total, anchor: 'made-of' })),
    { name: 'events', count: madeBy.total, anchor: 'events' },
    { name: `this ${kind}`, count: null, here: true },
    ...(touched
      ? [
          { name: 'trees', count: touched.trees },
          { name: 'rollouts', count: touched.rollouts },
          { name: 'releases', count: touched.datasetsTotal, anchor: 'touched' },
          { name: 'batches', count: touched.batchesTotal, anchor: 'touched' },
          { name: 'policy versions', count: touched.versionsTotal, anchor: 'touched' },
          { name: 'evaluations', count: touched.evaluationsTotal, anchor: 'touched' },
        ]
      : []),
  ];
  return stations.filter(({ count }) => count === null || count > 0);
}
