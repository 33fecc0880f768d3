import type { OperationsPageQuery } from '../../../graphql/studio/generated/operations.ts';
import { whole } from '../parts/format.ts';
import { Table } from '../parts/table.tsx';

const SEEN = 5; // rows that the table shows at once

type Lags = OperationsPageQuery['lag'];

interface Partition {
  readonly name: string;
  readonly end: number;
  /** Of the projection that is behind the most. */
  readonly lag: number;
  readonly slowest: readonly string[];
  readonly projections: number;
}

/** The partitions of the log: where each ends, and which projections are behind there. */
export function Partitions({ of }: { readonly of: Lags }) {
  const partitions = partitionsOf(of);
  return (
    <section aria-labelledby="partitions">
      <h2 id="partitions">{`Partitions: ${whole(partitions.length)}`}</h2>
      {partitions.length > SEEN ? <p className="faint">The furthest behind first; the table scrolls through all.</p> : null}
      <Table
        label="Partitions"
        tall
        rows={partitions}
        keyOf={({ name }) => name}
        columns={[
          ['partition', ({ name }) => name],
          ['records', ({ end }) => whole(end), 'number'],
          ['behind', ({ lag }) => whole(lag), 'number'],
          [
            'the furthest behind',
            ({ lag, slowest, projections }) =>
              lag === 0 ? <span className="faint">{`none of ${projections} projections`}</span> : slowest.join(', '),
          ],
        ]}
      />
    </section>
  );
}

/** What is furthest behind first, then what holds the most records. */
function partitionsOf(lags: Lags): readonly Partition[] {
  const found = new Map<string, Partition>();
  for (const { projection, partitions } of lags)
    for (const { topic, partition, end, lag } of partitions) {
      const name = `${topic}.${partition}`;
      const { lag: most = 0, slowest = [], projections = 0 } = found.get(name) ?? {};
      const behind = lag > most ? [projection] : lag === most && lag > 0 ? [...slowest, projection] : slowest;
      found.set(name, { name, end, lag: Math.max(lag, most), slowest: behind, projections: projections + 1 });
    }
  return [...found.values()].sort(
    (a, b) => b.lag - a.lag || b.end - a.end || a.name.localeCompare(b.name, 'en', { numeric: true }),
  );
}
