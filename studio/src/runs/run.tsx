import { useParams } from '@tanstack/react-router';
import {
  type RunPageQuery,
  runFailures,
  runLengths,
  runPage,
  runRevisions,
} from '../../../graphql/studio/generated/operations.ts';
import { LIST_SIZES } from '../../../graphql/studio/list-sizes.ts';
import { largest, smallest } from '../../../src/domain/extremes.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { isPage } from '../page/stored-page.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { Facts, Figures } from '../parts/facts.tsx';
import { count, decimal, duration, instant, percent, shortId, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RolloutLink, RunLink, taskName } from '../parts/links.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Found, Query } from '../parts/query.tsx';
import { Share } from '../parts/share.tsx';
import { Table } from '../parts/table.tsx';
import { RevisionState } from '../revisions/revision-state.tsx';
import { Ends } from './ends.tsx';
import { HeatMap } from './heat-map.tsx';
import { Lengths } from './lengths.tsx';
import { Sums } from './sums.tsx';

type Run = NonNullable<RunPageQuery['run']>;

/** One run: what it is, what it amounts to, and its tasks by its rollouts. */
export function RunPage() {
  const { id } = useParams({ from: '/view/run/$id' });
  const answer = useAsk(runPage, { id });
  return (
    <Found of={answer} what="run" id={id} one={({ run }) => run}>
      {(run) => (
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
      )}
    </Found>
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
      <Figures
        of={[
          ['state', run.outcome ?? 'running'],
          [
            'success',
            percent(totals.successRate),
            totals.successRate === null ? null : <Share key="share" successes={totals.successes} of={finished} interval />,
          ],
          ['mean return', decimal(totals.meanReturn)],
          ['rollouts finished', `${whole(finished)} of ${whole(totals.rollouts)}`],
          ['failed', whole(totals.failed)],
          ['trees closed', `${whole(totals.closedTrees)} of ${whole(totals.trees)}`],
          ['steps', whole(totals.steps)],
          totals.unclearCalls > 0 && ['unclear calls', whole(totals.unclearCalls)],
          totals.lostParts > 0 && ['unreadable parts of calls', whole(totals.lostParts)],
          [run.finishedAt ? 'took' : 'goes on since', duration(until - Date.parse(run.startedAt))],
        ]}
      />
      <details>
        <summary>Configuration and origin</summary>
        <Facts
          of={[
            ['id', <code key="id">{run.id}</code>],
            ['kind', run.kind],
            [
              'policy',
              <>
                {run.policy ? `${visible(run.policy.id)}@${run.policy.version} at its start` : 'none'}
                <Acted run={run.id} />
              </>,
            ],
            [
              'environments',
              run.environments.map(({ environment, fingerprint }) => (
                <div key={environment}>
                  {visible(environment)} <code className="faint">{fingerprint.slice(0, 16)}</code>
                </div>
              )),
            ],
            ['started', instant(run.startedAt)],
            ['code', visible(run.codeVersion)],
            ['project, owner', `${visible(run.project ?? '–')}, ${visible(run.owner ?? '–')}`],
            !!run.forkOf?.run && ['goes on from', <RunLink key="from" run={run.forkOf.run} />],
            run.forks.length > 0 && [
              'forks',
              run.forks.map((fork) => (
                <div key={fork.id}>
                  <RunLink run={fork} />
                </div>
              )),
            ],
            [
              'configuration',
              <pre key="config" className="text">
                {visible(JSON.stringify(run.config, null, 2))}
              </pre>,
            ],
          ]}
        />
      </details>
    </>
  );
}

/** The versions of policies that acted in the last rollouts, where they are several. */
function Acted({ run }: { readonly run: string }) {
  const nodes = useAsk(runLengths, { id: run, first: LIST_SIZES.lengths }).data?.rollouts.nodes ?? [];
  const versions = [...Map.groupBy(nodes, ({ policy }) => policy.id)].map(([id, each]) => {
    const [low, high] = [smallest, largest].map((of) => of(each.map(({ policy }) => policy.version)));
    return `${visible(id)}@${low}${low === high ? '' : ` to ${high}`}`;
  });
  if (versions.length === 0) return null;
  return <div className="faint">{`acted in the last ${count(nodes.length, 'rollout')}: ${versions.join(', ')}`}</div>;
}

function Depths({ run: { kind, successByDepth } }: { readonly run: Run }) {
  if (successByDepth.length === 0) return null;
  return (
    <section className="panel">
      <h2>Success by depth of the task</h2>
      <Table
        label="Success by depth"
        rows={successByDepth}
        keyOf={({ taskDepth }) => taskDepth ?? 'none'}
        columns={[
          ['depth', ({ taskDepth }) => taskDepth ?? '–'],
          ['success', ({ successes, finished }) => <Share successes={successes} of={finished} />],
          ['tasks', ({ tasks }) => whole(tasks), 'number'],
          ['return', ({ meanReturn }) => decimal(meanReturn), 'number'],
          [kind === 'search' ? 'own steps of a rollout' : 'steps of a rollout', ({ meanSteps }) => decimal(meanSteps), 'number'],
        ]}
      />
    </section>
  );
}

function Images({ run: { id, imageTotals } }: { readonly run: Run }) {
  if (imageTotals.steps === 0) return null;
  return (
    <section className="panel">
      <h2>Histories as images</h2>
      <Facts
        of={[
          ['steps with an image', whole(imageTotals.steps)],
          ['tokens as images', whole(imageTotals.visionTokens)],
          ['tokens as text', whole(imageTotals.textTokens)],
          ['saved', whole(imageTotals.saved)],
          ['segments from a cache', percent(imageTotals.hitRate)],
          ['mean factor', decimal(imageTotals.meanFactor)],
        ]}
      />
      {isPage() ? null : (
        <Link className="button" to="/view/images/$id" params={{ id }}>
          All images, and the same at other factors
        </Link>
      )}
    </section>
  );
}

/** Why rollouts of a run failed, the most frequent reason first. */
function Failures({ run }: { readonly run: string }) {
  const answer = useAsk(runFailures, { id: run });
  return (
    <Query of={answer}>
      {({ rollouts }) => {
        if (rollouts.totalCount === 0) return null;
        const byReason = Map.groupBy(rollouts.nodes, ({ reason }) => reason || 'no reason is recorded');
        const reasons = [...byReason].sort(([, a], [, b]) => b.length - a.length);
        return (
          <section className="panel">
            <h2>{`Failures: ${whole(rollouts.totalCount)}`}</h2>
            <ul className="plain">
              {reasons.map(([reason, failed]) => (
                <li key={reason}>
                  <b>{failed.length} ×</b> <span className="reason">{visible(reason).slice(0, 300)}</span>{' '}
                  {failed.slice(0, 3).map(({ id, treeId }, i) => (
                    <RolloutLink key={`${id} ${treeId}`} rollout={{ id, treeId }}>
                      {`${i === 0 ? '' : ', '}rollout`}
                    </RolloutLink>
                  ))}
                </li>
              ))}
            </ul>
          </section>
        );
      }}
    </Query>
  );
}

/** The revisions that were mined from a run. */
function Revisions({ run }: { readonly run: string }) {
  const answer = useAsk(runRevisions, { id: run, first: LIST_SIZES.revisions });
  return (
    <Query of={answer}>
      {({ run: found }) => {
        const revisions = found?.revisions;
        if (!revisions || revisions.totalCount === 0) return null;
        return (
          <section className="panel">
            <h2>{`Revisions: ${whole(revisions.totalCount)}`}</h2>
            <ul className="plain">
              {revisions.nodes.map((each) => (
                <li key={each.id}>
                  <RevisionState of={each.state} />{' '}
                  <Link data-item to="/view/revision/$id" params={{ id: each.id }} search={{ tree: each.treeId }}>
                    {taskName(each.tree, 70) || shortId(each.id)}
                  </Link>{' '}
                  <span className="faint">
                    {each.reason ? visible(each.reason) : each.reached === null ? '' : `reached ${decimal(each.reached)}`}
                  </span>
                </li>
              ))}
            </ul>
            {revisions.totalCount > LIST_SIZES.revisions ? <p className="faint">{`the first ${LIST_SIZES.revisions}`}</p> : null}
          </section>
        );
      }}
    </Query>
  );
}
