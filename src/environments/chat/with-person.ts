import { sha256Hex } from '../../digest/sha256.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { Environment, EnvironmentKind, Opening, StepResult } from '../environment.ts';
import { overlay } from '../overlay.ts';
import type { Person, PersonReply } from './person.ts';

/** What the record holds of a conversation, from its root on: what was observed, and whether it ended there. */
export interface RecordedTurn {
  readonly observation: string;
  readonly termination: 'none' | 'terminated' | 'truncated';
}

/**
 * Lets a person take part in an environment: what they say is the end of the observation behind which the policy acts. An
 * environment that waits for a person (`needsPerson`) says where; in others they are asked at every step that does not end the
 * episode. There is one conversation: every episode that is created walks the way of the first, and asks only where that ends.
 * @param opening what the person said to the opening, where it is not on record. @param turns what is on record.
 */
export function withPerson(
  kind: EnvironmentKind,
  person: Person,
  { opening = '', turns = [] }: { readonly opening?: string; readonly turns?: readonly RecordedTurn[] },
): EnvironmentKind {
  const said: PersonReply[] = turns.length > 0 ? [] : [{ kind: 'says', text: opening }];

  /** What was said at a depth, behind what the environment itself showed there. */
  async function saidAt(depth: number, observation: string, signal?: AbortSignal): Promise<PersonReply> {
    const turn = turns[depth];
    const known = said[depth] ?? (turn && fromRecord(turn, observation));
    said[depth] = known ?? (await person.next(signal));
    return said[depth];
  }
  const textsTo = (depth: number) => said.slice(0, depth + 1).map((each) => (each.kind === 'says' ? each.text : ''));

  async function create(): Promise<Environment> {
    const inner = await kind.create();
    let [depth, response] = [0, ''];
    return {
      reset: async (start) => {
        depth = 0;
        const opened = await inner.reset(start);
        const first = await saidAt(0, opened.observation);
        return openedWith(opened, first.kind === 'says' ? first.text : '');
      },
      step: async (action, signal) => {
        const result = await inner.step(action, signal);
        depth++;
        const isNew = depth >= said.length && depth >= turns.length;
        if (isNew) person.show({ kind: 'step', response: response === '' ? action : response, action, result });
        response = '';
        const asks = !result.terminated && !result.truncated && (!kind.needsPerson || result.awaitsPerson === true);
        if (!asks) {
          said[depth] ??= NOTHING;
          return result;
        }
        const now = await saidAt(depth, result.observation, signal);
        const stateHash = stateWith(result.stateHash, textsTo(depth));
        if (now.kind === 'says') return { ...result, stateHash, observation: withMessage(result.observation, now.text) };
        return ended({ ...result, stateHash }, now.reason);
      },
      parse: (text) => {
        response = text;
        return inner.parse(text);
      },
      ...(inner.expertAction ? { expertAction: () => inner.expertAction?.() ?? Promise.resolve(null) } : {}),
      ...(inner.planLength ? { planLength: () => inner.planLength?.() ?? Promise.resolve(null) } : {}),
      close: () => inner.close(),
    };
  }
  return overlay(kind, { create });
}

const NOTHING: PersonReply = { kind: 'says', text: '' };
const MARK = '\n\nUser: ';

/** Writes what the policy is shown: what the environment said, and what the person said to it. */
export function withMessage(observation: string, text: string): string {
  if (text === '') return observation;
  return observation === '' ? text : `${observation}${MARK}${text}`;
}

/** The way back of `withMessage`: what it added is the rest behind what the environment says again. */
function fromRecord({ observation, termination }: RecordedTurn, shown: string): PersonReply {
  if (termination !== 'none') return { kind: 'ends', reason: '' };
  if (shown === '') return { kind: 'says', text: observation };
  const isLonger = observation.startsWith(`${shown}${MARK}`);
  return isLonger ? { kind: 'says', text: observation.slice(shown.length + MARK.length) } : NOTHING;
}

function openedWith(opened: Opening, text: string): Opening {
  const stateHash = stateWith(opened.stateHash, [text]);
  const observation = withMessage(opened.observation, text);
  return { ...opened, stateHash, observation, goal: opened.goal === '' ? cutText(text, 10_000) : opened.goal };
}

/** What was said is part of the situation: where people say different things, situations are not equal. */
function stateWith(stateHash: string | null, texts: readonly string[]): string | null {
  if (stateHash === null || texts.every((text) => text === '')) return stateHash;
  return sha256Hex(JSON.stringify([stateHash, ...texts]));
}

/** A conversation behind a final answer ends as one that was answered; elsewhere the person cut the episode. */
function ended(result: StepResult, reason: string): StepResult {
  const isAnswered = result.awaitsPerson === true;
  return { ...result, terminated: isAnswered, truncated: !isAnswered, reason: reason === '' ? 'ended by the person' : reason };
}
