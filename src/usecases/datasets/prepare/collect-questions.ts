import { seedFrom } from '../../../domain/random/seed-from.ts';
import { normalizeAnswer } from '../../../domain/reward/exact-match.ts';
import { DatasetError } from '../dataset-error.ts';
import { type ReadFile, readSource, type SourceFile } from './read-source.ts';
import type { Recipe, SourceQuestion } from './recipe.ts';

/** What was left out on the way, and why; `malformed` is more than 0 only where broken rows are skipped. */
export interface PrepareCounts {
  readonly rows: number;
  /** Rows whose question has no answer in its paragraphs, by the data set's own word. */
  readonly unanswerable: number;
  /** Rows whose answer is kept back, as in test files. */
  readonly withoutAnswer: number;
  readonly malformed: number;
  /** Rows whose question, normalised, came before on the same side. */
  readonly duplicates: number;
  /** Rows for training whose question, normalised, is one of the test side. */
  readonly leaked: number;
}

export interface DrawnQuestion extends SourceQuestion {
  readonly id: string;
}

export interface CollectedQuestions {
  readonly files: readonly ReadFile[];
  readonly counts: PrepareCounts;
  /** The first broken rows that were skipped, each with its place and reason. */
  readonly malformed: readonly string[];
  /** How many questions each side had to draw from. */
  readonly available: { readonly train: number; readonly test: number };
  readonly train: readonly DrawnQuestion[];
  readonly test: readonly DrawnQuestion[];
}

export interface CollectOptions {
  readonly recipe: Recipe;
  readonly files: readonly SourceFile[];
  readonly seed: number;
  /** How many questions to draw; null is all that there are. */
  readonly train: number | null;
  readonly test: number | null;
  readonly malformed: 'refuse' | 'skip';
  readonly signal: AbortSignal;
  readonly onRow: (rows: number) => void;
}

const MALFORMED_SHOWN = 10;

/**
 * Reads the files and draws from them. Where the names distinguish a train side from a test side, each is drawn from its own, and
 * what the whole test side asks is never trained on, drawn or not. Files of one side alone are one pool, out of which test and
 * train are drawn apart.
 * @throws DatasetError `bad-row` with file, row and field; `nothing-matches` when there are fewer questions than asked for.
 */
export async function collectQuestions(options: CollectOptions): Promise<CollectedQuestions> {
  const { files, seed, train, test } = options;
  const held = files.filter(({ side }) => side === 'test');
  const rest = files.filter(({ side }) => side !== 'test');
  const reading = new Reading(options);
  if (held.length > 0 && rest.length > 0) {
    const drawTest = new Draw<DrawnQuestion>(seed, 'test', test ?? Number.POSITIVE_INFINITY);
    const drawTrain = new Draw<DrawnQuestion>(seed, 'train', train ?? Number.POSITIVE_INFINITY);
    const available = { test: await reading.read(held, 'test', drawTest), train: await reading.read(rest, 'train', drawTrain) };
    return reading.result(drawTrain.take(), drawTest.take(), available);
  }
  // One pool: all of it is for the side that its name says, unless the other is asked for too.
  const side = held.length > 0 ? 'test' : 'train';
  const wanted = { train: side === 'train' ? train : (train ?? 0), test: side === 'test' ? test : (test ?? 0) };
  const all = (wanted.train ?? Number.POSITIVE_INFINITY) + (wanted.test ?? Number.POSITIVE_INFINITY);
  const pool = new Draw<DrawnQuestion>(seed, 'pool', all);
  const available = await reading.read(files, side, pool);
  const drawn = pool.take();
  const cut = wanted.test ?? Math.max(0, drawn.length - (wanted.train ?? 0));
  return reading.result(drawn.slice(cut), drawn.slice(0, cut), { train: available - cut, test: available });
}

class Reading {
  readonly #options: CollectOptions;
  readonly #read: ReadFile[] = [];
  readonly #malformed: string[] = [];
  readonly #ids = new Set<string>();
  readonly #questions = { train: new Set<string>(), test: new Set<string>() };
  readonly #counts = { rows: 0, unanswerable: 0, withoutAnswer: 0, malformed: 0, duplicates: 0, leaked: 0 };

  constructor(options: CollectOptions) {
    this.#options = options;
  }

  /** Lets every question of some files pass by a draw. Returns how many there were. */
  async read(files: readonly SourceFile[], side: 'train' | 'test', draw: Draw<DrawnQuestion>): Promise<number> {
    const before = this.#questions[side].size;
    let ordinal = 0;
    for (const file of files) {
      for await (const { place, row } of readSource(file, this.#options.recipe, (end) => this.#read.push(end))) {
        this.#options.signal.throwIfAborted();
        this.#counts.rows += 1;
        this.#options.onRow(this.#counts.rows);
        if (row.kind === 'bad') this.#refuse(place, row.field, row.problem);
        else if (row.kind === 'unanswerable') this.#counts.unanswerable += 1;
        else if (row.kind === 'without-answer') this.#counts.withoutAnswer += 1;
        else this.#take({ ...row.question, id: row.question.id ?? `${side}-${ordinal}` }, side, draw, place);
        ordinal += 1;
      }
    }
    return this.#questions[side].size - before;
  }

  result(
    train: readonly DrawnQuestion[],
    test: readonly DrawnQuestion[],
    available: CollectedQuestions['available'],
  ): CollectedQuestions {
    for (const [side, drawn] of [
      ['train', train],
      ['test', test],
    ] as const) {
      const wanted = this.#options[side];
      if (wanted !== null && drawn.length < wanted)
        throw new DatasetError(
          'nothing-matches',
          `--${side} ${wanted} asks for more questions than there are: ${Math.max(0, available[side])} are left of ${this.#counts.rows} rows; ask for fewer`,
        );
    }
    if (train.length + test.length === 0)
      throw new DatasetError(
        'nothing-matches',
        `of ${this.#counts.rows} rows none is a question with an answer; are these files of ${this.#options.recipe.name}?`,
      );
    return { files: this.#read, counts: this.#counts, malformed: this.#malformed, available, train, test };
  }

  #take(question: DrawnQuestion, side: 'train' | 'test', draw: Draw<DrawnQuestion>, place: string): void {
    const normal = normalizeAnswer(question.question);
    if (this.#questions[side].has(normal)) {
      this.#counts.duplicates += 1;
      return;
    }
    if (side === 'train' && this.#questions.test.has(normal)) {
      this.#counts.leaked += 1;
      return;
    }
    if (this.#ids.has(question.id)) {
      this.#refuse(place, 'id', `${JSON.stringify(question.id)} came before, with another question`);
      return;
    }
    this.#ids.add(question.id);
    this.#questions[side].add(normal);
    draw.add(question.id, question);
  }

  #refuse(place: string, field: string, problem: string): void {
    const text = `${place}: ${field} ${problem}`;
    if (this.#options.malformed === 'refuse')
      throw new DatasetError('bad-row', `${text}; nothing was written. Rows like this can be left out with --skip-bad`);
    this.#counts.malformed += 1;
    if (this.#malformed.length < MALFORMED_SHOWN) this.#malformed.push(text);
  }
}

/**
 * Draws up to `limit` items without replacement while they pass by, in memory for twice as many: every item gets a number from
 * the seed and its own id alone, and those with the smallest numbers are the sample. So neither the order of the files nor how
 * they are cut changes what is drawn, and a larger sample of the same seed holds the smaller one. Reservoir sampling has neither
 * property.
 */
export class Draw<T> {
  readonly #seed: number;
  readonly #label: string;
  readonly #limit: number;
  #kept: { readonly key: number; readonly id: string; readonly item: T }[] = [];

  /** @param label separates this draw from others with the same seed. @param limit Infinity keeps all, in the drawn order. */
  constructor(seed: number, label: string, limit: number) {
    this.#seed = seed;
    this.#label = label;
    this.#limit = limit;
  }

  /** Lets an item pass by. The caller keeps ids distinct: two of one name would get one number. */
  add(id: string, item: T): void {
    if (this.#limit === 0) return;
    this.#kept.push({ key: seedFrom('draw', this.#seed, this.#label, id), id, item });
    if (this.#kept.length >= 2 * Math.max(this.#limit, 512)) this.#cut(); // sorted once per `limit` items: n log k in all
  }

  /** Returns the sample in the drawn order. */
  take(): readonly T[] {
    this.#cut();
    return this.#kept.map(({ item }) => item);
  }

  #cut(): void {
    this.#kept.sort((a, b) => a.key - b.key || (a.id < b.id ? -1 : 1));
    if (this.#kept.length > this.#limit) this.#kept.length = this.#limit;
  }
}
