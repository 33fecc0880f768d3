import { createConnection } from 'node:net';
import { until } from '../until.ts';
import type { Ended, GuideFolder } from './guide-folder.ts';
import { type GuideStep, patternOf } from './read-guide.ts';

const STARTED_MS = 120_000;

/** What differs between a reader's machine and the test's. */
export interface Here {
  /** Changes a command or a program, such as the port of a server in it. */
  readonly adapted: (text: string) => string;
  /** What the reader has where a page names it in capitals, such as RUN. */
  readonly words: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Does what the steps of a guide ask for, one after the other.
 * @returns what each command and program printed.
 * @throws Error with the command that failed, or printed something else than the page shows.
 */
export async function runGuide(steps: readonly GuideStep[], place: GuideFolder, here: Here): Promise<readonly string[]> {
  const printed: string[] = [];
  for (const step of steps) {
    if (step.kind === 'create' || step.kind === 'edit') await place.apply(step);
    else if (step.kind === 'run') printed.push(await runCommand(step, place, here));
    else printed.push(await runProgram(step.text, place, here));
  }
  return printed;
}

async function runCommand(step: { readonly command: string; readonly output: string }, place: GuideFolder, here: Here) {
  const named = Object.entries(here.words).reduce(
    (command, [word, value]) => command.replaceAll(new RegExp(`\\b${word}\\b`, 'g'), () => value),
    step.command,
  );
  const command = here.adapted(named);
  const { stdout } = succeeded(step.command, await place.run(command, here.env));
  await untilListening(command);
  if (!patternOf(step.output).test(stdout))
    throw new Error(`${step.command}\nprinted\n${stdout}\nand the page shows\n${step.output}`);
  return stdout;
}

async function runProgram(text: string, place: GuideFolder, here: Here): Promise<string> {
  const known = Object.entries(here.words).map(([word, value]) => `${word} = ${JSON.stringify(value)}\n`);
  const program = `cat > program.py <<'END OF PROGRAM' && python3 program.py\n${known.join('')}${here.adapted(text)}END OF PROGRAM\n`;
  return succeeded(text, await place.run(program, here.env)).stdout;
}

function succeeded(command: string, ended: Ended): Ended {
  if (ended.code !== 0)
    throw new Error(`${command}\nended with ${ended.code}:\n${ended.stdout.slice(-2_000)}${ended.stderr.slice(-4_000)}`);
  return ended;
}

/** Waits for the servers that a command started in the background, as a reader does. */
async function untilListening(command: string): Promise<void> {
  for (const line of command.split('\n').filter((each) => each.trimEnd().endsWith('&')))
    for (const [, port] of line.matchAll(/--port (\d+)/g)) await until(() => isListening(Number(port)), STARTED_MS);
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.once('connect', () => socket.end(() => resolve(true))).once('error', () => resolve(false));
  });
}
