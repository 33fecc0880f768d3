import { Link, useParams } from '@tanstack/react-router';
import { type DatasetPageQuery, datasetPage } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { decimal, instant, shortId, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';
import { AnnotateButton, Annotations } from '../review/annotations.tsx';
import { type Annotatable, annotatable } from '../review/open-annotator.ts';
import { Counts } from './datasets.tsx';
import { RowText } from './row-text.tsx';

type Dataset = NonNullable<DatasetPageQuery['dataset']>;
const FIRST = 100;

/** One release: how it was made, and each of its rows with what it was made of. */
export function DatasetPage() {
  const { id } = useParams({ from: '/view/dataset/$id' });
  const pages = usePages(id);
  const variables = { id, first: FIRST, ...pages.variables };
  const answer = useAsk(datasetPage, variables);
  return (
    <Shown of={answer}>
      {({ dataset }) =>
        dataset ? (
          <>
            <PageHead title={`${visible(dataset.name)}@${dataset.version}`} trail={<Link to="/view/data">Data</Link>}>
              <Link className="button" to="/view/lineage/$id" params={{ id: dataset.id }}>
                Lineage
              </Link>
              <CopyAs
                operation={datasetPage}
                variables={variables}
                command={`espalier trace ${dataset.name}@${dataset.version}`}
              />
            </PageHead>
            {dataset.withdrawnAt ? (
              <p className="notice notice-bad">
                <strong>Withdrawn {instant(dataset.withdrawnAt)}.</strong> {visible(dataset.withdrawReason ?? '')}
              </p>
            ) : null}
            <About dataset={dataset} />
            <h2>{`Rows: ${whole(dataset.examples.totalCount)}`}</h2>
            <Rows dataset={dataset.id} examples={dataset.examples.nodes} />
            <Paging pages={pages} info={dataset.examples.pageInfo} of="rows" />
          </>
        ) : (
          <p className="empty">No release has the id {id} at this moment of the record.</p>
        )
      }
    </Shown>
  );
}

function About({ dataset }: { readonly dataset: Dataset }) {
  return (
    <dl className="facts">
      <dt>format</dt>
      <dd>{`${visible(dataset.format)} ${dataset.formatVersion}`}</dd>
      <dt>holds</dt>
      <dd>
        <Counts counts={dataset.counts} />
      </dd>
      <dt>SHA-256</dt>
      <dd>
        <code>{dataset.sha256}</code>
      </dd>
      <dt>runs</dt>
      <dd>
        {dataset.runs.map((run) => (
          <span key={run.id}>
            <Link to="/view/run/$id" params={{ id: run.id }}>
              {visible(run.name) || shortId(run.id)}
            </Link>{' '}
          </span>
        ))}
      </dd>
      <dt>policies that acted</dt>
      <dd>{dataset.policies.map((policy) => `${visible(policy.id)}@${policy.version}`).join(', ') || '–'}</dd>
      <dt>chosen by</dt>
      <dd>
        <Choice of={{ ...(dataset.query as object), ...(dataset.parameters as object) }} />
      </dd>
    </dl>
  );
}

/** What a release was chosen and written by, without what was not given. */
function Choice({ of }: { readonly of: object }) {
  const given = Object.entries(of).filter(([, value]) => value !== null && value !== undefined);
  if (given.length === 0) return <span className="faint">no condition</span>;
  return (
    <ul className="plain">
      {given.map(([name, value]) => (
        <li key={name}>
          {`${visible(name)}: `}
          <code className="wrap">{visible(typeof value === 'string' ? value : JSON.stringify(value))}</code>
        </li>
      ))}
    </ul>
  );
}

function rowOf(dataset: string, line: number): Annotatable {
  return { subject: { row: { dataset, line } }, name: `row ${line}` };
}

function Rows({ dataset, examples }: { readonly dataset: string; readonly examples: Dataset['examples']['nodes'] }) {
  return (
    <div className="scroll-x" role="region" aria-label="Rows" tabIndex={0}>
      <table className="rows">
        <thead>
          <tr>
            <th scope="col" className="number">
              line
            </th>
            <th scope="col">kind</th>
            <th scope="col">task</th>
            <th scope="col">made of</th>
            <th scope="col">annotations</th>
          </tr>
        </thead>
        <tbody>
          {examples.map((row) => (
            <tr key={row.line} {...annotatable(rowOf(dataset, row.line))}>
              <td className="number">{row.line}</td>
              <td>{row.kind}</td>
              <td>
                <Link to="/view/tree/$id" params={{ id: row.treeId }}>
                  <bdi>{visible(row.tree?.task.goal || row.tree?.task.alias || shortId(row.treeId)).slice(0, 80)}</bdi>
                </Link>
              </td>
              <td>
                {row.revision ? (
                  <Link data-item to="/view/revision/$id" params={{ id: row.revision.id }}>
                    {`revision (${row.revision.state})`}
                  </Link>
                ) : null}{' '}
                {row.trajectory ? (
                  <Link to="/view/trajectory/$id" params={{ id: row.trajectory.id }}>
                    {`good, return ${decimal(row.trajectory.return)}`}
                  </Link>
                ) : null}{' '}
                {row.badTrajectory ? (
                  <Link to="/view/trajectory/$id" params={{ id: row.badTrajectory.id }}>
                    {`bad, return ${decimal(row.badTrajectory.return)}`}
                  </Link>
                ) : null}
                <RowText dataset={dataset} line={row.line} />
              </td>
              <td>
                <Annotations of={row.annotations} />
                <AnnotateButton what={rowOf(dataset, row.line)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
