import { datasets as datasetsOperation } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { instant, short } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';
import { TraceForm } from './trace-form.tsx';

const variables = { first: 200 };

/** The releases of datasets, the latest first, and the way to the lineage of anything. */
export function DataPage() {
  const answer = useAsk(datasetsOperation, variables);
  return (
    <>
      <PageHead title="Data">
        <CopyAs operation={datasetsOperation} variables={variables} command="espalier dataset list" />
      </PageHead>
      <TraceForm />
      <Query of={answer}>
        {({ datasets }) =>
          datasets.nodes.length === 0 ? (
            <p className="empty">
              No dataset is released. <code>npx espalier dataset release --help</code>
            </p>
          ) : (
            <Table
              label="Releases"
              rows={datasets.nodes}
              keyOf={({ id }) => id}
              columns={[
                [
                  'release',
                  (each) => (
                    <>
                      <Link data-item to="/view/dataset/$id" params={{ id: each.id }}>
                        <bdi>{`${visible(each.name)}@${each.version}`}</bdi>
                      </Link>
                      {each.withdrawnAt ? <div className="reason">withdrawn: {visible(each.withdrawReason ?? '')}</div> : null}
                    </>
                  ),
                ],
                ['format', ({ format }) => <bdi>{visible(format)}</bdi>],
                ['holds', ({ counts }) => <Counts counts={counts} />],
                ['bytes', ({ bytes }) => short(bytes), 'number'],
                ['released', ({ releasedAt }) => instant(releasedAt)],
              ]}
            />
          )
        }
      </Query>
    </>
  );
}

/** The numbers of an object of counts. */
export function Counts({ counts }: { readonly counts: unknown }) {
  const numbers = Object.entries((counts ?? {}) as Readonly<Record<string, unknown>>).filter(
    ([, value]) => typeof value === 'number',
  );
  return <span className="faint counts">{numbers.map(([name, value]) => `${visible(name)} ${String(value)}`).join(', ')}</span>;
}
