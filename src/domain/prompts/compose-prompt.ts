import type { ComposedPrompt, PastStep, PromptInput, PromptPart, TemplateName } from './prompt-template.ts';
import { type ShownHistory, type Wording, wordAlfworld, wordSearchQa, wordTextcraft, wordWebshop } from './wording.ts';

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

/** A finished step: what the agent saw, what it did, and what came back. */
interface FinishedStep {
  readonly before: string;
  readonly action: string;
  readonly after: string;
}

/**
 * Writes one finished step as the agent will read it again (specification of AgentOCR, §1.3 and §3.2): in worlds of acting what
 * it saw and then did, on one line; in Search what it did and what that brought. These lines are the segments of the history
 * image. The last answer of a world of acting is therefore not in its history (it is the prompt's current observation), the last
 * result of a search is.
 */
function memoryRecord(name: TemplateName, step: FinishedStep): string {
  switch (name) {
    case 'alfworld':
    case 'textcraft':
    case 'webshop':
      return `[Observation]: ${onOneLine(step.before)} [Action]: ${onOneLine(step.action)}`;
    case 'search-qa':
      return `${step.action} ${asInformation(step.after)}`;
    default:
      return name satisfies never;
  }
}

/** Joins records as the reference's memory does: in Search an empty line follows each. */
function joinRecords(name: TemplateName, records: readonly string[]): string {
  return name === 'search-qa' ? records.map((record) => `${record}\n`).join('\n') : records.join('\n');
}

/** Every line break becomes one blank, as published: an empty line becomes two. */
function onOneLine(text: string): string {
  return text.replace(/\r\n|\r|\n/g, ' ');
}

/** Not every server wraps its passages; an empty result stays empty, so that a blank record is seen to be blank. */
function asInformation(text: string): string {
  return text.trim() === '' || text.trimStart().startsWith('<information>') ? text : `<information>${text}</information>`;
}

/**
 * Asks for the factor of the next image, worded for one world (specification of AgentOCR, §2.1; in our own words). A changed text
 * raises the template's version.
 */
function compressionRequest(name: TemplateName): string {
  return name === 'search-qa' ? SEARCH : COMMON;
}

const COMMON = `Last, choose how strongly the next history image is to be compressed: a number larger than 1.0 between <compression> and </compression>. A larger number makes the image smaller and cheaper, but too large a number makes its text hard to read. Example: <compression>1.1</compression>`;

const SEARCH = `${COMMON}

Give your answer in this order:
1. your reasoning inside <think> </think>, where you first state what you could read in the image, if there is one;
2. the search inside <search> </search>, or the answer inside <answer> </answer>;
3. the factor inside <compression> </compression>.`;

/**
 * Turns an episode as a policy is asked (the opening, then each action with the observation that followed) into what a prompt is
 * composed from: each action with what the agent saw when it chose it, and what it sees now.
 */
export function pastSteps(
  firstObservation: string,
  history: readonly { readonly action: string; readonly observation: string }[],
): { readonly steps: readonly PastStep[]; readonly observation: string } {
  let observation = firstObservation;
  const steps = history.map((turn) => {
    const step = { observation, action: turn.action };
    observation = turn.observation;
    return step;
  });
  return { steps, observation };
}
