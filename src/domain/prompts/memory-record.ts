import type { TemplateName } from './prompt-template.ts';

/** A finished step: what the agent saw, what it did, and what came back. */
export interface FinishedStep {
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
export function memoryRecord(name: TemplateName, step: FinishedStep): string {
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
export function joinRecords(name: TemplateName, records: readonly string[]): string {
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
