import { PYTHON_SPACE, pythonStrip } from '../text/python-strip.ts';

/** Which of the published modules read the reply: WebShop's has a slip of its own. */
export type PublishedReplyStyle = 'webshop' | 'other';

/**
 * A reply as the published search keeps it. `response` is stored at the node, `turn` in the conversation, `action` is executed.
 */
export interface PublishedReply {
  readonly action: string;
  readonly response: string;
  readonly turn: string;
}

/**
 * Reads a model's reply as Agent-R's search does (specification, §1.6 items 4 and 7). The action is what follows the last `Action
 * 1:`, else the last `Action:`, else the last line; a leading number with a dot goes. Nothing cuts it at a line end, so an
 * invented observation is executed too (§6 item 17): our own environments parse for themselves.
 */
export function readPublishedReply(reply: string, style: PublishedReplyStyle): PublishedReply {
  const stripped = pythonStrip(reply);
  const numberless = stripped.replaceAll('Action 1:', 'Action:');
  return {
    action: actionIn(stripped),
    // WebShop's module forgets the colon in what it stores at the node, not in the conversation.
    response: numberless.replaceAll('Thought 1:', style === 'webshop' ? 'Thought' : 'Thought:'),
    turn: numberless.replaceAll('Thought 1:', 'Thought:'),
  };
}

/**
 * Cleans an observation as the published search does: every newline and tab is one blank; its evaluation does not (§6 item 16).
 */
export function cleanPublishedObservation(observation: string): string {
  return observation.replaceAll(/[\n\t]/g, ' ');
}

/** A number in front of the action, as Python's `\d+\.\s*` reads it: digits of any script, and its white space. */
const NUMBER = new RegExp(`^\\p{Nd}+\\.${PYTHON_SPACE}*`, 'u');

function actionIn(reply: string): string {
  const marker = reply.includes('Action 1:') ? 'Action 1:' : 'Action:';
  const at = reply.lastIndexOf(marker);
  if (at < 0) return reply.slice(reply.lastIndexOf('\n') + 1);
  return pythonStrip(reply.slice(at + marker.length)).replace(NUMBER, '');
}
