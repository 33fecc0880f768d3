import type { Operation } from '../../../graphql/studio/operation.ts';
import { NotLetIn } from './faults.ts';
import { authorization } from './key.ts';
import type { Fault } from './missing.ts';

/**
 * Follows a subscription over server-sent events until the signal ends it.
 * @throws NotLetIn, or Error when the connection breaks.
 */
export async function follow<Answer, Variables>(
  operation: Operation<Answer, Variables>,
  variables: Variables,
  take: (answer: Answer) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...authorization() },
    body: JSON.stringify({ query: operation.text, variables, operationName: operation.name }),
    signal,
  });
  if (response.status === 401) throw new NotLetIn('the server does not know who asks');
  if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error('the server ended the subscription');
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (!/^event: ?next$/m.test(block) || data === undefined) continue;
      const { data: answer, errors } = JSON.parse(data) as { readonly data?: Answer | null; readonly errors?: readonly Fault[] };
      if (errors?.[0]) throw new Error(errors[0].message);
      if (answer) take(answer);
    }
  }
}
