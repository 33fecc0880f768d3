import { DatasetError } from '../dataset-error.ts';

/**
 * What a row of a chat format becomes for readers that ignore `weight` and `loss` and train on every reply of a row (TRL with
 * `assistant_only_loss`, LLaMA-Factory, verl's `MultiTurnSFTDataset`, torchtune, FastChat).
 */
export interface PlainRow {
  /** The row up to the last reply before the first one that is context; null where nothing of it can be said. */
  readonly body: object | null;
  /** Of its trained replies in order, whether it still has each. */
  readonly kept: readonly boolean[];
}

/**
 * - `refuse`: replies that are context (weight 0: a guide's, a bad prefix, a prefix that another row trains) are in no row. Where
 *   trained replies follow them, no row can say so, and the export ends with how many there are.
 * - `drop`: those trained replies are left out, and counted.
 * - `keep`: rows are whole, and only readers of `weight` or `loss` (OpenAI's fine-tuning, AgentGym) read them rightly.
 */
export type ContextRule = 'refuse' | 'drop' | 'keep';

/** Trained replies that a format has no place for. */
export interface Lost {
  readonly replies: number;
  /** Their recorded sampled tokens. */
  readonly tokens: number;
  readonly rows: number;
}

interface Reply {
  readonly weight?: 0 | 1;
  readonly loss?: boolean | null;
}

/** Leaves the replies out of a row that a reader without weights would train on wrongly: of `messages`, or of `conversations`. */
export function withoutContext(body: object): PlainRow {
  const { messages, conversations } = body as { messages?: readonly Reply[]; conversations?: readonly Reply[] }; // what a writer of this folder made
  const turns = messages ?? conversations ?? [];
  const isTrained = ({ weight, loss }: Reply) => weight === 1 || loss === true;
  const isContext = ({ weight, loss }: Reply) => weight === 0 || loss === false;
  const index = turns.findIndex(isContext);
  const first = index < 0 ? turns.length : index;
  const kept = turns.flatMap((turn, i) => (isTrained(turn) ? [i < first] : []));
  if (first === turns.length) return { body: kept.length === 0 ? null : body, kept };
  const end = turns.slice(0, first).findLastIndex(isTrained) + 1;
  const said = turns.slice(0, end);
  return { body: end === 0 ? null : { ...body, ...(messages ? { messages: said } : { conversations: said }) }, kept };
}

/**
 * Leaves `weight` out of the messages of a row in which every reply is trained on: it would say nothing, and a column of messages
 * of which some have it is no column of structs, but of JSON, for `datasets`.
 */
export function unweighed(body: object): object {
  const { messages } = body as { messages?: readonly Reply[] }; // what a writer of this folder made
  return messages ? { ...body, messages: messages.map(({ weight: _, ...message }) => message) } : body;
}

/** Adds up what rows lose. */
export class LostReplies {
  #replies = 0;
  #tokens = 0;
  #rows = 0;

  /**
   * Takes the context out of the rows of one example. @param tokens of its trained replies in order, where they are recorded.
   */
  plain(bodies: readonly object[], tokens: readonly number[]): readonly object[] {
    let at = 0;
    return bodies.flatMap((row) => {
      const { body, kept } = withoutContext(row);
      const lost = kept.flatMap((is, i) => (is ? [] : [tokens[at + i] ?? 0]));
      at += kept.length;
      this.#replies += lost.length;
      this.#tokens += lost.reduce((sum, count) => sum + count, 0);
      this.#rows += lost.length > 0 ? 1 : 0;
      return body === null ? [] : [body];
    });
  }

  /** Null where nothing is lost. */
  get lost(): Lost | null {
    return this.#replies === 0 ? null : { replies: this.#replies, tokens: this.#tokens, rows: this.#rows };
  }
}

/** Makes the error of a file that a reader without weights would misread, with what else says it. */
export function contextLost(kind: 'openai' | 'sharegpt', { replies, tokens, rows }: Lost): DatasetError {
  const sampled = tokens === 0 ? '' : ` of ${tokens} sampled tokens`;
  return new DatasetError(
    'context',
    `${kind} cannot say which replies of a row are context: ${replies} trained replies${sampled} in ${rows} rows follow replies that are not to be trained on, and readers that ignore ${kind === 'openai' ? 'weight' : 'loss'} would train on those too; export --format trl (a row per trained reply, or --tokenizer DIR for a row per trajectory) or xtuner, leave them out with --context drop, or write them for readers of weights with --context keep`,
  );
}
