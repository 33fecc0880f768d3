import type { RunsQuery } from '../../../graphql/studio/generated/operations.ts';
import { largest, smallest } from '../../../src/domain/extremes.ts';
import { count, decimal, duration, instant, percent, short, shortId, whole } from '../parts/format.ts';
import { RolloutLink, RunLink } from '../parts/links.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Share } from '../parts/share.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { Table } from '../parts/table.tsx';

type RunRow = RunsQuery['runs']['nodes'][number];

interface RunsTableProps {
  readonly rows: readonly RunRow[];
  readonly chosen: readonly string[];
  readonly choose: (id: string) => void;
  readonly filtered: boolean;
}

/** A page of runs: state, success, speed, cost, failures. */
export function RunsTable({ rows, chosen, choose, filtered }: RunsTableProps) {
  if (rows.length === 0)
    return (
      <div className="empty">
        <p>No run is on record that fits.</p>
        {filtered ? null : (
          <p>
            <code>npx espalier collect --help</code> and the tutorials show how to record one.
          </p>
        )}
      </div>
    );
  return (
    <Table
      label="Runs"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        [
          <span key="compare" className="sr">
            compare
          </span>,
          ({ id }) => (
            <input
              type="checkbox"
              checked={chosen.includes(id)}
              onChange={() => choose(id)}
              aria-label={`compare run ${shortId(id)}`}
            />
          ),
        ],
        [
          'Run',
          (run) => (
            <>
              <RunLink run={run} item />
              <div className="faint">{`${run.kind} · ${shortId(run.id)}`}</div>
            </>
          ),
        ],
        ['State', (run) => <State run={run} />],
        [
          'Success',
          ({ totals }) =>
            totals.successRate === null ? (
              <span className="faint">–</span>
            ) : (
              <Share successes={totals.successes} of={finishedOf(totals)} />
            ),
        ],
        [
          'Return',
          ({ totals, lastReturns }) => (
            <>
              {decimal(totals.meanReturn)}
              <div>
                <Sparkline
                  values={lastReturns}
                  label={`returns of the last ${count(lastReturns.length, 'rollout')}, from ${decimal(smallest(lastReturns))} to ${decimal(largest(lastReturns))}`}
                />
              </div>
            </>
          ),
        ],
        ['Trees', ({ totals }) => `${whole(totals.closedTrees)}/${whole(totals.trees)}`, 'number'],
        ['Rollouts', ({ totals }) => whole(totals.rollouts), 'number'],
        ['Failed', (run) => <Failed run={run} />],
        ['Steps', ({ totals }) => whole(totals.steps), 'number'],
        ['Tokens', ({ totals }) => <Tokens {...totals} />, 'number'],
        ['Events', (run) => <Events run={run} />, 'number'],
        [
          'Policy at start',
          ({ policy }) => (policy ? <bdi>{`${visible(policy.id)}@${policy.version}`}</bdi> : <span className="faint">–</span>),
        ],
        ['Environment', (run) => <bdi>{visible(run.environments.map(({ environment }) => environment).join(', '))}</bdi>],
        [
          'Started',
          ({ startedAt, finishedAt }) => (
            <>
              <time dateTime={startedAt}>{instant(startedAt)}</time>
              <div className="faint">{finishedAt ? duration(Date.parse(finishedAt) - Date.parse(startedAt)) : 'goes on'}</div>
            </>
          ),
        ],
      ]}
    />
  );
}

function finishedOf({ terminated, truncated, failed, cancelled }: RunRow['totals']): number {
  return terminated + truncated + failed + cancelled;
}

function State({ run }: { readonly run: RunRow }) {
  const name = run.outcome ?? 'running';
  return (
    <>
      <span className={`state state-${name}`}>{name}</span>
      {run.outcome === 'failed' && run.message ? <div className="reason">{visible(run.message).slice(0, 200)}</div> : null}
    </>
  );
}

function Failed({ run: { totals, failures } }: { readonly run: RunRow }) {
  if (totals.failed === 0) return <>0</>;
  return (
    <>
      {`${whole(totals.failed)} (${percent(totals.failed / Math.max(1, finishedOf(totals)))})`}
      {failures.map(({ reason, rollouts, rolloutId, treeId }) => (
        <div key={reason} className="reason">
          {`${whole(rollouts)} × `}
          <RolloutLink rollout={{ id: rolloutId, treeId }}>
            <bdi>{visible(reason).slice(0, 80) || 'no reason is recorded'}</bdi>
          </RolloutLink>
        </div>
      ))}
    </>
  );
}

/** Tokens that the policy read and wrote; a record without usage counts none. */
function Tokens({ promptTokens, completionTokens }: RunRow['totals']) {
  if (promptTokens + completionTokens === 0) return <span className="faint">–</span>;
  return (
    <span title={`${whole(promptTokens)} read, ${whole(completionTokens)} written`}>
      {short(promptTokens + completionTokens)}
      <div className="faint">{`${short(completionTokens)} written`}</div>
    </span>
  );
}

const QUIET_MS = 60_000;

/** How many events, how fast they come, and of a run that goes on how long none came. */
function Events({ run: { activity, finishedAt } }: { readonly run: RunRow }) {
  const quiet = finishedAt === null && activity.lastEventAt !== null ? Date.now() - Date.parse(activity.lastEventAt) : 0;
  return (
    <>
      {short(activity.events)}
      <div className="faint">{activity.eventsPerSecond === null ? '' : `${decimal(activity.eventsPerSecond)}/s`}</div>
      {quiet > QUIET_MS ? <div className="reason">{`none for ${duration(quiet)}`}</div> : null}
    </>
  );
}
