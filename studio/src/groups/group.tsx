import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type GroupPageQuery, groupPage, parting } from '../../../graphql/studio/generated/operations.ts';
import { ESTIMATORS } from '../../../src/domain/training/advantages/estimators.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose } from '../parts/choose.tsx';
import { colourOf, scaleOf } from '../parts/colour.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, decimal, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RolloutLink, RunTrail, taskName } from '../parts/links.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Found } from '../parts/query.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { GroupViews } from '../renderer/drawn-views.tsx';
import { BatchLink } from '../training/batch-link.tsx';

type Group = NonNullable<GroupPageQuery['tree']>;
type Rollout = Group['rollouts'][number];

/** The rollouts of one task side by side: what each earned, its advantage, where it parts from the best, what became of it. */
export function GroupPage() {
  const { id } = useParams({ from: '/view/group/$id' });
  const answer = useAsk(groupPage, { id });
  return (
    <Found of={answer} what="tree" id={id} one={({ tree }) => tree}>
      {(tree) => (
        <>
          <PageHead title={taskName(tree, 160)} trail={<RunTrail run={tree.run ?? { id: tree.runId }} />}>
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
      )}
    </Found>
  );
}

function Siblings({ rollouts }: { readonly rollouts: readonly Rollout[] }) {
  const { estimator } = useSearch({ from: '/view/group/$id' });
  const navigate = useNavigate({ from: '/view/group/$id' });
  const compared = rollouts.filter((rollout) => rollout.return !== null);
  const advantages = advantagesBy(
    estimator,
    compared.flatMap((rollout) => rollout.return ?? []),
  );
  const best = rollouts.toSorted((a, b) => (b.return ?? -Infinity) - (a.return ?? -Infinity))[0];
  const [low, high] = scaleOf(rollouts.flatMap((rollout) => rollout.return ?? []));
  const components = [
    ...new Set(rollouts.flatMap(({ trajectory }) => trajectory?.returns.map(({ component }) => component) ?? [])),
  ];
  return (
    <>
      <Choose
        className="faint"
        label="next to the estimator in force"
        value={estimator}
        options={[['', 'no other'], ...COMPARING.map(({ name }) => name)]}
        set={(value) => void navigate({ search: (all) => ({ ...all, estimator: value || undefined }), replace: true })}
      />
      <Table
        label="Rollouts of the group"
        rows={rollouts}
        keyOf={({ id }) => id}
        columns={[
          ['rollout', (rollout) => <RolloutLink rollout={rollout} item />],
          [
            'end',
            ({ outcome, success, reason }) => (
              <>
                <span className={`state state-${outcome ?? 'running'}`}>{outcome ?? 'goes on'}</span> {success ? 'success' : ''}
                {reason ? <div className="reason">{visible(reason).slice(0, 160)}</div> : null}
              </>
            ),
          ],
          [
            'return',
            (rollout) =>
              rollout.return === null ? (
                '–'
              ) : (
                <>
                  <i className="swatch" style={{ background: colourOf(rollout.return, low, high) }} /> {decimal(rollout.return)}
                </>
              ),
            'number',
          ],
          ...components.map(
            (component): Column<Rollout> => [
              visible(component),
              ({ trajectory }) => decimal(trajectory?.returns.find((each) => each.component === component)?.value),
              'number',
            ],
          ),
          [
            'advantage',
            ({ sample }) => (
              <>
                {decimal(sample?.estimate?.advantage)}
                <div className="faint">{sample?.batch?.estimator.name}</div>
              </>
            ),
            'number',
          ],
          ...(advantages
            ? [
                [
                  `advantage by ${estimator}`,
                  (rollout: Rollout) => decimal(advantages[compared.indexOf(rollout)]),
                  'number',
                ] as const,
              ]
            : []),
          ['steps', ({ stepCount }) => stepCount ?? '–', 'number'],
          [
            'parts from the best',
            ({ id, treeId, finishedAt }) =>
              best && best.id !== id && finishedAt && best.finishedAt ? <Parting a={best.id} b={id} tree={treeId} /> : null,
          ],
          ['as a sample', ({ sample }) => <Sample sample={sample} />],
          ['policy', ({ policy }) => <bdi>{`${visible(policy.id)}@${policy.version}`}</bdi>],
        ]}
      />
    </>
  );
}

function Parting(of: { readonly a: string; readonly b: string; readonly tree: string }) {
  const { a, b, tree } = of;
  const answer = useAsk(parting, { a, b, tree });
  if (!answer.data) return <span className="faint">…</span>;
  const { divergence } = answer.data;
  return (
    <Link to="/view/diff" search={{ a, b, aTree: tree, bTree: tree }}>
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

/** The estimators that compare the returns of a group alone, with their default options. */
const COMPARING = Object.values(ESTIMATORS).flatMap((each) => {
  const chosen = each.configure({});
  if (chosen.kind === 'refused') return [];
  const { reach, readiness } = chosen.estimator;
  const compares = reach === 'group' && readiness.waitsFor === 'closed-groups' && readiness.columns.length === 0;
  return compares ? [chosen.estimator] : [];
});

/** Returns the advantages of the returns of one group by an estimator; null for a name that none of them has, and for too few returns. */
function advantagesBy(name: string | undefined, returns: readonly number[]): Float64Array | null {
  const estimated = COMPARING.find((each) => each.name === name)?.estimate({
    rewards: returns.map((value) => Float64Array.of(value)),
    masks: returns.map(() => Uint8Array.of(1)),
    groups: returns.map(() => 'group'),
    trajectories: returns.map((_, place) => String(place)),
    steps: returns.map(() => 0),
    values: null,
    bootstraps: null,
    anchors: null,
    stepRewards: null,
    stepParts: null,
    greedyScores: null,
    oldLogProbs: null,
    squaredProbs: null,
    rolloutWeights: null,
  });
  return estimated?.kind === 'estimated' ? Float64Array.from(estimated.advantages, (row) => row[0] ?? 0) : null;
}
