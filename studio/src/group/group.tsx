import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type GroupPageQuery, groupPage, parting } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { colourOf, scaleOf } from '../parts/colour.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, decimal, shortId, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';
import { GroupViews } from '../renderer/drawn-views.tsx';
import { BatchLink } from '../training/batch-link.tsx';
import { advantagesBy, ESTIMATORS } from './estimators.ts';

type Group = NonNullable<GroupPageQuery['tree']>;
type Rollout = Group['rollouts'][number];

/** The rollouts of one task side by side: what each earned, its advantage, where it parts from the best, what became of it. */
export function GroupPage() {
  const { id } = useParams({ from: '/view/group/$id' });
  const answer = useAsk(groupPage, { id });
  return (
    <Shown of={answer}>
      {({ tree }) =>
        tree ? (
          <>
            <PageHead
              title={visible(tree.task.goal || tree.task.alias).slice(0, 160)}
              trail={
                <>
                  <Link to="/">Runs</Link> ›{' '}
                  <Link to="/view/run/$id" params={{ id: tree.runId }}>
                    {visible(tree.run?.name ?? '') || shortId(tree.runId)}
                  </Link>
                </>
              }
            >
              <Link className="button" to="/view/tree/$id" params={{ id }}>
                As a tree
              </Link>
              <CopyAs operation={groupPage} variables={{ id }} command={`espalier tree ${id}`} />
            </PageHead>
            <p className="faint">
              {[
                visible(tree.task.environment),
                `task ${visible(tree.task.alias)}`,
                tree.task.depth === null ? '' : `depth ${tree.task.depth}`,
                tree.task.split ?? '',
                tree.rollouts.length > tree.plannedRollouts
                  ? `${count(tree.rollouts.length, 'rollout')}, ${whole(tree.plannedRollouts)} planned`
                  : `${whole(tree.rollouts.length)} of ${count(tree.plannedRollouts, 'rollout')}`,
                tree.returnVariance === null ? '' : `variance of returns ${decimal(tree.returnVariance)}`,
                tree.closedAt ? `closed: ${tree.closeReason}` : 'open',
              ]
                .filter(Boolean)
                .join(' · ')}
            </p>
            {tree.returnVariance === 0 && tree.rollouts.length > 1 ? (
              <p className="notice">All returns are equal: a group estimator learns nothing from this group.</p>
            ) : null}
            {tree.rollouts.length === 0 ? (
              <p className="empty">No rollout took part: a search expanded this tree, or none has begun.</p>
            ) : (
              <Siblings rollouts={tree.rollouts} />
            )}
            {tree.rollouts.length > 0 ? <GroupViews key={tree.id} tree={tree.id} /> : null}
          </>
        ) : (
          <p className="empty">No tree has the id {id} at this moment of the record.</p>
        )
      }
    </Shown>
  );
}

function Siblings({ rollouts }: { readonly rollouts: readonly Rollout[] }) {
  const { estimator } = useSearch({ from: '/view/group/$id' });
  const navigate = useNavigate({ from: '/view/group/$id' });
  const compared = rollouts.filter((rollout) => rollout.return !== null);
  const advantages = advantagesBy(
    estimator,
    compared.map((rollout) => rollout.return ?? 0),
  );
  const best = rollouts.toSorted((a, b) => (b.return ?? -Infinity) - (a.return ?? -Infinity))[0];
  const [low, high] = scaleOf(rollouts.flatMap((rollout) => rollout.return ?? []));
  const components = [
    ...new Set(rollouts.flatMap(({ trajectory }) => trajectory?.returns.map(({ component }) => component) ?? [])),
  ];
  return (
    <>
      <label className="faint">
        next to the estimator in force{' '}
        <select
          value={estimator ?? ''}
          onChange={(event) =>
            void navigate({ search: (all) => ({ ...all, estimator: event.target.value || undefined }), replace: true })
          }
        >
          <option value="">no other</option>
          {ESTIMATORS.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <div className="scroll-x" role="region" aria-label="Rollouts of the group" tabIndex={0}>
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">rollout</th>
              <th scope="col">end</th>
              <th scope="col" className="number">
                return
              </th>
              {components.map((component) => (
                <th key={component} scope="col" className="number">
                  {visible(component)}
                </th>
              ))}
              <th scope="col" className="number">
                advantage
              </th>
              {advantages ? (
                <th scope="col" className="number">
                  {`advantage by ${estimator}`}
                </th>
              ) : null}
              <th scope="col" className="number">
                steps
              </th>
              <th scope="col">parts from the best</th>
              <th scope="col">as a sample</th>
              <th scope="col">policy</th>
            </tr>
          </thead>
          <tbody>
            {rollouts.map((rollout) => (
              <tr key={rollout.id}>
                <td>
                  <Link data-item to="/view/trajectory/$id" params={{ id: rollout.id }}>
                    {`rollout ${rollout.ordinal}`}
                  </Link>
                </td>
                <td>
                  <span className={`state state-${rollout.outcome ?? 'running'}`}>{rollout.outcome ?? 'goes on'}</span>{' '}
                  {rollout.success ? 'success' : ''}
                  {rollout.reason ? <div className="reason">{visible(rollout.reason).slice(0, 160)}</div> : null}
                </td>
                <td className="number">
                  {rollout.return === null ? (
                    '–'
                  ) : (
                    <>
                      <i className="swatch" style={{ background: colourOf(rollout.return, low, high) }} />{' '}
                      {decimal(rollout.return)}
                    </>
                  )}
                </td>
                {components.map((component) => (
                  <td key={component} className="number">
                    {decimal(rollout.trajectory?.returns.find((each) => each.component === component)?.value)}
                  </td>
                ))}
                <td className="number">
                  {decimal(rollout.sample?.estimate?.advantage)}
                  <div className="faint">{rollout.sample?.batch?.estimator.name}</div>
                </td>
                {advantages ? <td className="number">{decimal(advantages[compared.indexOf(rollout)])}</td> : null}
                <td className="number">{rollout.stepCount ?? '–'}</td>
                <td>
                  {best && best.id !== rollout.id && rollout.finishedAt && best.finishedAt ? (
                    <Parting a={best.id} b={rollout.id} />
                  ) : null}
                </td>
                <td>
                  <Sample sample={rollout.sample} />
                </td>
                <td>
                  <bdi>{`${visible(rollout.policy.id)}@${rollout.policy.version}`}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Parting({ a, b }: { readonly a: string; readonly b: string }) {
  const answer = useAsk(parting, { a, b });
  if (!answer.data) return <span className="faint">…</span>;
  const { divergence } = answer.data;
  return (
    <Link to="/view/diff" search={{ a, b }}>
      {divergence === null ? 'the same' : `after ${count(divergence.depth, 'step')}, by ${divergence.kind}`}
    </Link>
  );
}

function Sample({ sample }: { readonly sample: Rollout['sample'] }) {
  if (!sample) return <span className="faint">trains no policy</span>;
  return (
    <>
      <span className={`state state-${sample.state}`}>{sample.state}</span>
      {sample.reason ? (
        <div className="reason">
          {visible(sample.reason)}
          {sample.rule ? `: ${visible(sample.rule).slice(0, 160)}` : ''}
          {sample.measured === null ? '' : `; measured ${decimal(sample.measured)}`}
        </div>
      ) : null}
      {sample.batch ? <BatchLink batch={sample.batch} /> : null}
      {sample.staleness ? <span className="faint"> {`${count(sample.staleness, 'version')} old`}</span> : null}
    </>
  );
}
