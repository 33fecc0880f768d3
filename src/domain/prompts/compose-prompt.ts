import { compressionRequest } from './compression-request.ts';
import { joinRecords, memoryRecord } from './memory-record.ts';
import type { PromptPart } from './prompt-message.ts';
import type { ComposedPrompt, PromptInput, TemplateName } from './prompt-template.ts';
import { wordAlfworld } from './templates/word-alfworld.ts';
import { wordSearchQa } from './templates/word-search-qa.ts';
import { wordTextcraft } from './templates/word-textcraft.ts';
import { wordWebshop } from './templates/word-webshop.ts';
import type { ShownHistory, Wording } from './templates/wording.ts';

/** Raised with every change of a world's texts or records. */
export const TEMPLATE_VERSIONS: { readonly [Name in TemplateName]: number } = {
  alfworld: 1,
  'search-qa': 1,
  textcraft: 1,
  webshop: 1,
};

const WORDINGS: { readonly [Name in TemplateName]: Wording } = {
  alfworld: wordAlfworld,
  'search-qa': wordSearchQa,
  textcraft: wordTextcraft,
  webshop: wordWebshop,
};

/**
 * Composes what the agent is asked at one step: one user message, the history image first where there is one, then a single text.
 * The slots are those of specification of AgentOCR, §4.1 and §4.2, the words our own. The current observation is always text; the
 * image holds finished steps only.
 * @throws RangeError for a history length that is not a count.
 */
export function composePrompt(name: TemplateName, input: PromptInput): ComposedPrompt {
  const { mode, steps, historyLength } = input;
  if (!Number.isInteger(historyLength) || historyLength < 0)
    throw new RangeError(`a history length is a count of steps, not ${historyLength}`);
  const compression = mode === 'image' && input.compression;
  const records = shownRecords(name, input);
  const historyText = joinRecords(name, records);
  const shown: ShownHistory =
    records.length === 0
      ? { kind: 'nothing' }
      : mode === 'image'
        ? { kind: 'image', count: records.length }
        : { kind: 'text', count: records.length, text: historyText };
  const text = WORDINGS[name]({ ...input, taken: steps.length, shown });
  const body: PromptPart = { kind: 'text', text: compression ? `${text}\n\n${compressionRequest(name)}` : text };
  const withImage = mode === 'image' && (records.length > 0 || input.emptyHistory === 'blank-image');
  return {
    template: { name, version: TEMPLATE_VERSIONS[name], mode, compression },
    messages: [{ role: 'user', parts: withImage ? [{ kind: 'history-image' }, body] : [body] }],
    historyText,
    records,
  };
}

function shownRecords(name: TemplateName, { steps, observation, historyLength }: PromptInput): string[] {
  const first = Math.max(0, steps.length - historyLength);
  return steps.slice(first).map(({ observation: before, action }, i) => {
    const after = steps[first + i + 1]?.observation ?? observation;
    return memoryRecord(name, { before, action, after });
  });
}
