import type { TemplateName } from './prompt-template.ts';

/** What an answer is to say. `factor` is the one asked for the next history image; null leaves it out. */
export interface AnswerParts {
  readonly thought: string;
  readonly action: string;
  readonly factor: number | null;
}

/**
 * Writes an answer in the form that a world's prompt asks for, so that `projectResponse` reads the same out of it: for policies
 * that choose among actions.
 */
export function writeResponse(name: TemplateName, { thought, action, factor }: AnswerParts): string {
  const compression = factor === null ? '' : `\n<compression>${factor}</compression>`;
  switch (name) {
    case 'alfworld':
    case 'webshop':
      return `<think>${thought}</think>\n<action>${action}</action>${compression}`;
    case 'search-qa':
      return `<think>${thought}</think>\n${action}${compression}`;
    case 'textcraft':
      return `Thought: ${thought}\nAction: ${action}${compression}`;
    default:
      return name satisfies never;
  }
}
