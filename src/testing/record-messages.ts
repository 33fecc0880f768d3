import type { AskedMessage } from '../domain/prompts/asked-prompt.ts';
import type { DataOf } from '../events/catalogue.ts';
import { blockDigest, promptDigest } from '../events/prompt-digest.ts';
import type { EventBuilder } from './event-builder.ts';

/** Records the prompt of a step, each text whole as a block; an empty one has none, as a cut of it. */
export function recordMessages(
  builder: EventBuilder,
  tree: { readonly treeId: string; readonly runId: string },
  stepId: string,
  messages: readonly AskedMessage[],
  overrides: Partial<DataOf<'PromptShown'>> = {},
): void {
  const texts = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'text' && part.text !== '' ? [part.text] : [])),
  );
  builder.record(
    'PromptShown',
    {
      treeId: tree.treeId,
      stepId,
      base: null,
      blocks: [...new Set(texts)],
      sha256: promptDigest(messages),
      messages: messages.map(({ role, parts }) => ({
        role,
        parts: parts.map((part) =>
          part.kind === 'text' ? { kind: 'text' as const, blocks: part.text === '' ? [] : [blockDigest(part.text)] } : part,
        ),
      })),
      template: null,
      tools: null,
      server: 'http://server/v1',
      tokens: null,
      sampling: { temperature: 1, topP: null, maxTokens: null, stop: [], seed: null },
      ...overrides,
    },
    tree.runId,
  );
}
