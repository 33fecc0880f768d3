import { Link, useParams } from '@tanstack/react-router';
import { type RunPageQuery, runLengths, runPage } from '../../../graphql/studio/generated/operations.ts';
import { LIST_SIZES } from '../../../graphql/studio/list-sizes.ts';
import { isPage } from '../graphql/ask.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, decimal, duration, instant, percent, shortId, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Share } from '../parts/share.tsx';
import { Shown } from '../parts/shown.tsx';
import { Ends } from './ends.tsx';
import { Failures } from './failures.tsx';
import { HeatMap } from './heat-map.tsx';
import { Lengths } from './lengths.tsx';
import { Revisions } from './revisions.tsx';
import { Sums } from './sums.tsx';

type Run = NonNullable<RunPageQuery['run']>;

/** One run: what it is, what it amounts to, and its tasks by its rollouts. */
export function RunPage() {
  const { id } = useParams({ from: '/view/run/$id' });
  const answer = useAsk(runPage, { id });
  return (
    <Shown of={answer}>
      {({ run }) =>
        run ? (
          <>
            <PageHead title={visible(run.name) || shortId(run.id)} trail={<Link to="/">Runs</Link>}>
              <Link className="button" to="/view/find" search={{ run: run.id }}>
                Find in this run
              </Link>
              <CopyAs operation={runPage} variables={{ id }} command={`espalier status --run ${id}`} />
            </PageHead>
            <About run={run} />
            <HeatMap run={run.id} />
            <div className="columns">
              <Depths run={run} />
              <Lengths run={run.id} search={run.kind === 'search'} />
              <Sums run={run.id} />
              <Ends run={run.id} />
              <Failures run={run.id} />
              <Revisions run={run.id} />
              <Images run={run} />
            </div>
          </>
        ) : (
          <p className="empty">No run has the id {id} at this moment of the record.</p>
        )
      }
    </Shown>
  );
}

function About({ run }: { readonly run: Run }) {
  const { totals } = run;
  const finished = totals.terminated + totals.truncated + totals.failed + totals.cancelled;
  const until = run.finishedAt ? Date.parse(run.finishedAt) : Date.now();
  return (
    <>
      {run.outcome === 'failed' ? (
        <p className="notice notice-bad">
          <strong>The run failed.</strong> {visible(run.message ?? '')}
        </p>
      ) : null}
      {run.forgotten ? <p className="notice">Something of its payload is forgotten.</p> : null}
      <div className="figures">
        <Figure name="state" value={run.outcome ?? 'running'} />
        <div className="figure">
          <span className="faint">success</span>
          <b>{percent(totals.successRate)}</b>
          {totals.successRate === null ? null : <Share successes={totals.successes} of={finished} interval />}
        </div>
        <Figure name="mean return" value={decimal(totals.meanReturn)} />
        <Figure name="rollouts finished" value={`${whole(finished)} of ${whole(totals.rollouts)}`} />
        <Figure name="failed" value={whole(totals.failed)} />
        <Figure name="trees closed" value={`${whole(totals.closedTrees)} of ${whole(totals.trees)}`} />
        <Figure name="steps" value={whole(totals.steps)} />
        {totals.unclearCalls > 0 ? <Figure name="unclear calls" value={whole(totals.unclearCalls)} /> : null}
        <Figure name={run.finishedAt ? 'took' : 'goes on since'} value={duration(until - Date.parse(run.startedAt))} />
      </div>
      <details>
        <summary>Configuration and origin</summary>
        <dl className="facts">
          <dt>id</dt>
          <dd>
            <code>{run.id}</code>
          </dd>
          <dt>kind</dt>
          <dd>{run.kind}</dd>
          <dt>policy</dt>
          <dd>
            {run.policy ? `${visible(run.policy.id)}@${run.policy.version} at its start` : 'none'}
            <Acted run={run.id} />
          </dd>
          <dt>environments</dt>
          <dd>
            {run.environments.map(({ environment, fingerprint }) => (
              <div key={environment}>
                {visible(environment)} <code className="faint">{fingerprint.slice(0, 16)}</code>
              </div>
            ))}
          </dd>
          <dt>started</dt>
          <dd>{instant(run.startedAt)}</dd>
          <dt>code</dt>
          <dd>{visible(run.codeVersion)}</dd>
          <dt>project, owner</dt>
          <dd>
            {visible(run.project ?? '–')}, {visible(run.owner ?? '–')}
          </dd>
          {run.forkOf?.run ? (
            <>
              <dt>goes on from</dt>
              <dd>
                <Link to="/view/run/$id" params={{ id: run.forkOf.run.id }}>
                  {visible(run.forkOf.run.name)}
                </Link>
              </dd>
            </>
          ) : null}
          {run.forks.length > 0 ? (
            <>
              <dt>forks</dt>
              <dd>
                {run.forks.map((fork) => (
                  <div key={fork.id}>
                    <Link to="/view/run/$id" params={{ id: fork.id }}>
                      {visible(fork.name)}
                    </Link>
                  </div>
                ))}
              </dd>
            </>
          ) : null}
          <dt>configuration</dt>
          <dd>
            <pre className="text">{visible(JSON.stringify(run.config, null, 2))}</pre>
          </dd>
        </dl>
      </details>
    </>
  );
}

/** The versions of policies that acted in the last rollouts, where they are several. */
function Acted({ run }: { readonly run: string }) {
  const nodes = useAsk(runLengths, { id: run, first: LIST_SIZES.lengths }).data?.rollouts.nodes ?? [];
  const versions = [...Map.groupBy(nodes, ({ policy }) => policy.id)].map(([id, each]) => {
    const [low, high] = [Math.min, Math.max].map((of) => of(...each.map(({ policy }) => policy.version)));
    return `${visible(id)}@${low}${low === high ? '' : ` to ${high}`}`;
  });
  if (versions.length === 0) return null;
  return <div className="faint">{`acted in the last ${count(nodes.length, 'rollout')}: ${versions.join(', ')}`}</div>;
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div className="figure">
      <span className="faint">{name}</span>
      <b>{value}</b>
    </div>
  );
}

function Depths({ run: { kind, successByDepth } }: { readonly run: Run }) {
  if (successByDepth.length === 0) return null;
  return (
    <section className="panel">
      <h2>Success by depth of the task</h2>
      <div className="scroll-x" role="region" aria-label="Success by depth" tabIndex={0}>
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">depth</th>
              <th scope="col">success</th>
              <th scope="col" className="number">
                tasks
              </th>
              <th scope="col" className="number">
                return
              </th>
              <th scope="col" className="number">
                {kind === 'search' ? 'own steps of a rollout' : 'steps of a rollout'}
              </th>
            </tr>
          </thead>
          <tbody>
            {successByDepth.map((row) => (
              <tr key={row.taskDepth ?? 'none'}>
                <td>{row.taskDepth ?? '–'}</td>
                <td>
                  <Share successes={row.successes} of={row.finished} />
                </td>
                <td className="number">{whole(row.tasks)}</td>
                <td className="number">{decimal(row.meanReturn)}</td>
                <td className="number">{decimal(row.meanSteps)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Images({ run: { id, imageTotals } }: { readonly run: Run }) {
  if (imageTotals.steps === 0) return null;
  return (
    <section className="panel">
      <h2>Histories as images</h2>
      <dl className="facts">
        <dt>steps with an image</dt>
        <dd>{whole(imageTotals.steps)}</dd>
        <dt>tokens as images</dt>
        <dd>{whole(imageTotals.visionTokens)}</dd>
        <dt>tokens as text</dt>
        <dd>{whole(imageTotals.textTokens)}</dd>
        <dt>saved</dt>
        <dd>{whole(imageTotals.saved)}</dd>
        <dt>segments from a cache</dt>
        <dd>{percent(imageTotals.hitRate)}</dd>
        <dt>mean factor</dt>
        <dd>{decimal(imageTotals.meanFactor)}</dd>
      </dl>
      {isPage() ? null : (
        <Link className="button" to="/view/images/$id" params={{ id }}>
          All images, and the same at other factors
        </Link>
      )}
    </section>
  );
}
