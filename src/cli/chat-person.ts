import type { Happened, Person, Said } from '../environments/chat/person.ts';
import type { StepResult } from '../environments/environment.ts';
import type { LineReader } from './line-reader.ts';
import { indented, type Lines, note, say } from './terminal.ts';

/** A person at the terminal, or what is piped to the command in their place. */
export interface ChatPerson extends Person {
  /** Whether they asked for another conversation behind this one. */
  wantsAnother(): boolean;
}

export interface ChatPersonOptions {
  /** What they say, line by line; or one message alone, behind which nobody is asked. */
  readonly input: LineReader | string;
  /** Whether the environment does nothing until something is said; else an empty line lets the policy act. */
  readonly mustSpeak: boolean;
  readonly json: boolean;
}

const HELP: Lines = [
  '/end     end the conversation (so does the end of the input)',
  '/reset   end it and begin another',
  '/go      let the policy act alone to the end of the episode',
  '//TEXT   say a text that begins with /',
];

export function chatPerson({ input, mustSpeak, json }: ChatPersonOptions): ChatPerson {
  let [alone, another, isSaid] = [false, false, false];

  function read(line: string): Said | null {
    if (!line.startsWith('/') || line.startsWith('//')) {
      const text = line.startsWith('//') ? line.slice(1) : line;
      return text.trim() === '' && mustSpeak ? null : { kind: 'says', text: text.trim() === '' ? '' : text };
    }
    const command = line.trim();
    if (command === '/end' || command === '/reset') {
      another = command === '/reset';
      return { kind: 'ends', reason: another ? 'reset by the person' : 'ended by the person' };
    }
    if (command === '/go' && !mustSpeak) {
      alone = true;
      return { kind: 'says', text: '' };
    }
    if (command === '/go') note('nothing is left for the policy to do: say something');
    else note(command === '/help' ? HELP : [`there is no command ${command.slice(0, 80)}:`, HELP]);
    return null;
  }

  return {
    show: (happened) => say(json ? JSON.stringify(asJson(happened)) : asLines(happened)),
    wantsAnother: () => another,
    async next(signal) {
      signal?.throwIfAborted();
      if (alone) return { kind: 'says', text: '' };
      if (typeof input === 'string') {
        if (isSaid) return { kind: 'ends', reason: 'nothing more was to be said' };
        [isSaid, alone] = [true, !mustSpeak];
        return { kind: 'says', text: input };
      }
      for (;;) {
        const line = await input.next(signal);
        if (line === null) return { kind: 'ends', reason: 'the input ended' };
        const said = read(line);
        if (said) return said;
      }
    },
  };
}

function asJson(happened: Happened): object {
  if (happened.kind === 'opening') {
    const { instruction, observation } = happened.opening;
    return { kind: 'opening', instruction, observation };
  }
  const { response, action, result } = happened;
  const { observation, terminated, truncated, success, toolCalls = [] } = result;
  return { kind: 'step', response, action, observation, toolCalls, rewards: rewardsOf(result), terminated, truncated, success };
}

/** Writes a turn that is on record. */
export function turnLines({ depth, response, observation }: { depth: number; response: string; observation: string }): Lines {
  const seen = observation === '' ? [] : [depth === 0 ? 'opening' : 'then', indented(linesOf(observation))];
  return depth === 0 ? seen : ['policy', indented(linesOf(response)), seen];
}

function asLines(happened: Happened): Lines {
  if (happened.kind === 'opening') return ['environment', indented(linesOf(happened.opening.observation))];
  const { response, result } = happened;
  const calls = (result.toolCalls ?? []).map((call) => [
    `tool ${call.tool} (${call.outcome}, ${Math.round(call.durationMs)} ms)`,
    indented(linesOf(call.arguments)),
    indented(linesOf(call.output).map((line) => `  ${line}`)),
  ]);
  const seen = calls.length > 0 || result.observation === '' ? [] : ['environment', indented(linesOf(result.observation))];
  const paid = rewardsOf(result).map(({ component, value }) => `reward ${component} ${value}`);
  const end = result.terminated || result.truncated ? [`the episode ended${successText(result)}`] : [];
  return ['policy', indented(linesOf(response)), calls, seen, paid, end];
}

function successText({ success }: StepResult): string {
  return success === null ? '' : success ? ': the task is done' : ': the task is not done';
}

function rewardsOf({ reward, components = [] }: StepResult): readonly { readonly component: string; readonly value: number }[] {
  const value = reward.gain ?? reward.value;
  const own = components.map((each) => ({ component: each.component, value: each.value }));
  return value === 0 ? own : [{ component: 'environment', value }, ...own];
}

function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/);
}
