import { createInterface } from 'node:readline';
import type { Person, PersonReply, TurnOutcome } from '../environments/chat/person.ts';
import type { Opening, StepResult } from '../environments/environment.ts';
import { picturesOf } from '../environments/with-pictures.ts';
import type { Picture } from '../images/observation-pictures.ts';
import { indented, type Lines, print, printError } from './terminal.ts';

/** A person at the terminal, or what is piped to the command in their place. */
export interface ChatPerson extends Person {
  /** Whether they asked for another conversation behind this one. */
  wantsAnother(): boolean;
}

interface ChatPersonOptions {
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

  function read(line: string): PersonReply | null {
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
    if (command === '/go') printError('nothing is left for the policy to do: say something');
    else printError(command === '/help' ? HELP : [`there is no command ${command.slice(0, 80)}:`, HELP]);
    return null;
  }

  return {
    show: (happened) => print(json ? JSON.stringify(asJson(happened)) : asLines(happened)),
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

function asJson(happened: TurnOutcome): object {
  if (happened.kind === 'opening') {
    const { instruction, observation } = happened.opening;
    return { kind: 'opening', instruction, observation, ...picturesNamed(happened.opening) };
  }
  const { response, action, result } = happened;
  const { observation, terminated, truncated, success, toolCalls = [] } = result;
  const shown = { response, action, observation, ...picturesNamed(result), toolCalls, rewards: rewardsOf(result) };
  return { kind: 'step', ...shown, terminated, truncated, success };
}

/** A turn that is on record, for who goes on with its chat. */
interface ShownTurn {
  readonly depth: number;
  readonly response: string;
  readonly observation: string;
  readonly pictures: readonly SeenPicture[];
}

type SeenPicture = Pick<Picture, 'imageId' | 'width' | 'height'>;

/** Writes a turn that is on record. */
export function turnLines({ depth, response, observation, pictures }: ShownTurn): Lines {
  const text = observation === '' ? [] : linesOf(observation);
  const lines = [...text, ...pictureLines(pictures)];
  const seen = lines.length === 0 ? [] : [depth === 0 ? 'opening' : 'then', indented(lines)];
  return depth === 0 ? seen : ['policy', indented(linesOf(response)), seen];
}

function asLines(happened: TurnOutcome): Lines {
  if (happened.kind === 'opening') {
    const { opening } = happened;
    return ['environment', indented([...linesOf(opening.observation), ...pictureLines(picturesOf(opening))])];
  }
  const { response, result } = happened;
  const calls = (result.toolCalls ?? []).map((call) => [
    `tool ${call.tool} (${call.outcome}, ${Math.round(call.durationMs)} ms)`,
    indented(linesOf(call.arguments)),
    indented(linesOf(call.output).map((line) => `  ${line}`)),
  ]);
  const said = calls.length > 0 || result.observation === '' ? [] : linesOf(result.observation);
  const lines = [...said, ...pictureLines(picturesOf(result))];
  const seen = lines.length === 0 ? [] : ['environment', indented(lines)];
  const paid = rewardsOf(result).map(({ component, value }) => `reward ${component} ${value}`);
  const end = result.terminated || result.truncated ? [`the episode ended${successText(result)}`] : [];
  return ['policy', indented(linesOf(response)), calls, seen, paid, end];
}

/** A terminal shows no pixels: each picture is named, with the place at which the API serves it. */
function pictureLines(pictures: readonly SeenPicture[]): readonly string[] {
  return pictures.map(({ imageId, width, height }) => `[picture ${width} × ${height}: /images/${imageId}.png]`);
}

function picturesNamed(seen: Opening | StepResult): { readonly pictures?: readonly SeenPicture[] } {
  const pictures = picturesOf(seen).map(({ imageId, width, height }) => ({ imageId, width, height }));
  return pictures.length === 0 ? {} : { pictures };
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

/** Lines that are typed or piped, one at a time. */
export interface LineReader {
  /** Null behind the last line. @throws the signal's reason. */
  next(signal: AbortSignal | undefined): Promise<string | null>;
  close(): void;
}

/** Opens a reader of lines, with a prompt where it is a terminal. Who opens it closes it. */
export function openLineReader(input: NodeJS.ReadableStream & { readonly isTTY?: boolean }): LineReader {
  const isTerminal = input.isTTY === true;
  const reader = createInterface({ input, ...(isTerminal ? { output: process.stderr, prompt: 'you> ' } : {}) });
  const read: string[] = [];
  let isOver = false;
  let look: () => void = () => undefined;
  reader.on('line', (line) => {
    read.push(line);
    look();
  });
  reader.on('close', () => {
    isOver = true;
    look();
  });
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT')); // a terminal that edits lines keeps Ctrl-C to itself
  return {
    next: (signal) =>
      new Promise((resolve, reject) => {
        const stop = () => reject(signal?.reason as Error); // what a signal is aborted with is an error here
        const end = (line: string | null) => {
          signal?.removeEventListener('abort', stop);
          look = () => undefined;
          resolve(line);
        };
        look = () => {
          const line = read.shift();
          if (line !== undefined) end(line);
          else if (isOver) end(null);
        };
        if (signal?.aborted) return stop();
        signal?.addEventListener('abort', stop, { once: true });
        if (isTerminal && read.length === 0 && !isOver) reader.prompt();
        look();
      }),
    close: () => reader.close(),
  };
}
