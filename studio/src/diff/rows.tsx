import { useState } from 'react';
import { count, decimal, whole } from '../parts/format.ts';
import { RolloutLink } from '../parts/links.tsx';
import { PlainText, visible } from '../parts/plain-text.tsx';
import { Rewards } from '../parts/rewards.tsx';
import type { Pair } from './align.ts';
import type { Names, Side, Step } from './sides.ts';

const AROUND = 1; // equal steps that stay open next to a difference

/** Steps of a path that a diff reads: `first` of `DiffPath`. */
export const LONGEST = 2_000;

/** A longer trajectory is compared in its beginning alone. */
export function Cut() {
  return <p className="notice">{`The first ${whole(LONGEST)} steps are compared; what follows is in the trajectories.`}</p>;
}

/** What one side of a diff is. */
export function Name({ side }: { readonly side: Side }) {
  return (
    <div>
      <b>
        <RolloutLink rollout={side} />
      </b>{' '}
      <span className="faint">{`${visible(side.run?.name ?? '')} · ${visible(side.policy.id)}@${side.policy.version}`}</span>
      <div>{`${side.outcome ?? ''}, return ${decimal(side.return)}${side.success ? ', success' : ''}`}</div>
    </div>
  );
}

/** Steps next to each other, equal stretches folded. */
export function Rows({ pairs, names }: { readonly pairs: readonly Pair<Step>[]; readonly names: Names }) {
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
          {`Show ${count(at - start + 1, 'equal step')}`}
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
        <Rewards of={step.rewards} />
      </header>
      {step.notes?.map((note) => (
        <p key={note} className="reason">
          {visible(note).slice(0, 2_000)}
        </p>
      ))}
      {step.thought ? <PlainText className="thought" text={step.thought} /> : null}
      {step.action ? <PlainText className={`action ${acted ? '' : 'diff-mark'}`} text={step.action} /> : null}
      {step.largeTexts.map(({ field, size }) => (
        <p key={field} className="faint">{`${visible(field)}: the beginning of ${whole(size)} bytes`}</p>
      ))}
      {step.observation ? (
        <PlainText className={`observation ${equal || !acted ? '' : 'diff-mark'}`} text={step.observation} />
      ) : null}
    </article>
  );
}
