import { Link } from '@tanstack/react-router';
import { datasets as datasetsOperation } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { instant, short } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';
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
      <Shown of={answer}>
        {({ datasets }) =>
          datasets.nodes.length === 0 ? (
            <p className="empty">
              No dataset is released. <code>npx espalier dataset release --help</code>
            </p>
          ) : (
            <div className="scroll-x" role="region" aria-label="Releases" tabIndex={0}>
              <table className="rows">
                <thead>
                  <tr>
                    <th scope="col">release</th>
                    <th scope="col">format</th>
                    <th scope="col">holds</th>
                    <th scope="col" className="number">
                      bytes
                    </th>
                    <th scope="col">released</th>
                  </tr>
                </thead>
                <tbody>
                  {datasets.nodes.map((each) => (
                    <tr key={each.id}>
                      <td>
                        <Link data-item to="/view/dataset/$id" params={{ id: each.id }}>
                          <bdi>{`${visible(each.name)}@${each.version}`}</bdi>
                        </Link>
                        {each.withdrawnAt ? <div className="reason">withdrawn: {visible(each.withdrawReason ?? '')}</div> : null}
                      </td>
                      <td>
                        <bdi>{visible(each.format)}</bdi>
                      </td>
                      <td>
                        <Counts counts={each.counts} />
                      </td>
                      <td className="number">{short(each.bytes)}</td>
                      <td>{instant(each.releasedAt)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
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
