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
import { historyOf, type Statistics, type StatisticsByStep } from './search.ts';
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

const WIDTH = 260;
const HEIGHT = 48;

/** How the visits and the value of a node came about, simulation by simulation, up to the one that is shown. */
function NodeHistory({
  outline,
  step,
  simulation,
}: {
  readonly outline: Outline;
  readonly step: string;
  readonly simulation: number;
}) {
  const history = useMemo(() => historyOf(outline, step), [outline, step]);
  const last = outline.backUps.length;
  if (history.length === 0 || last === 0) return null;
  return (
    <div className="node-history">
      {(['visits', 'value'] as const).map((name) => (
        <figure key={name}>
          <figcaption className="faint">{`${name} by simulation`}</figcaption>
          <Line history={history} name={name} last={last} at={simulation} />
        </figure>
      ))}
    </div>
  );
}

function Line({
  history,
  name,
  last,
  at,
}: {
  readonly history: readonly (Statistics & { readonly simulation: number })[];
  readonly name: 'visits' | 'value';
  readonly last: number;
  readonly at: number;
}) {
  let [low, high] = [0, 0];
  for (const each of history) [low, high] = [Math.min(low, each[name]), Math.max(high, each[name])];
  const x = (simulation: number) => (WIDTH * simulation) / last;
  const y = (value: number) => HEIGHT - 3 - ((HEIGHT - 6) * (value - low)) / (high - low || 1);
  const [first] = history;
  let path = `M${x(first?.simulation ?? 0)} ${y(first?.[name] ?? 0)}`;
  for (const each of history) path += `H${x(each.simulation).toFixed(1)}V${y(each[name]).toFixed(1)}`;
  const newest = history.findLast(({ simulation }) => simulation <= at);
  const said = `${name} after simulation ${at}: ${newest ? (name === 'visits' ? whole(newest.visits) : decimal(newest.value)) : 'none'}, between ${decimal(low)} and ${decimal(high)}`;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={said} preserveAspectRatio="none">
      <title>{said}</title>
      <line x1={x(at)} x2={x(at)} y1="0" y2={HEIGHT} className="node-history-at" />
      <path d={`${path}H${WIDTH}`} className="node-history-line" />
    </svg>
  );
}
