import type { QueryKey } from '@tanstack/react-query';
import type { Operation } from '../../../graphql/studio/operation.ts';
import { heldPage } from '../page/stored-page.ts';
import { NotLetIn, Refused, ServerAway } from './faults.ts';
import { authorization } from './key.ts';
import { type Fault, noteFaults } from './missing.ts';

/** A moment of the record: a position (`runs.0:3,trees.2:41`) or an instant; null is now. */
export type Moment = string | null;

interface Reply<Answer> {
  readonly data?: Answer | null;
  readonly errors?: readonly Fault[];
}

/** Returns the text and the variables by which an operation is asked as of a moment. */
export function requestOf<Answer, Variables>(operation: Operation<Answer, Variables>, variables: Variables, at: Moment) {
  if (at === null || operation.asOf === null) return { query: operation.text, variables, operationName: operation.name };
  const moment = isPosition(at) ? { atPosition: at } : { atTime: at };
  return { query: operation.asOf, variables: { ...variables, ...moment }, operationName: operation.name };
}

/** How an operation is asked. */
export interface AskOptions {
  readonly at?: Moment;
  readonly signal?: AbortSignal;
  /** The question of the page that may lack parts which are refused: the page names them. Left out, a fault refuses the whole. */
  readonly partOf?: QueryKey;
}

/**
 * Asks the server, or the page where that holds the answers.
 * @throws NotLetIn, ServerAway, Refused or NotInPage.
 */
export async function ask<Answer, Variables>(
  operation: Operation<Answer, Variables>,
  variables: Variables,
  { at = null, signal, partOf }: AskOptions = {},
): Promise<Answer> {
  const page = heldPage();
  if (page) return page.answer(operation, variables);
  const request = requestOf(operation, variables, at);
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...authorization() },
    body: JSON.stringify(request),
    ...(signal ? { signal } : {}),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ServerAway('the server does not answer');
  });
  if (response.status === 401) throw new NotLetIn('the server does not know who asks');
  const reply = (await response.json().catch(() => {
    throw new ServerAway(`the server answered ${response.status} and no JSON`);
  })) as Reply<Answer> & { readonly error?: { readonly message: string; readonly code: string } };
  if (reply.error) throw new Refused(reply.error.message, reply.error.code);
  const [first] = reply.errors ?? [];
  const answer = request.query === operation.text ? reply.data : (reply.data as { readonly asOf?: Answer } | null)?.asOf;
  if (first && (!answer || !partOf)) throw new Refused(first.message, first.extensions?.code ?? String(response.status));
  if (!answer) throw new Refused('the server answered no data', String(response.status));
  if (partOf) noteFaults(partOf, JSON.stringify([operation.name, variables]), reply.errors ?? []);
  return answer;
}

function isPosition(at: string): boolean {
  return /^[\w.-]+\.\d+:\d+(,|$)/.test(at);
}
