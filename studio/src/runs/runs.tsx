import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { type RunKind, type RunsQuery, runs as runsOperation } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { decimal, duration, instant, percent, shortId, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Share } from '../parts/share.tsx';
import { Shown } from '../parts/shown.tsx';

type RunRow = RunsQuery['runs']['nodes'][number];
const KINDS: readonly RunKind[] = ['collect', 'search', 'evaluate', 'fork', 'import', 'external'];
const FIRST = 200;

/** What works and what is stuck: the runs, the latest first. */
export function Runs() {
  const search = useSearch({ from: '/' });
  const navigate = useNavigate({ from: '/' });
  const set = (part: Record<string, string | undefined>) =>
    void navigate({ search: (all) => ({ ...all, ...part }), replace: true });
  const filter = {
    ...(search.kind ? { kind: search.kind as RunKind } : {}),
    ...(search.state === 'running' ? { running: true } : {}),
    ...(search.state === 'failed' ? { outcome: 'failed' as const } : {}),
    ...(search.state === 'completed' ? { outcome: 'completed' as const } : {}),
    ...(search.environment ? { environment: search.environment } : {}),
  };
  const variables = { filter, first: FIRST };
  const answer = useAsk(runsOperation, variables);
  const chosen = search.compare?.split(',').filter(Boolean) ?? [];
  const choose = (id: string) =>
    set({
      compare: (chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-2)).join(',') || undefined,
    });
  return (
    <>
      <PageHead title="Runs">
        <CopyAs operation={runsOperation} variables={variables} command="espalier status" />
      </PageHead>
      <search className="filters">
        <label>
          Text
          <input data-find value={search.text ?? ''} onChange={(event) => set({ text: event.target.value || undefined })} />
        </label>
        <label>
          Kind
          <select value={search.kind ?? ''} onChange={(event) => set({ kind: event.target.value || undefined })}>
            <option value="">all</option>
            {KINDS.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </label>
        <label>
          State
          <select value={search.state ?? ''} onChange={(event) => set({ state: event.target.value || undefined })}>
            <option value="">all</option>
            <option>running</option>
            <option>completed</option>
            <option>failed</option>
          </select>
        </label>
        <label>
          Environment
          <input value={search.environment ?? ''} onChange={(event) => set({ environment: event.target.value || undefined })} />
        </label>
        <label>
          Policy
          <input value={search.policy ?? ''} onChange={(event) => set({ policy: event.target.value || undefined })} />
        </label>
        {chosen.length === 2 ? (
          <Link className="button" to="/view/compare" search={{ runs: chosen.join(',') }}>
            Compare the two
          </Link>
        ) : (
          <span className="faint">{chosen.length === 1 ? 'choose another run to compare' : ''}</span>
        )}
      </search>
      <Shown of={answer}>
        {({ runs }) => <Table rows={runs.nodes} more={runs.pageInfo.hasNextPage} chosen={chosen} choose={choose} />}
      </Shown>
    </>
  );
}

function Table({
  rows,
  more,
  chosen,
  choose,
}: {
  readonly rows: readonly RunRow[];
  readonly more: boolean;
  readonly chosen: readonly string[];
  readonly choose: (id: string) => void;
}) {
  const { text, policy } = useSearch({ from: '/' });
  const shown = useMemo(
    () =>
      rows.filter(
        (run) =>
          (!text || `${run.name} ${run.id} ${run.message ?? ''}`.toLowerCase().includes(text.toLowerCase())) &&
          (!policy || (run.policy?.id ?? '').includes(policy)),
      ),
    [rows, text, policy],
  );
  if (rows.length === 0)
    return (
      <div className="empty">
        <p>No run is on record that fits.</p>
        <p>
          <code>npx espalier collect --help</code> and the tutorials show how to record one.
        </p>
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
            <th scope="col" className="number">
              Return
            </th>
            <th scope="col" className="number">
              Trees
            </th>
            <th scope="col" className="number">
              Rollouts
            </th>
            <th scope="col" className="number">
              Failed
            </th>
            <th scope="col" className="number">
              Steps
            </th>
            <th scope="col">Policy</th>
            <th scope="col">Environment</th>
            <th scope="col">Started</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((run) => (
            <Row key={run.id} run={run} chosen={chosen.includes(run.id)} choose={choose} />
          ))}
        </tbody>
      </table>
      {more ? <p className="faint">These are the latest {whole(FIRST)} runs; filter for older ones.</p> : null}
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
      <td className="number">{decimal(totals.meanReturn)}</td>
      <td className="number">{`${whole(totals.closedTrees)}/${whole(totals.trees)}`}</td>
      <td className="number">{whole(totals.rollouts)}</td>
      <td className="number">
        {totals.failed === 0 ? '0' : `${whole(totals.failed)} (${percent(totals.failed / Math.max(1, finished))})`}
      </td>
      <td className="number">{whole(totals.steps)}</td>
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
