import type { PublishedNode } from '../../src/domain/search/published-tree.ts';

/** Where two results differ: which node or row, which field, and both values. */
export interface Difference {
  readonly at: string;
  readonly theirs: unknown;
  readonly ours: unknown;
}

export interface Compared {
  readonly count: number;
  readonly differences: readonly Difference[];
}

/** Of every node. What it is worth and its conversation; `recent_actions` repeats the way there. */
const FIELDS = ['llm_response', 'action', 'obs', 'depth', 'visits', 'value', 'prior', 'recent_actions', 'state'] as const;
/** Of the nodes where walks ended: those of inner ones are no results of theirs. */
const OF_ENDS = ['is_terminal', 'env_score'] as const;

/** What each program says in its own words: the instruction of the task, and the sentences by which an agent turns back. */
export interface Words {
  readonly instruction: string;
  readonly reflections: readonly string[];
}

export interface BothWords {
  readonly theirs: Words;
  readonly ours: Words;
}

/**
 * Compares two trees as the published file has them, node by node, in their order. The root's own observation is not kept in the
 * published file; it is in the conversation.
 */
export function compareTrees(theirs: PublishedNode, ours: PublishedNode, words: BothWords, at: string, depth = 0): Compared {
  const differences: Difference[] = [];
  const isEnd = theirs.children.length === 0 && theirs.is_terminal === true;
  for (const field of isEnd ? [...FIELDS, ...OF_ENDS] : FIELDS) {
    if (depth === 0 && field === 'obs') continue;
    const [one, other] = [neutral(theirs[field], words.theirs), neutral(ours[field], words.ours)];
    if (one !== other) differences.push({ at: `${at} ${field}`, theirs: one, ours: other });
  }
  if (Math.abs(Number(theirs.puct_value) - Number(ours.puct_value)) > 1e-12)
    differences.push({ at: `${at} puct_value`, theirs: theirs.puct_value, ours: ours.puct_value });
  let count = 1;
  for (let i = 0; i < Math.max(theirs.children.length, ours.children.length); i++) {
    const [one, other] = [theirs.children[i], ours.children[i]];
    if (!one || !other) {
      differences.push({ at: `${at}.${i}`, theirs: one?.llm_response, ours: other?.llm_response });
      count++;
      continue;
    }
    const below = compareTrees(one, other, words, `${at}.${i}`, depth + 1);
    count += below.count;
    differences.push(...below.differences);
  }
  return { count, differences };
}

/** Compares rows of path_collection.py one by one, in their order. */
export function compareRows(theirs: readonly Row[], ours: readonly Row[], words: BothWords): Compared {
  const differences: Difference[] = [];
  const count = Math.max(theirs.length, ours.length);
  for (let i = 0; i < count; i++) {
    const [one = {}, other = {}] = [theirs[i], ours[i]];
    for (const field of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const [said, here] = [neutral(one[field], words.theirs), neutral(other[field], words.ours)];
      if (said !== here) differences.push({ at: `row ${i} ${field}`, theirs: said, ours: here });
    }
  }
  return { count, differences };
}

export type Row = Readonly<Record<string, unknown>>;

const TURN = /^Thought: (.*)\nAction: wait$/s;

/** Writes a value as JSON, with a program's own words replaced by their places. */
function neutral(value: unknown, { instruction, reflections }: Words): string | undefined {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'string') return part;
    if (part === instruction) return '{instruction}';
    const place = reflections.indexOf(TURN.exec(part)?.[1] ?? '');
    return place < 0 ? part : `Thought: {reflection ${place}}\nAction: wait`;
  });
}
