import { spawn } from 'node:child_process';
import { mkdtemp, open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { cutFront } from '../../../domain/text/cut-text.ts';
import { type PolicySpec, parsePolicySpec } from '../../../policies/policy-spec.ts';
import { childEnvironment } from '../../../runtime/config.ts';
import { makeFolder } from '../../../runtime/make-folder.ts';
import { manifestPath } from '../../datasets/export/manifest.ts';

/** A program of somebody else's that trains. */
export interface Trainer {
  /** A line for the shell. */
  readonly command: string;
  readonly timeoutMs: number;
}

/** What a trainer receives, each as an environment variable. */
export interface TrainerTask {
  /** `ESPALIER_DATASET`: the released file; its manifest is `ESPALIER_MANIFEST`. */
  readonly dataset: string;
  /** `ESPALIER_DATASET_ID`, `ESPALIER_DATASET_SHA256`, `ESPALIER_FORMAT`. */
  readonly datasetId: string;
  readonly sha256: string;
  readonly format: string;
  /** `ESPALIER_POLICY`: the policy to go on from, as JSON. */
  readonly policy: string;
  /**
   * `ESPALIER_METHOD`, `ESPALIER_SEED`, `ESPALIER_ITERATION`, `ESPALIER_EPOCHS`, `ESPALIER_LEARNING_RATE`: what the plan says.
   */
  readonly method: string;
  readonly seed: number;
  readonly iteration: number;
  readonly epochs: number;
  readonly learningRate: number;
}

/** The trainer left no policy: what it did instead, and where its output lies. Begun again, the experiment asks it again. */
export class TrainerFailed extends Error {
  override readonly name = 'TrainerFailed';
}

const KILL_MS = 10_000;
const SHOWN = 500;
const LARGEST_POLICY = 1_000_000;

/**
 * Runs a trainer in a new folder, `ESPALIER_OUT`, next to the others' of this iteration, so that one that outlived its caller
 * disturbs nobody. It must end with 0 and leave there `policy.json`, the configuration of a policy (a weights file is named from
 * that folder), or else `weights.espw`. Returns that configuration. When the signal is aborted, or its time is over, it and all
 * that it started are ended.
 * @throws TrainerFailed; what the signal aborts with.
 */
export async function runTrainer(
  { command, timeoutMs }: Trainer,
  task: TrainerTask,
  folder: string,
  signal: AbortSignal,
): Promise<{ readonly spec: PolicySpec; readonly out: string }> {
  signal.throwIfAborted();
  await makeFolder(folder);
  const out = await mkdtemp(join(folder, 'attempt-'));
  const logFile = join(out, 'trainer.log');
  const ending = await execute(command, variablesOf(task, out), { logFile, timeoutMs, signal });
  signal.throwIfAborted();
  const failed = async (why: string) => {
    const said = cutFront((await readFile(logFile, 'utf8')).trim(), SHOWN);
    return new TrainerFailed(
      `the trainer ${why} (${said === '' ? 'it said nothing' : `it said last: ${said}`}); all it said: ${logFile}`,
    );
  };
  if (ending !== 'ended with 0') throw await failed(ending);
  const described = join(out, 'policy.json');
  const size = await sizeOf(described);
  if (size === null) {
    if ((await sizeOf(join(out, 'weights.espw'))) === null)
      throw await failed(`left neither policy.json nor weights.espw in ESPALIER_OUT, ${out}`);
    return { spec: { kind: 'linear', weightsFile: 'weights.espw' }, out };
  }
  try {
    if (size > LARGEST_POLICY) throw new RangeError(`it has ${size} bytes`);
    return { spec: parsePolicySpec(JSON.parse(await readFile(described, 'utf8'))), out };
  } catch (error) {
    throw await failed(`left a policy.json that is no policy: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function variablesOf(task: TrainerTask, out: string): Readonly<Record<string, string>> {
  return {
    ESPALIER_DATASET: task.dataset,
    ESPALIER_MANIFEST: manifestPath(task.dataset),
    ESPALIER_DATASET_ID: task.datasetId,
    ESPALIER_DATASET_SHA256: task.sha256,
    ESPALIER_FORMAT: task.format,
    ESPALIER_POLICY: task.policy,
    ESPALIER_METHOD: task.method,
    ESPALIER_SEED: String(task.seed),
    ESPALIER_ITERATION: String(task.iteration),
    ESPALIER_EPOCHS: String(task.epochs),
    ESPALIER_LEARNING_RATE: String(task.learningRate),
    ESPALIER_OUT: out,
  };
}

/** Runs a line of the shell to its end, its output in a file. Returns how it ended, in words. */
async function execute(
  command: string,
  variables: Readonly<Record<string, string>>,
  { logFile, timeoutMs, signal }: { readonly logFile: string; readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<string> {
  const log = await open(logFile, 'a');
  try {
    // A group of its own, so that what the shell started ends with it.
    const child = spawn(command, {
      shell: true,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: childEnvironment(variables),
    });
    let late = false;
    let killing: NodeJS.Timeout | undefined;
    const stop = () => {
      endGroup(child.pid, 'SIGTERM');
      killing ??= setTimeout(() => endGroup(child.pid, 'SIGKILL'), KILL_MS);
    };
    const timer = setTimeout(() => {
      late = true;
      stop();
    }, timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    try {
      const ending = await new Promise<string>((resolve) => {
        child.once('error', (error) => resolve(`could not be started: ${error.message}`));
        child.once('exit', (code, name) => resolve(`ended with ${code ?? name}`));
      });
      return late ? `took more than ${timeoutMs / 1_000} s and was ended` : ending;
    } finally {
      clearTimeout(timer);
      if (killing !== undefined) endGroup(child.pid, 'SIGKILL'); // what its shell left behind
      clearTimeout(killing);
      signal.removeEventListener('abort', stop);
    }
  } finally {
    await log.close();
  }
}

function endGroup(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return; // it was never started
  try {
    process.kill(-pid, name);
  } catch {
    // the whole group has ended already
  }
}

async function sizeOf(path: string): Promise<number | null> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() ? found.size : null;
}
