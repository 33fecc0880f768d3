import { type Tree, type TreeNode, type TreeStep, walkDown } from './grow-tree.ts';

/** What a drawing shows of a step. */
export interface DrawnStep extends TreeStep {
  readonly action: string;
  readonly observation: string;
  readonly termination: string;
}

export interface Drawing {
  /** Steps below which rollouts that did the same are drawn as one line. */
  readonly lines: readonly string[];
  /** Lines that were left out to keep within the limit. */
  readonly hidden: number;
}

/**
 * Draws a tree in text. Siblings with the same action and observation are one line with their number, so a group of rollouts is seen as the
 * tree of what they did. Each line ends with how many of the rollouts below it succeeded.
 * @param succeeded the leaf steps of successful rollouts. @param limit the most lines drawn.
 */
export function drawTree(tree: Tree<DrawnStep>, succeeded: ReadonlySet<string>, limit: number): Drawing {
  const all: string[] = [];
  const waiting: Pending[] = [{ group: [tree.root], prefix: '', last: true, root: true }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    all.push(line(next, succeeded));
    const groups = groupSame(next.group.flatMap((node) => node.children));
    const below = next.root ? '' : `${next.prefix}${next.last ? '   ' : '│  '}`;
    for (let i = groups.length - 1; i >= 0; i--) {
      const group = groups[i];
      if (group) waiting.push({ group, prefix: below, last: i === groups.length - 1, root: false });
    }
  }
  return { lines: all.slice(0, limit), hidden: Math.max(0, all.length - limit) };
}

interface Pending {
  readonly group: readonly TreeNode<DrawnStep>[];
  readonly prefix: string;
  readonly last: boolean;
  readonly root: boolean;
}

function groupSame(nodes: readonly TreeNode<DrawnStep>[]): TreeNode<DrawnStep>[][] {
  const groups = new Map<string, TreeNode<DrawnStep>[]>();
  for (const node of nodes) {
    const key = JSON.stringify([node.step.action, node.step.observation, node.step.termination]);
    const same = groups.get(key) ?? [];
    same.push(node);
    groups.set(key, same);
  }
  // The most walked branch first: what a reader looks for.
  return [...groups.values()].sort((a, b) => b.length - a.length);
}

function line({ group, prefix, last, root }: Pending, succeeded: ReadonlySet<string>): string {
  let leaves = 0;
  let won = 0;
  for (const top of group) {
    for (const node of walkDown(top)) {
      if (node.step.termination !== 'none') leaves++;
      if (succeeded.has(node.step.stepId)) won++;
    }
  }
  const step = group[0]?.step;
  const score = leaves === 0 ? '' : `  ${won}/${leaves}`;
  if (root) return `● ${oneLine(lastLine(step?.observation ?? ''), 70)}${score}`;
  const times = group.length > 1 ? ` ×${group.length}` : '';
  const end = step?.termination === 'terminated' ? ' ■' : step?.termination === 'truncated' ? ' …' : '';
  return `${prefix}${last ? '└─ ' : '├─ '}${oneLine(step?.action ?? '', 60)}${times}${end}${score}`;
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

function oneLine(text: string, width: number): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > width ? `${flat.slice(0, width - 1)}…` : flat;
}
