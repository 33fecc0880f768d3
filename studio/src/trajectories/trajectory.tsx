import { useParams, useSearch } from '@tanstack/react-router';
import { type TrajectoryPageQuery, trajectoryPage } from '../../../graphql/studio/generated/operations.ts';
import { AnnotateButton, Annotations } from '../annotations/annotations.tsx';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, decimal } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RunTrail, taskName } from '../parts/links.tsx';
import { OfTree } from '../parts/of-tree.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Found } from '../parts/query.tsx';
import { BatchLink } from '../training/batch-link.tsx';
import { Undeclared } from '../training/undeclared.tsx';
import { Instruction } from './step-text.tsx';
import { Steps } from './steps.tsx';

type Rollout = NonNullable<TrajectoryPageQuery['rollout']>;

/** One trajectory: what was seen, thought and done in it, and what it earned where. */
export function TrajectoryPage() {
  const { id } = useParams({ from: '/view/trajectory/$id' });
  const { tree } = useSearch({ from: '/view/trajectory/$id' });
  const answer = useAsk(trajectoryPage, { id, tree });
  return (
    <OfTree value={answer.data?.rollout?.treeId ?? tree}>
      <Found of={answer} what="rollout" id={id} one={({ rollout }) => rollout}>
        {(rollout) => <Head rollout={rollout} />}
      </Found>
      {answer.data && !answer.data.rollout ? null : <Steps rollout={id} tree={answer.data?.rollout?.treeId} />}
    </OfTree>
  );
}

function Head({ rollout }: { readonly rollout: Rollout }) {
  const { tree, run, sample, policy } = rollout;
  const others = tree?.rollouts.filter(({ id }) => id !== rollout.id) ?? [];
  const best = others.toSorted((a, b) => (b.return ?? -Infinity) - (a.return ?? -Infinity))[0];
  return (
    <>
      <PageHead
        title={`${taskName(tree, 120) || 'trajectory'} · rollout ${rollout.ordinal}`}
        trail={
          <RunTrail run={run}>
            <Link to="/view/group/$id" params={{ id: rollout.treeId }}>
              group
            </Link>
          </RunTrail>
        }
      >
        <Link
          className="button"
          to="/view/tree/$id"
          params={{ id: rollout.treeId }}
          search={rollout.leafId ? { step: rollout.leafId } : {}}
        >
          In the tree
        </Link>
        <Link
          className="button"
          to="/view/diff"
          search={{ a: rollout.id, aTree: rollout.treeId, ...(best ? { b: best.id, bTree: rollout.treeId } : {}) }}
        >
          {best ? `Diff with rollout ${best.ordinal}` : 'Diff with another'}
        </Link>
        <AnnotateButton what={{ subject: { rollout: rollout.id, inTree: rollout.treeId }, name: `rollout ${rollout.ordinal}` }} />
        <CopyAs
          operation={trajectoryPage}
          variables={{ id: rollout.id, tree: rollout.treeId }}
          command={`espalier tree ${rollout.treeId}`}
        />
      </PageHead>
      {tree?.forgotten ? <p className="notice">Something of its payload is forgotten.</p> : null}
      <div className="row">
        <span className={`state state-${rollout.outcome ?? 'running'}`}>{rollout.outcome ?? 'goes on'}</span>
        {rollout.success === null ? null : <span className="state">{rollout.success ? 'success' : 'no success'}</span>}
        <span>
          return <b>{decimal(rollout.return)}</b>
        </span>
        <span>{rollout.stepCount === null ? '' : count(rollout.stepCount, 'step')}</span>
        {rollout.unclearCalls ? (
          <span
            className="state state-failed"
            title="They were made next to this path, and may belong to it: their program changed what it sends back."
          >
            {count(rollout.unclearCalls, 'unclear call')}
          </span>
        ) : null}
        <span>
          policy <bdi>{`${visible(policy.id)}@${policy.version}`}</bdi>
        </span>
        <span className="faint">{visible(rollout.environment)}</span>
        {sample ? (
          <span className={`state state-${sample.state}`}>
            sample: {sample.state}
            {sample.reason ? ` (${visible(sample.reason)})` : ''}
            {sample.batch ? (
              <>
                , <BatchLink batch={sample.batch} />
              </>
            ) : null}
          </span>
        ) : null}
        {rollout.rewards.map((reward) => (
          <span key={reward.id} className="reward" title={`${reward.scorer.name}@${reward.scorer.revision}`}>
            {visible(reward.component)} {decimal(reward.value)} on the whole
          </span>
        ))}
      </div>
      {sample?.state === 'ready' || sample?.state === 'group' ? <Undeclared config={run?.config} /> : null}
      <Annotations of={rollout.annotations} />
      {rollout.reason ? <p className="reason">{visible(rollout.reason)}</p> : null}
      {tree?.instruction ? (
        <details>
          <summary>Instruction</summary>
          <Instruction tree={tree} />
        </details>
      ) : null}
    </>
  );
}
