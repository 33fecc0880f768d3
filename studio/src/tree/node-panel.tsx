import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { type TreePageQuery, treeNode } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { count, decimal, whole } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import { Share } from '../parts/share.tsx';
import { Shown } from '../parts/shown.tsx';
import { NodeView } from '../renderer/node-view.tsx';
import { StepText } from '../trajectory/step-text.tsx';
import type { Node } from './layout.ts';
import { NodeHistory } from './node-history.tsx';
import type { StatisticsByStep } from './search.ts';
import { subtreeOf } from './subtree.ts';
import type { Outline } from './use-outline.ts';

const EXPLORATION = 0.25; // Agent-R's, where the run names none

/** What is known of the chosen node: its step, its children with the terms of UCT, and the rollouts that go through it. */
export function NodePanel({
  tree,
  outline,
  node,
  simulation,
  statistics,
  choose,
}: {
  readonly tree: NonNullable<TreePageQuery['tree']>;
  readonly outline: Outline;
  readonly node: Node | undefined;
  readonly simulation: number;
  readonly statistics: StatisticsByStep;
  readonly choose: (step: string) => void;
}) {
  const subtree = useMemo(() => (node ? subtreeOf(node, tree.rollouts) : null), [node, tree.rollouts]);
  if (!node || !subtree) return <aside className="panel faint">Choose a node: click, or walk with the arrow keys.</aside>;
  const own = statistics.get(node.step.id);
  const exploration = explorationOf(tree.run?.config) ?? EXPLORATION;
  const through = tree.rollouts.filter(({ leafId }) => leafId !== null && node.chain.some(({ id }) => id === leafId));
  return (
    <aside className="panel" aria-live="polite">
      <Text step={node.step.id} />
      <NodeView tree={tree.id} step={node.step.id} />
      <dl className="facts">
        <dt>below</dt>
        <dd>{`${count(subtree.steps, 'step')}, ${subtree.depth} deep, ${count(subtree.leaves, 'leaf', 'leaves')}`}</dd>
        {subtree.rollouts > 0 ? (
          <>
            <dt>rollouts through it</dt>
            <dd>
              {whole(subtree.rollouts)}
              {subtree.judged > 0 ? (
                <>
                  , success <Share successes={subtree.successes} of={subtree.judged} />
                </>
              ) : null}
            </dd>
            <dt>return, mean and best</dt>
            <dd>{`${decimal(subtree.meanReturn)}, ${decimal(subtree.bestReturn)}`}</dd>
          </>
        ) : null}
        {own ? (
          <>
            <dt>visits, value</dt>
            <dd>{`${whole(own.visits)}, ${decimal(own.value)}`}</dd>
          </>
        ) : null}
      </dl>
      {own ? <NodeHistory outline={outline} step={node.step.id} simulation={simulation} /> : null}
      {through.map((rollout) => (
        <p key={rollout.id}>
          <Link to="/view/trajectory/$id" params={{ id: rollout.id }} search={{ step: node.step.id }}>
            {`Rollout ${rollout.ordinal}`}
          </Link>{' '}
          {`${rollout.outcome ?? 'goes on'}, return ${decimal(rollout.return)}`}
        </p>
      ))}
      {node.children.length > 0 ? (
        <div className="scroll-x" role="region" aria-label="Children" tabIndex={0}>
          <table className="rows">
            <caption className="faint">{own ? `children, exploration ${exploration}` : 'children'}</caption>
            <thead>
              <tr>
                <th scope="col">action</th>
                {own ? (
                  <>
                    <th scope="col" className="number">
                      visits
                    </th>
                    <th scope="col" className="number">
                      value
                    </th>
                    <th scope="col" className="number">
                      + exploration
                    </th>
                    <th scope="col" className="number">
                      UCT
                    </th>
                  </>
                ) : null}
              </tr>
            </thead>
            <tbody>
              {node.children.map((child) => {
                const first = child.chain[0] ?? child.step;
                const known = statistics.get(first.id);
                const more =
                  own && known && known.visits > 0
                    ? exploration * Math.sqrt(Math.log(Math.max(1, own.visits)) / known.visits)
                    : null;
                return (
                  <tr key={first.id}>
                    <td>
                      <button type="button" className="quiet as-link" onClick={() => choose(child.step.id)}>
                        {visible(first.action).slice(0, 80) || '(no action)'}
                      </button>
                    </td>
                    {own ? (
                      <>
                        <td className="number">{whole(known?.visits ?? 0)}</td>
                        <td className="number">{decimal(known?.value)}</td>
                        <td className="number">{decimal(more)}</td>
                        <td className="number">{known && more !== null ? decimal(known.value + more) : '∞'}</td>
                      </>
                    ) : null}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ) : null}
    </aside>
  );
}

function Text({ step: id }: { readonly step: string }) {
  const answer = useAsk(treeNode, { id });
  return (
    <Shown of={answer}>
      {({ step }) =>
        step ? (
          <>
            <p className="faint">{step.depth === 0 ? 'root' : `depth ${step.depth}`}</p>
            {step.thought ? <StepText step={step} field="thought" className="thought" text={step.thought} /> : null}
            {step.action ? <StepText step={step} field="action" className="action" text={step.action} /> : null}
            <StepText step={step} field="observation" className="observation" text={step.observation} />
            {step.rewards.map((reward) => (
              <span key={reward.id} className={`reward ${reward.value < 0 ? 'reward-bad' : ''}`}>
                {`${visible(reward.component)} ${decimal(reward.value)}`}
              </span>
            ))}
          </>
        ) : null
      }
    </Shown>
  );
}

/** The weight of exploration of a search, where the configuration of its run names it. */
function explorationOf(config: unknown): number | undefined {
  const search = (config as { readonly search?: { readonly exploration?: unknown } } | null)?.search;
  return typeof search?.exploration === 'number' ? search.exploration : undefined;
}
