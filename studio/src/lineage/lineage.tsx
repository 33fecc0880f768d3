import { useParams, useSearch } from '@tanstack/react-router';
import { type LineagePageQuery, type LinksShownFragment, lineagePage } from '../../../graphql/studio/generated/operations.ts';
import { TraceForm } from '../datasets/trace-form.tsx';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, decimal, instant, shortId, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainText, visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { GraphView } from './graph-view.tsx';

const DIGEST = /\b([0-9a-f]{12})[0-9a-f]{20,}\b/g;
type Trace = NonNullable<LineagePageQuery['trace']>;

/** Where something came from and what resulted from it: each is a way on, in both directions. */
export function LineagePage() {
  const { id } = useParams({ from: '/view/lineage/$id' });
  const { tree } = useSearch({ from: '/view/lineage/$id' });
  const answer = useAsk(lineagePage, { id, tree });
  return (
    <>
      <TraceForm />
      <Query of={answer}>
        {({ trace }) =>
          trace ? (
            <>
              <PageHead title={named(trace) ? visible(trace.id) : titleOf(trace)} trail={<Link to="/view/data">Data</Link>}>
                <ViewLink kind={trace.kind} id={trace.id} tree={tree} />
                <CopyAs
                  operation={lineagePage}
                  variables={{ id, tree }}
                  command={`espalier trace ${id}${tree ? ` --tree ${tree}` : ''}`}
                />
              </PageHead>
              <p className="faint">
                {trace.kind} {named(trace) ? titleOf(trace) : <code>{visible(trace.id)}</code>}
              </p>
              <GraphView key={trace.id} id={trace.id} tree={tree} />
              <div className="lineage">
                <Side title="Made of" anchor="made-of" links={trace.from} />
                <section className="panel" id="events">
                  <h2>{`Events that made it: ${whole(trace.madeBy.total)}`}</h2>
                  <ul className="plain">
                    {trace.madeBy.first.map((event) => (
                      <li key={event.eventId}>
                        <Link to="/view/lineage/$id" params={{ id: event.eventId }}>
                          {event.type}
                        </Link>{' '}
                        <code>{event.place}</code> <span className="faint">{instant(event.occurredAt)}</span>
                        <details>
                          <summary className="faint">as it was appended</summary>
                          <PlainText className="raw" text={JSON.stringify(event.envelope, null, 2)} />
                        </details>
                      </li>
                    ))}
                  </ul>
                </section>
                <Side title="Resulted in" anchor="resulted-in" links={trace.usedBy} />
              </div>
              {trace.touched ? <Touched kind={trace.kind} touched={trace.touched} /> : null}
            </>
          ) : (
            <p className="empty">Nothing on record has the id {visible(id)} at this moment.</p>
          )
        }
      </Query>
    </>
  );
}

/** Whether its id is its name: `demo-1@3`. */
function named({ kind }: Trace): boolean {
  return kind === 'policy version';
}

function titleOf({ title }: Trace): string {
  return visible(title).replace(DIGEST, '$1…').slice(0, 200);
}

function Side({
  title,
  anchor,
  links,
}: {
  readonly title: string;
  readonly anchor: string;
  readonly links: readonly LinksShownFragment[];
}) {
  return (
    <section className="panel" id={anchor}>
      <h2>{title}</h2>
      {links.length === 0 ? <p className="faint">nothing</p> : null}
      {links.map((each) => (
        <div key={each.relation}>
          <h3>{`${visible(each.relation)}: ${whole(each.total)}`}</h3>
          <ul className="plain">
            {each.first.map((link) => (
              <li key={link.id}>
                <Link data-item to="/view/lineage/$id" params={{ id: link.id }}>
                  {visible(link.text).slice(0, 160) || visible(shortId(link.id))}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

/** What a recall of it would touch. */
function Touched({ kind, touched }: { readonly kind: string; readonly touched: NonNullable<Trace['touched']> }) {
  return (
    <section className="panel" id="touched">
      <h2>A recall touches</h2>
      <p>
        {`${count(touched.rollouts, 'rollout')} of ${count(touched.trees, 'tree')} in ${count(touched.runsTotal, 'run')}, ${count(touched.datasetsTotal, 'release')}, ${count(touched.batchesTotal, 'batch', 'batches')}, ${count(touched.versionsTotal, 'policy version')}, ${count(touched.evaluationsTotal, 'evaluation')}`}
      </p>
      {kind === 'policy version' || kind === 'checkpoint' ? (
        <p className="faint">
          To recall a version is to recall its weights: it, the versions trained from it, and their evaluations. Rollouts that it
          acted in are no part of that: recall their runs.
        </p>
      ) : null}
      <ul className="plain">
        {touched.datasets.map((each) => (
          <li key={each.datasetId}>
            <Link to="/view/dataset/$id" params={{ id: each.datasetId }}>{`${visible(each.name)}@${each.version}`}</Link>
            {each.examples === null ? '' : `, ${count(each.examples, 'row')}`}
            {each.withdrawn ? ', withdrawn' : ''}
          </li>
        ))}
        {touched.batches.map((each) => (
          <li key={each.batchId}>
            <Link
              to="/view/training"
              search={{ policy: each.policyId }}
            >{`batch ${each.ordinal} of ${visible(each.policyId)}`}</Link>
            {`, ${count(each.samples, 'sample')}${each.trained ? '' : ', not trained'}`}
          </li>
        ))}
        {touched.versions.map((each) => (
          <li key={`${each.policyId}@${each.version}`}>
            <Link to="/view/training" search={{ policy: each.policyId, version: String(each.version) }}>
              {`${visible(each.policyId)}@${each.version}`}
            </Link>{' '}
            <span className="faint">{each.how}</span>
          </li>
        ))}
        {touched.evaluations.map((each) => (
          <li key={each.runId}>
            <Link
              to="/view/run/$id"
              params={{ id: each.runId }}
            >{`evaluation of ${visible(each.policyId)}@${each.version}`}</Link>
            {`, mean return ${decimal(each.meanReturn)} `}
            <span className="faint">{each.how}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const VIEWS = {
  run: '/view/run/$id',
  tree: '/view/tree/$id',
  rollout: '/view/trajectory/$id',
  revision: '/view/revision/$id',
  dataset: '/view/dataset/$id',
} as const;

/** Leads to the view of what is traced, where it has one. */
function ViewLink({ kind, id, tree }: { readonly kind: string; readonly id: string; readonly tree: string | undefined }) {
  if (!Object.hasOwn(VIEWS, kind)) return null;
  return (
    <Link className="button" to={VIEWS[kind as keyof typeof VIEWS]} params={{ id }} search={{ tree }}>
      {`Show the ${kind}`}
    </Link>
  );
}
