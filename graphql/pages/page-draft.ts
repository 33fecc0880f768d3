import type { Operation } from '../studio/operation.ts';
import { answerKey, type PageRecord, type PageTree } from '../studio/page-record.ts';

/** How much a page may hold. */
export interface PageLimits {
  /** Bytes of its data as JSON; images are counted by themselves. */
  readonly bytes: number;
  readonly imageBytes: number;
  /** Steps with their prompts and tokens. */
  readonly wholeSteps: number;
}

export const PAGE_LIMITS: PageLimits = { bytes: 24 * 2 ** 20, imageBytes: 24 * 2 ** 20, wholeSteps: 2_000 };

/** A page while it is gathered: what it holds so far, and what there was no room for. */
export class PageDraft {
  readonly answers: Record<string, unknown> = {};
  readonly runTrees: Record<string, readonly object[]> = {};
  readonly trees: Record<string, PageTree> = {};
  readonly #limits: PageLimits;
  readonly #leftOut = new Map<string, number>();
  #bytes = 0;
  #wholeSteps = 0;

  constructor(limits: PageLimits) {
    this.#limits = limits;
  }

  /** Whether more may be added. */
  get hasRoom(): boolean {
    return this.#bytes < this.#limits.bytes;
  }

  /** Whether so many steps may be added with prompts and tokens. */
  hasRoomForWhole(steps: number): boolean {
    return this.hasRoom && this.#wholeSteps + steps <= this.#limits.wholeSteps;
  }

  addAnswer<Answer, Variables>({ name }: Operation<Answer, Variables>, variables: Variables, answer: Answer): Answer {
    this.answers[answerKey(name, variables)] = answer;
    this.#count(answer);
    return answer;
  }

  addTree(id: string, tree: PageTree): void {
    this.trees[id] = tree;
    this.#wholeSteps += tree.steps.filter(({ whole }) => whole).length;
  }

  /** Counts what a step weighs before its tree is added. */
  weigh(value: unknown): void {
    this.#count(value);
  }

  leaveOut(what: string, count: number): void {
    if (count > 0) this.#leftOut.set(what, (this.#leftOut.get(what) ?? 0) + count);
  }

  /** Finishes the page. */
  record(head: Pick<PageRecord, 'title' | 'madeAt' | 'source' | 'first'>): PageRecord {
    const leftOut = [...this.#leftOut].map(([what, count]) => what.replace('#', count.toLocaleString('en')));
    const { answers, runTrees, trees } = this;
    return { ...head, leftOut, answers, runTrees, trees };
  }

  #count(value: unknown): void {
    this.#bytes += JSON.stringify(value).length;
  }
}
