import type { ServerContext } from '../context.ts';
import type { TestGraphql } from './open-test-graphql.ts';

export interface ReadEvent {
  readonly id: string;
  readonly type: string;
  readonly stream: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly position: string;
  readonly requeuedFrom: number | null;
}
/** A reader of the subscription over server-sent events, as a browser is one. */
export interface EventReader {
  /** Waits for the next so many events. */
  take(count: number): Promise<ReadEvent[]>;
  /** Leaves, as a closed connection does. */
  leave(): Promise<void>;
}

const QUERY = `subscription ($after: String, $types: [String!], $run: ID, $tree: ID) {
  events(after: $after, types: $types, run: $run, tree: $tree) { id type stream topic partition offset position requeuedFrom }
}`;

/** Subscribes. @throws what the server answers instead of a stream. */
export async function readEvents(
  api: Pick<TestGraphql, 'fetch'>,
  variables: object,
  overrides: Partial<ServerContext> = {},
): Promise<EventReader> {
  const response = await api.fetch(
    {},
    {
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: QUERY, variables }),
    },
    overrides,
  );
  if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream'))
    throw new Error(await response.text());
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  const ready: ReadEvent[] = [];

  function parse(): void {
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data === undefined) continue; // a ping
      const { data: answer, errors } = JSON.parse(data);
      if (errors) throw new Error(JSON.stringify(errors));
      ready.push(answer.events);
    }
  }

  return {
    async take(count) {
      while (ready.length < count) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`the stream ended after ${ready.length} of ${count} events`);
        text += decoder.decode(value, { stream: true });
        parse();
      }
      return ready.splice(0, count);
    },
    leave: () => reader.cancel(),
  };
}
