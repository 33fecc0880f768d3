import type { ServerContext } from '../context.ts';
import type { PageStepsQuery, PageStepsQueryVariables } from '../studio/generated/operations.ts';
import type { Operation } from '../studio/operation.ts';
import { answerKey, type PageStep } from '../studio/page-record.ts';

/** Who is asked for a page, and on whose behalf: GraphQL answers within the limits of its caller. */
export interface PageRequest {
  readonly graphql: { fetch(request: Request, context: ServerContext): Response | Promise<Response> };
  readonly context: ServerContext;
  readonly signal: AbortSignal;
}

/** A query for a page was refused. */
export class OperationFailed extends Error {
  override readonly name = 'OperationFailed';
  readonly status: number;
  readonly retryAfter: string | null;
  constructor(message: string, status: number, retryAfter: string | null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

interface Reply<Answer> {
  readonly data?: Answer | null;
  readonly errors?: readonly { readonly message: string; readonly path?: readonly (string | number)[] }[];
}

/** A page while it is gathered: what it holds so far, what there was no room for, and what could not be read. */
export class PageDraft {
  readonly answers: Record<string, unknown> = {};
  readonly steps: PageStep[] = [];
  /** Why parts of answers could not be read. */
  readonly refusals: string[] = [];
  readonly #request: PageRequest;
  readonly #limit: number;
  readonly #leftOut = new Map<string, number>();
  #bytes = 0;

  /** @param limit bytes of its data. */
  constructor(request: PageRequest, limit: number) {
    this.#request = request;
    this.#limit = limit;
  }

  get hasRoom(): boolean {
    return this.#bytes < this.#limit;
  }

  /** Asks as the caller of the page. @throws OperationFailed. */
  async read<Answer, Variables>({ text: query }: Operation<Answer, Variables>, variables: Variables): Promise<Answer> {
    const { graphql, context, signal } = this.#request;
    signal.throwIfAborted();
    const request = new Request('http://page/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      signal,
      body: JSON.stringify({ query, variables }),
    });
    const response = await graphql.fetch(request, context);
    const { data, errors = [] } = (await response.json()) as Reply<Answer>;
    if (!data) {
      const status = response.status >= 400 ? response.status : 422;
      const message = errors[0]?.message ?? `GraphQL answered ${response.status}`;
      throw new OperationFailed(message, status, response.headers.get('retry-after'));
    }
    for (const { message, path = [] } of errors) {
      this.refusals.push(message);
      this.leaveOut(`Not read, in # places: ${path.filter((part) => typeof part === 'string').join('.')}: ${message}`, 1);
    }
    return data; // what could not be read of it is null
  }

  /** Adds the answer of an operation. @throws OperationFailed. */
  async ask<Answer, Variables>(operation: Operation<Answer, Variables>, variables: Variables): Promise<Answer> {
    const answer = await this.read(operation, variables);
    this.answers[answerKey(operation.name, variables)] = answer;
    this.#bytes += JSON.stringify(answer).length;
    return answer;
  }

  /** Adds the steps that an operation answers. @throws OperationFailed. */
  async askSteps(
    operation: Operation<PageStepsQuery, PageStepsQueryVariables>,
    variables: PageStepsQueryVariables,
  ): Promise<readonly PageStep[]> {
    const { tree } = await this.read(operation, variables);
    const steps = tree?.steps ?? [];
    for (const step of steps) this.steps.push(step);
    this.#bytes += JSON.stringify(steps).length;
    return steps;
  }

  leaveOut(what: string, count: number): void {
    if (count > 0) this.#leftOut.set(what, (this.#leftOut.get(what) ?? 0) + count);
  }

  /** What the page lacks, in sentences. */
  get leftOut(): readonly string[] {
    return [...this.#leftOut].map(([what, count]) => what.replace('#', count.toLocaleString('en')));
  }
}
