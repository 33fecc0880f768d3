import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import {
  type DiffPathQuery,
  type DiffSideQuery,
  diffPath,
  diffSide,
  divergence,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { Failure } from '../parts/failure.tsx';
import { decimal } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { PlainText, visible } from '../parts/plain-text.tsx';
import { DrawnViews } from '../renderer/drawn-views.tsx';
import { useRenderer } from '../renderer/use-renderer.ts';
import { align, type Pair } from './align.ts';

type Step = DiffPathQuery['path'][number];
type Side = NonNullable<DiffSideQuery['rollout']>;
type Names = readonly [string, string]; // of the two sides, where one stands below the other
const AROUND = 1; // equal steps that stay open next to a difference

/** Two trajectories next to each other: where they part, with equal stretches folded. */
export function DiffPage() {
  const { a = '', b = '' } = useSearch({ from: '/view/diff' });
  const navigate = useNavigate({ from: '/view/diff' });
  const [left, right] = [useAsk(diffSide, { id: a }, { enabled: a !== '' }), useAsk(diffSide, { id: b }, { enabled: b !== '' })];
  const [first, second] = [left.data?.rollout, right.data?.rollout];
  return (
    <>
      <PageHead title="Diff of two trajectories" trail={<Link to="/">Runs</Link>}>
        <button type="button" onClick={() => void navigate({ search: (all) => ({ ...all, a: b, b: a }) })}>
          Swap
        </button>
      </PageHead>
      {left.error || right.error ? <Failure error={left.error ?? right.error} /> : null}
      {first && second ? (
        <Both a={first} b={second} />
      ) : left.isPending || right.isPending ? (
        <p className="loading">{a === '' || b === '' ? 'Name two rollouts in the address: ?a=…&b=…' : 'Loading…'}</p>
      ) : (
        <p className="empty">One of the rollouts is not known at this moment of the record.</p>
      )}
    </>
  );
}

function Both({ a, b }: { readonly a: Side; readonly b: Side }) {
  const left = useAsk(diffPath, { leaf: a.leafId ?? '' }, { enabled: a.leafId !== null });
  const right = useAsk(diffPath, { leaf: b.leafId ?? '' }, { enabled: b.leafId !== null });
  const pairs = useMemo(
    () =>
      left.data && right.data
        ? align(left.data.path, right.data.path, (step) => JSON.stringify([step.action, step.observation]))
        : null,
    [left.data, right.data],
  );
  if (a.leafId === null || b.leafId === null) return <p className="empty">One of the rollouts has not ended yet.</p>;
  if (left.error || right.error) return <Failure error={left.error ?? right.error} />;
  if (!pairs) return <p className="loading">Loading…</p>;
  const parted = pairs.findIndex(({ equal }) => !equal);
  return (
    <>
      <p>
        {parted === -1
          ? 'Both did and saw the same.'
          : `They part at step ${pairs[parted]?.a?.depth ?? pairs[parted]?.b?.depth}: ${kindOf(pairs[parted])}.`}
      </p>
      <CopyAs operation={divergence} variables={{ a: a.id, b: b.id }} />
      <DiffViews key={`${a.id} ${b.id}`} pairs={pairs} a={a} b={b} from={Math.max(0, parted)} />
      <div className="diff">
        <Name side={a} />
        <Name side={b} />
        <Rows pairs={pairs} names={[`rollout ${a.ordinal}`, `rollout ${b.ordinal}`]} />
      </div>
    </>
  );
}

/** Both sides as their environments draw them, at a place of the alignment: at first where they part. */
function DiffViews({
  pairs,
  a,
  b,
  from,
}: {
  readonly pairs: readonly Pair<Step>[];
  readonly a: Side;
  readonly b: Side;
  readonly from: number;
}) {
  const [at, setAt] = useState(from);
  const renderer = useRenderer(a.tree?.id);
  if (!renderer) return null;
  const side = (of: 'a' | 'b') => pairs.slice(0, at + 1).findLast((pair) => pair[of])?.[of]; // a side that ended stays at its end
  const views = (
    [
      ['a', a],
      ['b', b],
    ] as const
  ).flatMap(([of, { ordinal, tree }]) => {
    const step = side(of);
    return step && tree
      ? [{ name: `rollout ${ordinal}, ${step.depth === 0 ? 'start' : `step ${step.depth}`}`, tree: tree.id, step: step.id }]
      : [];
  });
  return (
    <>
      <label className="faint">
        drawn at{' '}
        <input
          type="range"
          min={0}
          max={pairs.length - 1}
          value={at}
          aria-valuetext={views.map(({ name }) => name).join(', ')}
          onChange={(event) => setAt(Number(event.target.value))}
        />
      </label>
      <DrawnViews views={views} open={matchMedia('(min-width: 1000px)').matches} />
    </>
  );
}

function kindOf(pair: Pair<Step> | undefined): string {
  if (!pair?.a || !pair.b) return 'one goes on and the other does not';
  return pair.a.action === pair.b.action ? 'the same action showed something else' : 'another action was taken';
}

function Name({ side }: { readonly side: Side }) {
  return (
    <div>
      <b>
        <Link to="/view/trajectory/$id" params={{ id: side.id }}>
          {`rollout ${side.ordinal}`}
        </Link>
      </b>{' '}
      <span className="faint">{`${visible(side.run?.name ?? '')} · ${visible(side.policy.id)}@${side.policy.version}`}</span>
      <div>{`${side.outcome ?? ''}, return ${decimal(side.return)}${side.success ? ', success' : ''}`}</div>
    </div>
  );
}

function Rows({ pairs, names }: { readonly pairs: readonly Pair<Step>[]; readonly names: Names }) {
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const shown = pairs.map(
    (pair, at) => !pair.equal || pairs.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((near) => !near.equal),
  );
  const rows = [];
  for (let at = 0; at < pairs.length; at++) {
    const pair = pairs[at]!;
    if (shown[at]) {
      rows.push(<Row key={at} pair={pair} names={names} />);
      continue;
    }
    const start = at;
    while (at + 1 < pairs.length && !shown[at + 1]) at++;
    if (opened.has(start)) for (let i = start; i <= at; i++) rows.push(<Row key={i} pair={pairs[i]!} names={names} />);
    else
      rows.push(
        <button key={start} type="button" className="diff-fold" data-item onClick={() => setOpened(new Set([...opened, start]))}>
          {`${at - start + 1} equal steps`}
        </button>,
      );
  }
  return rows;
}

function Row({ pair: { a, b, equal }, names: [left, right] }: { readonly pair: Pair<Step>; readonly names: Names }) {
  return (
    <>
      <Cell step={a} other={b} equal={equal} side={left} />
      <Cell step={b} other={a} equal={equal} side={right} />
    </>
  );
}

function Cell({
  step,
  other,
  equal,
  side,
}: {
  readonly step: Step | null;
  readonly other: Step | null;
  readonly equal: boolean;
  readonly side: string;
}) {
  if (!step) return <div className="diff-none" />;
  const acted = equal || other?.action === step.action;
  return (
    <article
      className={`step ${equal ? '' : 'diff-differs'}`}
      aria-label={`step ${step.depth}${equal ? ', equal' : ', differs'}`}
    >
      <header>
        <span className="faint">{step.depth === 0 ? 'start' : step.depth}</span>
        <span className="faint diff-side">{side}</span>
        {step.rewards.map((reward) => (
          <span key={reward.id} className={`reward ${reward.value < 0 ? 'reward-bad' : ''}`}>
            {`${visible(reward.component)} ${decimal(reward.value)}`}
          </span>
        ))}
      </header>
      {step.thought ? <PlainText className="thought" text={step.thought} /> : null}
      {step.action ? <PlainText className={`action ${acted ? '' : 'diff-mark'}`} text={step.action} /> : null}
      {step.observation ? (
        <PlainText className={`observation ${equal || !acted ? '' : 'diff-mark'}`} text={step.observation} />
      ) : null}
    </article>
  );
}
