import { useMemo } from 'react';
import { type TreePageQuery, treeNode } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Facts } from '../parts/facts.tsx';
import { count, decimal, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { OfTree } from '../parts/of-tree.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Rewards } from '../parts/rewards.tsx';
import { Share } from '../parts/share.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { NodeView } from '../renderer/node-view.tsx';
import { StepText } from '../trajectories/step-text.tsx';
import type { Node } from './layout.ts';
import { NodeHistory } from './node-history.tsx';
import type { Statistics, StatisticsByStep } from './search.ts';
import { subtreeOf } from './subtree.ts';
import type { Outline } from './use-outline.ts';

const EXPLORATION = 0.25; // Agent-R's, where the run names none

/** The terms of UCT of a child. */
const TERMS: readonly Column<{ readonly known: Statistics | undefined; readonly more: number | null }>[] = [
  ['visits', ({ known }) => whole(known?.visits ?? 0), 'number'],
  ['value', ({ known }) => decimal(known?.value), 'number'],
  ['+ exploration', ({ more }) => decimal(more), 'number'],
  ['UCT', ({ known, more }) => (known && more !== null ? decimal(known.value + more) : '∞'), 'number'],
];

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
      <OfTree value={tree.id}>
        <Text step={node.step.id} tree={tree.id} />
      </OfTree>
      <NodeView tree={tree.id} step={node.step.id} />
      <Facts
        of={[
          ['below', `${count(subtree.steps, 'step')}, ${subtree.depth} deep, ${count(subtree.leaves, 'leaf', 'leaves')}`],
          subtree.rollouts > 0 && [
            'rollouts through it',
            <>
              {whole(subtree.rollouts)}
              {subtree.judged > 0 ? (
                <>
                  , success <Share successes={subtree.successes} of={subtree.judged} />
                </>
              ) : null}
            </>,
          ],
          subtree.rollouts > 0 && ['return, mean and best', `${decimal(subtree.meanReturn)}, ${decimal(subtree.bestReturn)}`],
          !!own && ['visits, value', `${whole(own.visits)}, ${decimal(own.value)}`],
        ]}
      />
      {own ? <NodeHistory outline={outline} step={node.step.id} simulation={simulation} /> : null}
      {through.map((rollout) => (
        <p key={rollout.id}>
          <Link to="/view/trajectory/$id" params={{ id: rollout.id }} search={{ step: node.step.id, tree: tree.id }}>
            {`Rollout ${rollout.ordinal}`}
          </Link>{' '}
          {`${rollout.outcome ?? 'goes on'}, return ${decimal(rollout.return)}`}
        </p>
      ))}
      {node.children.length > 0 ? (
        <Table
          label="Children"
          caption={own ? `children, exploration ${exploration}` : 'children'}
          rows={node.children.map((child) => {
            const first = child.chain[0] ?? child.step;
            const known = statistics.get(first.id);
            const more =
              own && known && known.visits > 0 ? exploration * Math.sqrt(Math.log(Math.max(1, own.visits)) / known.visits) : null;
            return { child, first, known, more };
          })}
          keyOf={({ first }) => first.id}
          columns={[
            [
              'action',
              ({ child, first }) => (
                <button type="button" className="quiet as-link" onClick={() => choose(child.step.id)}>
                  {visible(first.action).slice(0, 80) || '(no action)'}
                </button>
              ),
            ],
            ...(own ? TERMS : []),
          ]}
        />
      ) : null}
    </aside>
  );
}

function Text({ step: id, tree }: { readonly step: string; readonly tree: string }) {
  const answer = useAsk(treeNode, { id, tree });
  return (
    <Query of={answer}>
      {({ step }) =>
        step ? (
          <>
            <p className="faint">{step.depth === 0 ? 'root' : `depth ${step.depth}`}</p>
            {step.thought ? <StepText step={step} field="thought" className="thought" text={step.thought} /> : null}
            {step.action ? <StepText step={step} field="action" className="action" text={step.action} /> : null}
            <StepText step={step} field="observation" className="observation" text={step.observation} />
            <Rewards of={step.rewards} />
          </>
        ) : null
      }
    </Query>
  );
}

/** The weight of exploration of a search, where the configuration of its run names it. */
function explorationOf(config: unknown): number | undefined {
  const search = (config as { readonly search?: { readonly exploration?: unknown } } | null)?.search;
  return typeof search?.exploration === 'number' ? search.exploration : undefined;
}
