import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { type DatasetPageQuery, datasetPage, datasetRow } from '../../../graphql/studio/generated/operations.ts';
import { AnnotateButton, Annotations } from '../annotations/annotations.tsx';
import { type Annotatable, annotatable } from '../annotations/open-annotator.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { Facts } from '../parts/facts.tsx';
import { decimal, instant, shortId, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RolloutLink, RunLink, taskName } from '../parts/links.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { PlainText, visible } from '../parts/plain-text.tsx';
import { Found, Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';
import { Counts } from './datasets.tsx';

type Dataset = NonNullable<DatasetPageQuery['dataset']>;
const FIRST = 100;

/** One release: how it was made, and each of its rows with what it was made of. */
export function DatasetPage() {
  const { id } = useParams({ from: '/view/dataset/$id' });
  const pages = usePages(id);
  const variables = { id, first: FIRST, ...pages.variables };
  const answer = useAsk(datasetPage, variables);
  return (
    <Found of={answer} what="release" id={id} one={({ dataset }) => dataset}>
      {(dataset) => (
        <>
          <PageHead title={`${visible(dataset.name)}@${dataset.version}`} trail={<Link to="/view/data">Data</Link>}>
            <Link className="button" to="/view/lineage/$id" params={{ id: dataset.id }}>
              Lineage
            </Link>
            <CopyAs operation={datasetPage} variables={variables} command={`espalier trace ${dataset.name}@${dataset.version}`} />
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
      )}
    </Found>
  );
}

function About({ dataset }: { readonly dataset: Dataset }) {
  return (
    <Facts
      of={[
        ['format', `${visible(dataset.format)} ${dataset.formatVersion}`],
        ['holds', <Counts key="holds" counts={dataset.counts} />],
        ['SHA-256', <code key="sha">{dataset.sha256}</code>],
        [
          'runs',
          dataset.runs.map((run) => (
            <span key={run.id}>
              <RunLink run={run} />{' '}
            </span>
          )),
        ],
        ['policies that acted', dataset.policies.map((policy) => `${visible(policy.id)}@${policy.version}`).join(', ') || '–'],
        ['chosen by', <Choice key="by" of={{ ...(dataset.query as object), ...(dataset.parameters as object) }} />],
      ]}
    />
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
    <Table
      label="Rows"
      rows={examples}
      keyOf={({ line }) => line}
      rowProps={({ line }) => annotatable(rowOf(dataset, line))}
      columns={[
        ['line', ({ line }) => line, 'number'],
        ['kind', ({ kind }) => kind],
        [
          'task',
          ({ treeId, tree }) => (
            <Link to="/view/tree/$id" params={{ id: treeId }}>
              <bdi>{taskName(tree) || shortId(treeId)}</bdi>
            </Link>
          ),
        ],
        [
          'made of',
          ({ line, treeId, revision, trajectory, badTrajectory }) => (
            <>
              {revision ? (
                <Link data-item to="/view/revision/$id" params={{ id: revision.id }} search={{ tree: treeId }}>
                  {`revision (${revision.state})`}
                </Link>
              ) : null}{' '}
              {trajectory ? (
                <RolloutLink rollout={{ id: trajectory.id, treeId }}>{`good, return ${decimal(trajectory.return)}`}</RolloutLink>
              ) : null}{' '}
              {badTrajectory ? (
                <RolloutLink
                  rollout={{ id: badTrajectory.id, treeId }}
                >{`bad, return ${decimal(badTrajectory.return)}`}</RolloutLink>
              ) : null}
              <RowText dataset={dataset} line={line} />
            </>
          ),
        ],
        [
          'annotations',
          ({ line, annotations }) => (
            <>
              <Annotations of={annotations} />
              <AnnotateButton what={rowOf(dataset, line)} />
            </>
          ),
        ],
      ]}
    />
  );
}

const CHARACTERS = 20_000;

/** What the lines of a row hold, as the record makes them: asked for when it is opened. */
function RowText({ dataset, line }: { readonly dataset: string; readonly line: number }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{`text of row ${line}`}</summary>
      {open ? <Lines dataset={dataset} line={line} /> : null}
    </details>
  );
}

function Lines({ dataset, line }: { readonly dataset: string; readonly line: number }) {
  const variables = { dataset, line, characters: CHARACTERS };
  const answer = useAsk(datasetRow, variables, { parts: 'all' });
  return (
    <Query of={answer}>
      {({ dataset: found }) => {
        const [row] = found?.examples.nodes ?? [];
        if (!row) return <p className="empty">The row is not on record.</p>;
        if (!row.text) return <p className="empty">The row cannot be made again from the record.</p>;
        const { text, length } = row.text;
        return (
          <>
            <div className="row">
              <span className="faint">{`${row.lines === 1 ? 'one line' : `${row.lines} lines`}, ${whole(length)} characters${length > CHARACTERS ? `, the first ${whole(CHARACTERS)} of them` : ''}; made again from the record`}</span>
              <CopyAs operation={datasetRow} variables={variables} />
            </div>
            <PlainText className="raw" text={length > CHARACTERS ? text : indented(text)} />
          </>
        );
      }}
    </Query>
  );
}

/** Lays JSON lines out for reading; as they are where they are no JSON. */
function indented(lines: string): string {
  try {
    return lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.stringify(JSON.parse(line), null, 2))
      .join('\n');
  } catch {
    return lines;
  }
}
