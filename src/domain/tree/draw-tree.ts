import { groupBy } from '../group-by.ts';
import { type Tree, type TreeNode, type TreeStep, walkDown } from './grow-tree.ts';

/** What a drawing shows of a step. */
export interface DrawnStep extends TreeStep {
  readonly action: string;
  readonly observation: string;
  readonly termination: string;
}

/** How much of a tree a drawing shows. */
export interface DrawingOptions {
  /** The most lines drawn. */
  readonly lines: number;
  /** Whether every step has a line, which ends in its id: that of the first where several did the same. */
  readonly ids?: boolean;
}

export interface TreeDrawing {
  readonly lines: readonly string[];
  /** Lines that were left out to keep within the limit. */
  readonly hidden: number;
}

/**
 * Draws a tree in text. Siblings that did the same (action, observation, end) are one branch with their number, so a group of
 * rollouts is seen as the tree of what they did; a stretch without a fork is one line, unless ids are shown. Each line shows how
 * many of the rollouts that end below it succeeded, and ends in ■ where the environment ended, … where a limit did.
 * @param succeeded the leaf steps of successful rollouts.
 */
export function drawTree(tree: Tree<DrawnStep>, succeeded: ReadonlySet<string>, options: DrawingOptions): TreeDrawing {
  return draw(tree, { label: (group) => scoreOf(group, succeeded), weight: (group) => group.length }, options);
}

/** What a search knows of a step. */
export interface SearchedNode {
  readonly visits: number;
  readonly valueSum: number;
}

/** Draws the tree of a search in the same way, with visits and mean value in place of successes, the most visited first. */
export function drawSearch(
  tree: Tree<DrawnStep>,
  visited: ReadonlyMap<string, SearchedNode>,
  options: DrawingOptions,
): TreeDrawing {
  const totals = (group: Group) => {
    const of = group.map(({ step }) => visited.get(step.stepId) ?? { visits: 0, valueSum: 0 });
    return {
      visits: of.reduce((sum, { visits }) => sum + visits, 0),
      valueSum: of.reduce((sum, { valueSum }) => sum + valueSum, 0),
    };
  };
  const label = (group: Group) => {
    const { visits, valueSum } = totals(group);
    return visits === 0
      ? 'not visited'
      : `${visits} ${visits === 1 ? 'visit' : 'visits'}, value ${(valueSum / visits).toFixed(2)}`;
  };
  return draw(tree, { label, weight: (group) => totals(group).visits }, options);
}

/** What follows a branch, and what puts it before its siblings. */
interface Marks {
  readonly label: (group: Group) => string;
  readonly weight: (group: Group) => number;
}

function draw(tree: Tree<DrawnStep>, { label, weight }: Marks, { lines: limit, ids = false }: DrawingOptions): TreeDrawing {
  const idOf = (group: Group) => (ids ? `  ${group[0]?.step.stepId}` : '');
  const all: string[] = [`● ${short(lastLine(tree.root.step.observation), 80)}  ${label([tree.root])}${idOf([tree.root])}`];
  const waiting: Branch[] = branchesBelow([tree.root], '', weight);
  for (let branch = waiting.pop(); branch; branch = waiting.pop()) {
    const stretch = [branch.group];
    let below = groupSame(branch.group.flatMap(childrenOf), weight);
    while (!ids && below.length === 1 && below[0]?.length === stretch.at(-1)?.length) {
      stretch.push(below[0] ?? []);
      below = groupSame((below[0] ?? []).flatMap(childrenOf), weight);
    }
    const end = stretch.at(-1) ?? [];
    all.push(`${branch.prefix}${branch.last ? '└─ ' : '├─ '}${lineOf(stretch)}  ${label(branch.group)}${idOf(end)}`);
    for (const below of branchesBelow(end, `${branch.prefix}${branch.last ? '   ' : '│  '}`, weight)) waiting.push(below);
  }
  return { lines: all.slice(0, limit), hidden: Math.max(0, all.length - limit) };
}

type Group = readonly TreeNode<DrawnStep>[];
interface Branch {
  readonly group: Group;
  readonly prefix: string;
  readonly last: boolean;
}

function childrenOf(node: TreeNode<DrawnStep>): Group {
  return node.children;
}

/** Returns the branches below a group, the last to be drawn first: they are taken off the end. */
function branchesBelow(group: Group, prefix: string, weight: Marks['weight']): Branch[] {
  const groups = groupSame(group.flatMap(childrenOf), weight);
  return groups.map((below, i) => ({ group: below, prefix, last: i === groups.length - 1 })).reverse();
}

/** Groups nodes that did the same, the weightiest first: what a reader looks for. */
function groupSame(nodes: Group, weight: Marks['weight']): Group[] {
  const groups = groupBy(nodes, ({ step: { action, observation, termination } }) =>
    JSON.stringify([action, observation, termination]),
  );
  return [...groups.values()].sort((a, b) => weight(b) - weight(a));
}

const SHOWN_AT_ENDS = 1;

function lineOf(stretch: readonly Group[]): string {
  const actions = stretch.map((group) => short(group[0]?.step.action ?? '', 44));
  const hidden = actions.length - 2 * SHOWN_AT_ENDS;
  const shown = hidden > 1 ? [...actions.slice(0, SHOWN_AT_ENDS), `(${hidden} more)`, ...actions.slice(-SHOWN_AT_ENDS)] : actions;
  const times = (stretch[0]?.length ?? 1) > 1 ? ` ×${stretch[0]?.length}` : '';
  const termination = stretch.at(-1)?.[0]?.step.termination;
  const end = termination === 'terminated' ? ' ■' : termination === 'truncated' ? ' …' : '';
  return `${shown.join(' → ')}${times}${end}`;
}

function scoreOf(group: Group, succeeded: ReadonlySet<string>): string {
  let ends = 0;
  let won = 0;
  for (const top of group) {
    for (const node of walkDown(top)) {
      if (node.step.termination !== 'none') ends++;
      if (succeeded.has(node.step.stepId)) won++;
    }
  }
  return `${won}/${ends}`;
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

function short(text: string, width: number): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > width ? `${flat.slice(0, width - 1)}…` : flat;
}
