import { useParams, useSearch } from '@tanstack/react-router';
import {
  type JudgementTextsQuery,
  judgementTexts,
  type RevisionPageQuery,
  revisionPage,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { decimal, shortId } from '../parts/format.ts';
import { LargeText } from '../parts/large-text.tsx';
import { Link } from '../parts/link.tsx';
import { RunTrail, taskName } from '../parts/links.tsx';
import { OfTree } from '../parts/of-tree.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainText, visible } from '../parts/plain-text.tsx';
import { Found } from '../parts/query.tsx';
import { DrawnViews, type View } from '../renderer/drawn-views.tsx';
import { Instruction, StepText } from '../trajectories/step-text.tsx';
import { MaskBar } from './mask-bar.tsx';
import { RevisionState } from './revision-state.tsx';
import { TurnTokens } from './turn-tokens.tsx';

type Revision = NonNullable<RevisionPageQuery['revision']>;
type Turn = NonNullable<Revision['turns']>[number];
type Judgement = Revision['judgements'][number];

const PARTS: Readonly<Record<string, string>> = { bad: 'bad prefix', signal: 'reflection', good: 'good suffix' };

/** A revision trajectory: the bad one up to its first error with the verdicts, the reflection, the good end, and whether it held. */
export function RevisionPage() {
  const { id } = useParams({ from: '/view/revision/$id' });
  const { tree } = useSearch({ from: '/view/revision/$id' });
  const answer = useAsk(revisionPage, { id, tree });
  return (
    <Found of={answer} what="revision" id={id} one={({ revision }) => revision}>
      {(revision) => (
        <OfTree value={revision.treeId}>
          <Whole revision={revision} />
        </OfTree>
      )}
    </Found>
  );
}

function Whole({ revision }: { readonly revision: Revision }) {
  const { tree, goodLeaf, badLeaf } = revision;
  const verdicts = new Map(revision.judgements.map((judgement) => [judgement.stepId, judgement]));
  const turns = revision.turns ?? [];
  const trained = turns.filter(({ loss }) => loss).length;
  return (
    <>
      <PageHead
        title={`Revision: ${taskName(tree, 120) || shortId(revision.id)}`}
        trail={
          <RunTrail run={{ id: revision.runId, name: tree?.run?.name }}>
            <Link to="/view/tree/$id" params={{ id: revision.treeId }}>
              tree
            </Link>
          </RunTrail>
        }
      >
        {goodLeaf?.rolloutId && badLeaf?.rolloutId ? (
          <Link
            className="button"
            to="/view/diff"
            search={{ a: badLeaf.rolloutId, b: goodLeaf.rolloutId, aTree: revision.treeId, bTree: revision.treeId }}
          >
            Diff of the two
          </Link>
        ) : null}
        <Link className="button" to="/view/lineage/$id" params={{ id: revision.id }} search={{ tree: revision.treeId }}>
          Lineage
        </Link>
        <CopyAs
          operation={revisionPage}
          variables={{ id: revision.id, tree: revision.treeId }}
          command={`espalier trace ${revision.id} --tree ${revision.treeId}`}
        />
      </PageHead>
      <div className="row">
        <RevisionState of={revision.state} />
        <span>
          {revision.reached === null ? 'not executed to its end' : `reached ${decimal(revision.reached)}`}
          {revision.threshold === null ? '' : `, had to reach ${decimal(revision.threshold)}`}
        </span>
        <span className="faint">{`good at least ${decimal(revision.alpha)}, better by ${decimal(revision.beta)}, given up: ${revision.cause}, judge ${visible(revision.judge).slice(0, 40)}`}</span>
        {revision.datasets.nodes.map((dataset) => (
          <Link key={dataset.id} to="/view/dataset/$id" params={{ id: dataset.id }}>
            {`${visible(dataset.name)}@${dataset.version}`}
          </Link>
        ))}
      </div>
      {revision.reason ? (
        <p className="notice notice-bad">
          <strong>Rejected: {visible(revision.reason)}</strong>
          {revision.rejectedAt ? ` at step ${revision.rejectedAt.depth}` : ''}. {visible(revision.detail ?? '')}
        </p>
      ) : null}
      {revision.turns === null ? null : (
        <p className="faint">{`The row as it ${revision.state === 'rejected' ? 'would be' : 'is'} trained on: ${turns.length} turns, the loss on ${trained} replies.${revision.state === 'rejected' ? ' No release by default holds it.' : ''}`}</p>
      )}
      {revision.turns === null ? null : (
        <MaskBar opening={`${tree?.instruction ?? ''}${tree?.root?.observation ?? ''}`} turns={turns} />
      )}
      <DrawnViews key={revision.id} views={viewsOf(revision)} open={false} />
      {revision.turns === null ? null : <NotKept revision={revision} />}
      <ol className="plain found">
        <li>
          <article className="step">
            <header>
              <span className="state">instruction and first observation</span>
              <span className="faint">context</span>
            </header>
            <details>
              <summary>{visible(tree?.root?.observation ?? tree?.instruction ?? '').slice(0, 120)}</summary>
              {tree?.instruction ? <Instruction tree={tree} /> : null}
              {tree?.root?.observation ? (
                <StepText step={tree.root} field="observation" className="observation" text={tree.root.observation} />
              ) : null}
            </details>
          </article>
        </li>
        {turns.map((turn, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the turns of a revision never change
          <li key={at}>
            <TurnCard
              turn={turn}
              judgement={turn.part === 'bad' && turn.stepId ? verdicts.get(turn.stepId) : undefined}
              revision={revision.id}
            />
          </li>
        ))}
      </ol>
    </>
  );
}

/** Where the bad trajectory was given up, where it ended, and where the good one did. */
function viewsOf({ treeId: tree, transition, badLeaf, goodLeaf }: Revision): readonly View[] {
  const steps = [
    { name: `given up here, step ${transition?.depth}`, step: transition?.id },
    { name: 'the end of the bad trajectory', step: badLeaf?.id },
    { name: 'the end of the good trajectory', step: goodLeaf?.id },
  ];
  return steps.flatMap(({ name, step }) => (step === undefined ? [] : [{ name, tree, step }]));
}

/** What was judged and is no part of the row: the step at which the bad trajectory was given up. */
function NotKept({ revision }: { readonly revision: Revision }) {
  const kept = new Set(revision.turns?.map(({ stepId }) => stepId));
  const left = revision.judgements.filter(({ stepId }) => !kept.has(stepId));
  return left.map((judgement) => (
    <details key={judgement.id} className="notice">
      <summary>
        Judged and not kept: step {judgement.step?.depth}, <b>{judgement.verdict}</b>
      </summary>
      {judgement.step ? (
        <>
          <StepText step={judgement.step} field="action" className="action" text={judgement.step.action} />
          <StepText step={judgement.step} field="observation" className="observation" text={judgement.step.observation} />
        </>
      ) : null}
      <Reply of={judgement} revision={revision.id} />
    </details>
  ));
}

/** All that a judge said. */
function Reply({ of: { id, reply, largeTexts }, revision }: { readonly of: Judgement; readonly revision: string }) {
  const textsIn = (read: JudgementTextsQuery) => read.revision?.judgements.find((each) => each.id === id)?.largeTexts;
  const source = { operation: judgementTexts, id: revision, textsIn };
  return <LargeText text={reply} field="reply" largeTexts={largeTexts} source={source} />;
}

function TurnCard({
  turn,
  judgement,
  revision,
}: {
  readonly turn: Turn;
  readonly judgement: Judgement | undefined;
  readonly revision: string;
}) {
  return (
    <article className={`step turn-${turn.part}`}>
      <header>
        <span className="state">{PARTS[turn.part] ?? turn.part}</span>
        <span className={turn.loss ? 'reward' : 'faint'}>{turn.loss ? 'trained' : 'context'}</span>
        {judgement ? (
          <span
            className={`state ${judgement.verdict === 'bad' ? 'state-failed' : judgement.verdict === 'good' ? 'state-completed' : ''}`}
          >
            {`judged ${judgement.verdict}`}
          </span>
        ) : null}
      </header>
      <PlainText className="action" text={turn.response} />
      {turn.observation ? <PlainText className="observation" text={turn.observation} /> : null}
      <TurnTokens turn={turn} />
      {judgement?.reply ? (
        <details>
          <summary>What the judge said{judgement.reusedFrom ? ' (taken from an equal question)' : ''}</summary>
          <Reply of={judgement} revision={revision} />
        </details>
      ) : null}
    </article>
  );
}
