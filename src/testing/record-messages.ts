import { type PolicyMessage, type PolicyMessagePart, serverSampling } from '../domain/prompts/policy-prompt.ts';
import type { DataOf } from '../events/catalogue.ts';
import { blockDigest, promptDigest } from '../events/prompt-digest.ts';
import type { EventBuilder } from './event-builder.ts';

/** Records the prompt of a step, each text whole as a block; an empty one has none, as a cut of it. */
export function recordMessages(
  builder: EventBuilder,
  tree: { readonly treeId: string; readonly runId: string },
  stepId: string,
  messages: readonly PolicyMessage[],
  overrides: Partial<DataOf<'PromptShown'>> = {},
): void {
  const texts = messages.flatMap(({ parts }) => parts.flatMap((part) => textIn(part) || []));
  builder.record(
    'PromptShown',
    {
      treeId: tree.treeId,
      stepId,
      base: null,
      blocks: [...new Set(texts)],
      sha256: promptDigest(messages),
      messages: messages.map(({ parts, ...message }) => ({ ...message, parts: parts.map(storedPart) })),
      template: null,
      tools: null,
      server: 'http://server/v1',
      tokens: null,
      sampling: serverSampling(1),
      ...overrides,
    },
    tree.runId,
  );
}

function textIn(part: PolicyMessagePart): string {
  return part.kind === 'image' ? '' : part.kind === 'tool-call' ? part.arguments : part.text;
}

function storedPart(part: PolicyMessagePart): DataOf<'PromptShown'>['messages'][number]['parts'][number] {
  if (part.kind === 'image') return part;
  const text = textIn(part);
  const blocks = text === '' ? [] : [blockDigest(text)];
  return part.kind === 'tool-call' ? { kind: 'tool-call', id: part.id, name: part.name, blocks } : { kind: part.kind, blocks };
}
