import type { TemplateName } from './prompt-template.ts';

const ACTION = /Action(?: ?\d+)?:/g;
const THOUGHT = /Thought(?: ?\d+)?:/;

interface ThoughtAction {
  readonly thought: string;
  readonly action: string;
  readonly wellFormatted: boolean;
}

/**
 * Splits a response into thought and action. The action is the first line with text after the last `Action:`, so an observation
 * that the model invents after it never reaches the world. Without the marker it is the last line with text. List numbers,
 * end-of-turn marks, quotes around the whole and a final full stop are taken off, runs of blanks become one; nothing else is
 * filtered (AgentGym's clients delete characters, which glues words and changes names). `wellFormatted`: exactly one marker, an
 * action after it, and nothing after the action.
 */
export function parseThoughtAction(response: string): ThoughtAction {
  const markers = [...response.matchAll(ACTION)];
  const marker = markers.at(-1);
  if (marker === undefined) {
    const lines = linesWithText(response);
    return { thought: thoughtIn(lines.slice(0, -1).join('\n')), action: clean(lines.at(-1) ?? ''), wellFormatted: false };
  }
  const [line, ...rest] = linesWithText(response.slice(marker.index + marker[0].length));
  const action = clean(line ?? '');
  return {
    thought: thoughtIn(response.slice(0, marker.index)),
    action,
    wellFormatted: markers.length === 1 && action !== '' && rest.every((text) => clean(text) === ''),
  };
}

function linesWithText(text: string): string[] {
  return text.split(/\r\n|\r|\n/).filter((line) => line.trim() !== '');
}

function thoughtIn(text: string): string {
  const marker = THOUGHT.exec(text);
  return (marker ? text.slice(marker.index + marker[0].length) : text).trim();
}

function clean(line: string): string {
  const bare = line
    .replaceAll(/<\/s>|<\|im_end\|>|<\|eot_id\|>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/^\d+\. ?/, '');
  return unquoted(bare.replace(/ ?\.$/, '')).replace(/ ?\.$/, '').trim();
}

const QUOTES = '"\'`*';

/**
 * Takes off the longest run of quotes that the line both begins and ends with. The pattern with a back reference takes quadratic
 * time on a run of quotes.
 */
function unquoted(line: string): string {
  const most = Math.floor(line.length / 2);
  let run = 0;
  while (run < most && QUOTES.includes(line.charAt(run))) run++;
  const length = borderOf(`${line.slice(0, run)}\n${line.slice(line.length - run)}`); // no line holds the newline between
  return line.slice(length, line.length - length);
}

/** Returns the length of the longest text that another one both begins and ends with, in one pass (Knuth, Morris and Pratt). */
function borderOf(text: string): number {
  const borders = new Int32Array(text.length);
  let border = 0;
  for (let i = 1; i < text.length; i++) {
    while (border > 0 && text.charCodeAt(i) !== text.charCodeAt(border)) border = borders[border - 1] ?? 0;
    if (text.charCodeAt(i) === text.charCodeAt(border)) border++;
    borders[i] = border;
  }
  return border;
}

/** What an answer is to say. `factor` is the one asked for the next history image; null leaves it out. */
interface AnswerParts {
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
