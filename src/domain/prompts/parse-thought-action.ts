const ACTION = /Action(?: ?\d+)?:/g;
const THOUGHT = /Thought(?: ?\d+)?:/;

export interface ThoughtAction {
  readonly thought: string;
  readonly action: string;
  readonly wellFormatted: boolean;
}

/**
 * Splits a response into thought and action. The action is the first line with text after the last `Action:`, so an observation that the model invents after
 * it never reaches the world. Without the marker it is the last line with text. List numbers, end-of-turn marks, quotes around the whole and a final full
 * stop are taken off, runs of blanks become one; nothing else is filtered (AgentGym's clients delete characters, which glues words and changes names).
 * `wellFormatted`: exactly one marker, an action after it, and nothing after the action.
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
  const unstopped = bare.replace(/ ?\.$/, '');
  return unstopped
    .replace(/^(["'`*]+)(.*?)\1$/, '$2')
    .replace(/ ?\.$/, '')
    .trim();
}
