import type { Delivery, Envelope } from '../../events/envelope.ts';
import type { Text } from '../../events/schemas/values.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows that prompts become. */

export function promptRow({ event, offset }: Delivery<Envelope<'PromptShown'>>, length: number): Row<typeof tables.prompts> {
  const { data, correlationId, occurredAt } = event;
  const { base, template, tools, tokens } = data;
  return {
    ...{ step_id: data.stepId, tree_id: data.treeId, run_id: correlationId, sha256: data.sha256, length },
    ...{ base_step_id: base?.stepId ?? null, base_messages: base?.messages ?? 0, messages: data.messages },
    ...{ template: template?.name ?? null, template_version: template?.version ?? null },
    tools: typeof tools === 'string' ? tools : null,
    ...{ sampling: data.sampling, server: data.server },
    ...{ tokens_before: tokens?.before ?? null, tokens_kept: tokens?.keep ?? null, tokens: tokens?.ids ?? null },
    token_count: tokens && tokens.keep + tokens.ids.length,
    drifted: base !== null && tokens !== null && tokens.keep < tokens.before,
    ...{ log_offset: offset, shown_at: occurredAt },
    blobs: tools === null || typeof tools === 'string' ? null : { tools },
  };
}

export function blockRow(sha256: string, block: Text): Row<typeof tables.prompt_blocks> {
  return typeof block === 'string' ? { sha256, text: block, blobs: null } : { sha256, text: '', blobs: { text: block } };
}
