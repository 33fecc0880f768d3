import { promptMessages } from '../domain/history/prompt.ts';
import { LEASED, UNPICTURED } from './record-formats.ts';

/** What is trained on, as a reader found it and as the record says it. */
export interface Trained {
  readonly rows: number;
  readonly tokens?: number;
  /** The sum of the weights of replies; of rewards where the format holds those. */
  readonly weight?: number;
  /** Tokens of prompts of a file of which nothing is trained on. */
  readonly prompted?: number;
  readonly truths?: readonly string[];
}

export interface Read extends Trained {
  readonly format: string;
  readonly reader: string;
  readonly version: string;
  readonly read: string;
}

/** Replies that are trained on; their texts are a token per sign of the tokenizer, and one that ends them. */
export const TRAINED = ['look', 'takebread', 'end', 'lose', 'leave', 'stay', 'own'];
/** Of these those that follow a reply that is context: `leave` a shared step, `own` a guide's. */
export const BEHIND_CONTEXT = ['leave', 'own'];
/** Those of the tree of the split `test`. */
const TESTED = ['stay', 'own'];
/** What the record adds up to: returns of the five rollouts for each unit of `value`. */
const RETURNS = 1 + 1 / 2 + 1 / 4;
/** The values of the two runs. */
export const VALUES = [1, 0.33] as const;
const INSTRUCTION = 'Craft what is asked.';
export const tokensOf = (replies: readonly string[]) => replies.reduce((sum, reply) => sum + reply.length + 1, 0);

/** The replies of pairs: those at which a good and a bad rollout part, and what followed. */
const PAIRED = ['look', 'lose', 'takebread', 'leave', 'stay', 'guide'];
const PLAIN = TRAINED.filter((reply) => !BEHIND_CONTEXT.includes(reply));

/** What mined examples train on: the replies of the good trajectory, and the one that turns back from the bad one. */
const GOOD = ['Thought: s\nAction: s', 'Thought: g\nAction: g'];
const MINED = [...GOOD, 'Thought: I was wrong. g\nAction: g'];
/** What the tokenizer of Python makes of a reply; that of the export has a token for signs that it does not know. */
const signs = (text: string) => text.match(/[a-z0-9:]/g)?.length ?? 0;
const signsOf = (replies: readonly string[]) => replies.reduce((sum, reply) => sum + signs(reply) + 1, 0);
const MINED_SAYS: Readonly<Record<string, Trained>> = {
  'mined-trl': { rows: 3, tokens: signsOf(MINED), weight: 3 },
  'mined-trl-tokens': { rows: 2, tokens: tokensOf(MINED), weight: 3 },
  'mined-trl-tokens-parquet': { rows: 2, tokens: tokensOf(MINED), weight: 3 },
  'mined-openai': { rows: 1, tokens: signsOf(GOOD), weight: 2 },
  'mined-xtuner': { rows: 2, tokens: signsOf(MINED), weight: 3 },
  'mined-agent-r': { rows: 2, tokens: signsOf(MINED), weight: 3 },
};

/** What the record says of the run that shows pictures. */
function pictured(): Readonly<Record<string, (value: number) => Trained>> {
  const replies = [...Array.from({ length: UNPICTURED }, () => 'look'), 'see', 'done', 'miss'];
  const [tokens, rows] = [tokensOf(replies), UNPICTURED + 2];
  const trained = () => ({ rows, tokens, weight: replies.length });
  return {
    openai: trained,
    sharegpt: trained,
    parquet: trained,
    trl: () => ({ rows: replies.length, tokens, weight: replies.length }),
    steps: () => ({ rows: replies.length, tokens, weight: replies.length }),
    'trl-grpo': (value) => ({ rows, tokens, weight: value * (1 + UNPICTURED / 4) }),
  };
}

/** What the record says of the file of each of the two runs. */
export const RECORDED: Readonly<Record<string, (value: number) => Trained>> = {
  openai: () => ({ rows: 3, tokens: tokensOf(PLAIN), weight: PLAIN.length }),
  sharegpt: () => ({ rows: 3, tokens: tokensOf(PLAIN), weight: PLAIN.length }),
  trl: () => ({ rows: TRAINED.length, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  'trl-tokens': () => ({ rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  'trl-tokens-parquet': () => ({ rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  'trl-grpo': (value) => ({ rows: 5, tokens: tokensOf(TRAINED), weight: RETURNS * value }),
  xtuner: () => ({ rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  // the rewards of the second task of the other run differ by less than beta
  dpo: (value) => {
    const replies = value === 1 ? PAIRED : PAIRED.slice(0, 4);
    return { rows: replies.length / 2, tokens: tokensOf(replies), weight: replies.length };
  },
  atif: () => ({ rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  parquet: () => ({ rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  verl: (value) => ({ rows: 5, tokens: tokensOf(TRAINED), weight: RETURNS * value }),
  // a row of the guide's step, too, by its name
  steps: () => ({ rows: TRAINED.length + 1, tokens: tokensOf(TRAINED), weight: TRAINED.length }),
  ...Object.fromEntries(Object.entries(pictured()).map(([format, said]) => [`seen-${format}`, said])),
  prompts: () => ({ rows: 2, prompted: promptTokens('Goal: craft bread.') + promptTokens('Goal: craft axe.') }),
};

/**
 * Counts the tokens of a task's first prompt by the talker's template: one for each small letter, digit and colon (it has no
 * other signs), and one that ends each message.
 */
function promptTokens(firstObservation: string): number {
  const messages = promptMessages({ instruction: INSTRUCTION, firstObservation, history: [] });
  return messages.reduce((sum, { role, content }) => sum + signs(`${role}:${content}`) + 1, signs('assistant:'));
}

/** What the record says of what a reader reads. */
export function recordSays(format: string, reader: string, read: string): Trained {
  if (format === 'jsonl') return { rows: 5, tokens: tokensOf(TRAINED), weight: TRAINED.length };
  if (format === 'lease') {
    const sampled = 4 * LEASED.length;
    if (reader === 'TRL SFTTrainer') return { rows: LEASED.length, tokens: sampled, weight: 2 * LEASED.length };
    if (reader === 'TRL DPOTrainer') return { rows: 1, tokens: 8, weight: 4 };
    return { rows: LEASED.length, tokens: sampled, weight: LEASED.reduce((sum, value) => sum + value) };
  }
  if (format === 'trl-tokens --layout hf') {
    const replies = TRAINED.filter((reply) => TESTED.includes(reply) === read.endsWith('test'));
    return { rows: read.endsWith('test') ? 2 : 3, tokens: tokensOf(replies), weight: replies.length };
  }
  if (format === 'trl-grpo' && reader === 'TRL GRPOTrainer') {
    const replies = TRAINED.filter((reply) => reply !== 'leave'); // that of the third rollout of its group
    return { rows: 4, tokens: tokensOf(replies), weight: RETURNS };
  }
  const mined = MINED_SAYS[format];
  if (mined) return mined;
  if (read === 'folder of two runs and mined examples')
    return { rows: 2 * TRAINED.length + 3, tokens: 2 * tokensOf(TRAINED) + signsOf(MINED), weight: 2 * TRAINED.length + 3 };
  const said = RECORDED[format];
  if (!said) throw new Error(`${format} by ${reader} has no expectation`);
  const files = read.startsWith('two runs') ? VALUES.map(said) : [said(VALUES[0])];
  const sum = (of: (each: Trained) => number | undefined) =>
    Math.round(1e4 * files.reduce((total, each) => total + (of(each) ?? 0), 0)) / 1e4;
  const rows = sum((each) => each.rows);
  if (format !== 'prompts') return { rows, tokens: sum((each) => each.tokens), weight: sum((each) => each.weight) };
  const truths = reader.startsWith('verl') ? { truths: ['craft axe', 'craft bread'] } : {};
  return { rows, prompted: sum((each) => each.prompted), ...truths };
}
