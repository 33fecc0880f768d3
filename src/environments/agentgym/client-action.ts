import { pythonStrip } from '../../domain/text/python-strip.ts';
import { parseReact } from '../parse-react.ts';

/**
 * The two published generations of AgentGym's clients: the one Agent-R was written against (9acebc9), and the one since 2025-09.
 */
export const CLIENT_REVISIONS = ['2025-03', '2025-09'] as const;
export type ClientRevision = (typeof CLIENT_REVISIONS)[number];

/** How a server's Python client treats the text it is given: it cuts a segment, filters a line, or passes all on. */
export type ClientFamily = 'segment' | 'textcraft' | 'babyai' | 'raw';

export type ClientAction =
  | { readonly kind: 'post'; readonly action: string }
  /** The client answers itself and posts nothing. */
  | { readonly kind: 'refuse'; readonly observation: string };

/**
 * Returns what a published client would post for a text (agent-r §4.2, vectors `15`). Only for reproducing old results: the
 * filters glue words (`oak_logs` becomes `oaklogs`), and since 2025-09 a bare action is posted as an empty one.
 */
export function clientAction(family: ClientFamily, revision: ClientRevision, text: string): ClientAction {
  switch (family) {
    case 'raw':
      return post(text);
    case 'segment':
      return post(revision === '2025-03' ? firstSegment(text) : parseReact(withoutEndMark(text)).action);
    case 'textcraft':
      return revision === '2025-03' ? post(plainLetters(lastSegmentBeforeInstruction(text))) : onlyAction(text);
    case 'babyai':
      return revision === '2025-03' ? post(firstSegment(text)) : onlyAction(text);
    default:
      return family satisfies never;
  }
}

const post = (action: string): ClientAction => ({ kind: 'post', action });

/** The published clients cut five characters for a mark of four. */
function withoutEndMark(text: string): string {
  return text.endsWith('</s>') ? [...text].slice(0, -5).join('') : text;
}

function firstSegment(text: string): string {
  const segments = withoutEndMark(text).split('Action:');
  return pythonStrip(segments[1] ?? segments[0] ?? '');
}

function lastSegmentBeforeInstruction(text: string): string {
  return (text.split('Instruction:')[0] ?? '').split('Action:').at(-1) ?? '';
}

const ACTION_LINE = /Action:\s*([^\n]*)/g;

function onlyAction(text: string): ClientAction {
  const lines = [...text.matchAll(ACTION_LINE)].map((match) => match[1] ?? '');
  if (lines.length > 1) {
    return {
      kind: 'refuse',
      observation: "Error: Only one 'Action' is allowed per response. Please adjust your response.",
    };
  }
  return post(plainLetters(lines[0] ?? ''));
}

/** Deletes all but letters, digits, commas and blanks, as the originals do: a deleted newline glues the words around it. */
function plainLetters(text: string): string {
  return text
    .replaceAll(/[^A-Za-z0-9, ]+/g, '')
    .split(' ')
    .filter((word) => word !== '')
    .join(' ');
}
