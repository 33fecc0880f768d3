/** What ScienceWorld offers in the agent's state: the texts of the patched server's extra routes (agent-r §4.4). */
export interface Overrides {
  readonly validActions: readonly string[];
  readonly look: string;
  readonly inventory: string;
}

const ROOMS = [
  ...['hallway', 'greenhouse', 'green house', 'kitchen', 'bathroom', 'outside'],
  ...['workshop', 'art studio', 'foundry', 'bedroom', 'living room'],
] as const;
const OPEN_DOORS = ROOMS.map((room) => `open door to ${room}`);
const NEVER_FOCUS: ReadonlySet<string> = new Set(['agent', 'air', ...ROOMS].map((thing) => `focus on ${thing}`));

/**
 * Replaces a predicted ScienceWorld action by the valid one that shares the most words with it, as Agent-R does (§1.8): an exact
 * match stays, a prediction that shares no word is only cleaned. The original walks a Python set ordered by length alone, so
 * equal lengths fall as the hash seed of the process says; here they fall by code point, the same everywhere. @param recent the
 * history, as Agent-R writes it.
 */
export function snapAction(prediction: string, overrides: Overrides, recent: readonly string[] = []): string {
  const candidates = candidatesIn(overrides, recent);
  const exact = prediction.replaceAll('green house', 'greenhouse').trim();
  if (candidates.has(exact)) return exact;

  const words = new Set(prediction.split(' '));
  let best = prediction;
  let most = 0;
  for (const candidate of [...candidates].sort(byLengthThenText)) {
    const shared = [...new Set(candidate.split(' '))].filter((word) => words.has(word)).length;
    if (shared <= most) continue;
    best = candidate;
    most = shared;
  }
  return best.replaceAll(/[^A-Za-z0-9 ]+/g, '');
}

function candidatesIn({ validActions, look, inventory }: Overrides, recent: readonly string[]): ReadonlySet<string> {
  const visible = `${look} ${inventory.toLowerCase()}`;
  const last = new Set(recent.slice(-3));
  const kept = [...validActions, ...OPEN_DOORS].filter((action) => {
    if (NEVER_FOCUS.has(action) || last.has(action)) return false;
    if (action.includes('door') && !action.includes('open')) return false;
    return !action.startsWith('focus on') || wordsOf(action).every((word) => visible.includes(word));
  });
  return new Set(kept);
}

function wordsOf(action: string): string[] {
  return action.replaceAll(/\b(?:focus|on|in|to)\b/gi, '').split(' ');
}

function byLengthThenText(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
