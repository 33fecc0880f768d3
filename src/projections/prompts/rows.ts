import type { DataOf } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import type { Text } from '../../events/schemas/values.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows that prompts become. */

/** What a prompt is known by: the judgement that the reply to it became, else the step. */
export function promptIdOf({ judgementId, stepId }: Pick<DataOf<'PromptShown'>, 'judgementId' | 'stepId'>): string {
  return judgementId ?? stepId;
}

export function promptRow(
  { event, offset }: Delivery<Envelope<'PromptShown'>>,
  { length, withImages, structured }: { readonly length: number; readonly withImages: boolean; readonly structured: boolean },
): Row<typeof tables.prompts> {
  const { data, correlationId, occurredAt } = event;
  const { base, template, tools, tokens } = data;
  return {
    promptId: promptIdOf(data),
    stepId: data.judgementId === undefined ? data.stepId : null,
    treeId: data.treeId,
    runId: correlationId,
    sha256: data.sha256,
    length,
    withImages,
    structured,
    baseId: base?.stepId ?? null,
    baseMessages: base?.messages ?? 0,
    messages: data.messages,
    template: template?.name ?? null,
    templateVersion: template?.version ?? null,
    tools: typeof tools === 'string' ? tools : null,
    sampling: data.sampling,
    server: data.server,
    model: data.model ?? null,
    answer: data.answer ?? null,
    tokensBefore: tokens?.before ?? null,
    tokensKept: tokens?.keep ?? null,
    tokens: tokens?.ids ?? null,
    tokenCount: tokens && tokens.keep + tokens.ids.length,
    drifted: data.judgementId === undefined && base !== null && tokens !== null && tokens.keep < tokens.before,
    logOffset: offset,
    shownAt: occurredAt,
    blobs: tools === null || typeof tools === 'string' ? null : { tools },
  };
}

export function blockRow(sha256: string, block: Text): Row<typeof tables.promptBlocks> {
  return typeof block === 'string' ? { sha256, text: block, blobs: null } : { sha256, text: '', blobs: { text: block } };
}
