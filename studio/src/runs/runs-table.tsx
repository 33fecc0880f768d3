import { Link } from '@tanstack/react-router';
import type { RunsQuery } from '../../../graphql/studio/generated/operations.ts';
import { count, decimal, duration, instant, percent, short, shortId, whole } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import { Share } from '../parts/share.tsx';
import { Sparkline } from '../parts/sparkline.tsx';

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
    <div className="scroll-x" role="region" aria-label="Runs" tabIndex={0}>
      <table className="rows">
        <thead>
          <tr>
            <th scope="col">
              <span className="sr">compare</span>
            </th>
            <th scope="col">Run</th>
            <th scope="col">State</th>
            <th scope="col">Success</th>
            <th scope="col">Return</th>
            <th scope="col" className="number">
              Trees
            </th>
            <th scope="col" className="number">
              Rollouts
            </th>
            <th scope="col">Failed</th>
            <th scope="col" className="number">
              Steps
            </th>
            <th scope="col" className="number">
              Tokens
            </th>
            <th scope="col" className="number">
              Events
            </th>
            <th scope="col">Policy at start</th>
            <th scope="col">Environment</th>
            <th scope="col">Started</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <Row key={run.id} run={run} chosen={chosen.includes(run.id)} choose={choose} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ run, chosen, choose }: { readonly run: RunRow; readonly chosen: boolean; readonly choose: (id: string) => void }) {
  const { totals } = run;
  const finished = totals.terminated + totals.truncated + totals.failed + totals.cancelled;
  return (
    <tr>
      <td>
        <input type="checkbox" checked={chosen} onChange={() => choose(run.id)} aria-label={`compare run ${shortId(run.id)}`} />
      </td>
      <td>
        <Link data-item to="/view/run/$id" params={{ id: run.id }}>
          <bdi>{visible(run.name).slice(0, 120) || shortId(run.id)}</bdi>
        </Link>
        <div className="faint">
          {run.kind} · {shortId(run.id)}
        </div>
      </td>
      <td>
        <State run={run} />
      </td>
      <td>
        {totals.successRate === null ? <span className="faint">–</span> : <Share successes={totals.successes} of={finished} />}
      </td>
      <td>
        {decimal(totals.meanReturn)}
        <div>
          <Sparkline
            values={run.lastReturns}
            label={`returns of the last ${count(run.lastReturns.length, 'rollout')}, from ${decimal(Math.min(...run.lastReturns))} to ${decimal(Math.max(...run.lastReturns))}`}
          />
        </div>
      </td>
      <td className="number">{`${whole(totals.closedTrees)}/${whole(totals.trees)}`}</td>
      <td className="number">{whole(totals.rollouts)}</td>
      <td>
        <Failed run={run} finished={finished} />
      </td>
      <td className="number">{whole(totals.steps)}</td>
      <td className="number">
        <Tokens {...totals} />
      </td>
      <td className="number">
        <Events run={run} />
      </td>
      <td>{run.policy ? <bdi>{`${visible(run.policy.id)}@${run.policy.version}`}</bdi> : <span className="faint">–</span>}</td>
      <td>
        <bdi>{visible(run.environments.map(({ environment }) => environment).join(', '))}</bdi>
      </td>
      <td>
        <time dateTime={run.startedAt}>{instant(run.startedAt)}</time>
        <div className="faint">
          {run.finishedAt ? duration(Date.parse(run.finishedAt) - Date.parse(run.startedAt)) : 'goes on'}
        </div>
      </td>
    </tr>
  );
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

function Failed({ run: { totals, failures }, finished }: { readonly run: RunRow; readonly finished: number }) {
  if (totals.failed === 0) return <>0</>;
  return (
    <>
      {`${whole(totals.failed)} (${percent(totals.failed / Math.max(1, finished))})`}
      {failures.map(({ reason, rollouts, rolloutId }) => (
        <div key={reason} className="reason">
          {`${whole(rollouts)} × `}
          <Link to="/view/trajectory/$id" params={{ id: rolloutId }}>
            <bdi>{visible(reason).slice(0, 80) || 'no reason is recorded'}</bdi>
          </Link>
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
