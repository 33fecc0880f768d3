import { type Command, Option } from 'commander';
import { textReader } from '../blobs/read-text.ts';
import { TOOL_PROFILES } from '../domain/tools/plan-turn.ts';
import type { EnvironmentKind } from '../environments/environment.ts';
import { ENVIRONMENT_FORMS, openEnvironment } from '../environments/open-environment.ts';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { POLICY_FORMS, parsePolicyText } from '../policies/policy-spec.ts';
import { readPicturesOfSteps } from '../projections/pictures/read-pictures.ts';
import { readRecordedSteps } from '../projections/step-tree/read-recorded-steps.ts';
import { surveysFolder } from '../usecases/collect/choose-tasks.ts';
import { type Collection, collect, readCollection } from '../usecases/collect/collect.ts';
import { treeIdOf } from '../usecases/collect/collect-tree.ts';
import { RunRefused } from '../usecases/collect/hold-run.ts';
import { type CollectPlan, collectPlan } from '../usecases/collect/plan.ts';
import { type ChatPerson, chatPerson, type LineReader, openLineReader, turnLines } from './chat-person.ts';
import { checkedId, nameOfRun } from './collect.ts';
import { addPromptOptions, type PromptFlags, promptPlanOf } from './prompt-flags.ts';
import { tasksOf } from './tasks-of.ts';
import { print, printError } from './terminal.ts';
import { numberBetween, wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';
import { endAsCollected, withResumeHint } from './with-resume-hint.ts';

interface ChatFlags extends PromptFlags {
  readonly policy?: string;
  readonly environment?: string;
  readonly tool?: readonly string[];
  readonly toolProfile?: string;
  readonly task?: string;
  readonly message?: string;
  readonly maxSteps: number;
  readonly temperature: number;
  readonly seed: number;
  readonly taskSeed: number;
  readonly name: string;
  readonly run?: string;
  readonly resume?: string;
}

/**
 * `espalier chat`: a conversation with a policy, its tools and an environment. Each is a run of its own, recorded as rollouts
 * are; one that was killed or stopped is gone on with by `--resume`.
 */
export function addChat(program: Command): void {
  const command = program
    .command('chat')
    .option('--policy <spec>', POLICY_FORMS)
    .option('--environment <name>', `an environment that the policy acts in while you talk: ${ENVIRONMENT_FORMS}`)
    .option('--tool <tool...>', 'tools that the policy may call, in the syntax of the option `tools` of the environment `chat`')
    .addOption(
      new Option('--tool-profile <name>', 'tool: the format of calls and results (default: nous)').choices([...TOOL_PROFILES]),
    )
    .option('--task <alias>', 'environment: the task (default: the first task of `collect`)')
    .option('--message <text>', 'send only this message, without a prompt')
    .option('--max-steps <n>', 'steps after which a conversation is truncated', wholeNumber('--max-steps', 1, 10_000), 1_000)
    .option('--temperature <t>', 'sampling temperature', numberBetween('--temperature', 0, 100), 1)
    .option('--seed <n>', 'seed of the run', wholeNumber('--seed', 0), 1)
    .option('--task-seed <n>', 'seed of the environment at reset', wholeNumber('--task-seed', 0), 0)
    .option('--name <name>', 'name of the run', nameOfRun, 'chat')
    .option('--run <id>', 'id of the run (a UUID; default: random)')
    .option('--resume <id>', 'continue this conversation, as it was planned');
  addPromptOptions(command, 'iteration');
  command.action(async (flags: ChatFlags) => {
    const json = wantsJson(command);
    await withProjector('chat', async ({ platform, signal, settle }) => {
      const input = flags.message ?? openLineReader(process.stdin);
      try {
        if (process.stdin.isTTY && typeof input !== 'string') printError('say something; /help lists what else can be done');
        const { resume } = flags;
        const first = resume ? await recordedChat(platform, checkedId('--resume', resume)) : await plannedChat(platform, flags);
        const chat = { platform, input, json, signal };
        for (let next: Planned | null = first; next; ) {
          const again = await talk(chat, next, next.runId === resume ? 'resume' : 'new');
          next = again ? { ...next, runId: newId() } : null;
        }
        await settle();
      } finally {
        if (typeof input !== 'string') input.close();
      }
    });
  });
}

type Planned = Pick<Collection, 'runId' | 'name' | 'seed' | 'plan'>;

interface Chat {
  readonly platform: Platform;
  readonly input: LineReader | string;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

/** Holds one conversation. Returns whether another one is wanted. */
async function talk({ platform, input, json, signal }: Chat, planned: Planned, mode: 'new' | 'resume'): Promise<boolean> {
  const { runId, plan } = planned;
  const { person, opening } = await open(plan, { input, json, mode }, signal);
  if (opening === null) return person.wantsAnother();
  if (mode === 'resume' && !json) await showRecorded(platform, planned);
  const command = `espalier chat --resume ${runId}`;
  const { state, message, steps, mostFailed } = await withResumeHint(platform, { runId, command, signal }, (isAgain) =>
    collect(platform, { ...planned, concurrency: 1, signal, mode: isAgain ? 'resume' : mode, chat: { person, opening } }),
  );
  if (json) print(JSON.stringify({ run: runId, state, steps, message }));
  else print([`run ${runId} ${state}: ${steps} steps`, message === '' ? [] : message]);
  endAsCollected(runId, { state, mostFailed }, json ? null : command);
  return state === 'completed' && person.wantsAnother();
}

/** Opens the task, shows it, and asks what is said to it; null where nothing is: then nothing is recorded. */
async function open(
  { environment, tasks, taskSeed }: CollectPlan,
  { mode, ...options }: Pick<Chat, 'input' | 'json'> & { readonly mode: 'new' | 'resume' },
  signal: AbortSignal,
): Promise<{ readonly person: ChatPerson; readonly opening: string | null }> {
  const kind = await openEnvironment(environment);
  const person = chatPerson({ ...options, mustSpeak: kind.needsPerson === true });
  try {
    if (mode === 'resume') return { person, opening: '' };
    const episode = await kind.create();
    try {
      const opening = await episode.reset({ alias: tasks[0]?.alias ?? '', seed: taskSeed });
      if (!kind.needsPerson) person.show({ kind: 'opening', opening });
    } finally {
      await episode.close();
    }
  } finally {
    await kind.close();
  }
  const said = await person.next(signal);
  return { person, opening: said.kind === 'says' ? said.text : null };
}

/** Shows what is on record of a conversation. */
async function showRecorded({ database, blobs }: Platform, { runId, plan }: Planned): Promise<void> {
  const [task] = plan.tasks;
  if (!task) return;
  const treeId = treeIdOf(runId, task, 0);
  const steps = await readRecordedSteps(database.db, treeId, textReader(blobs));
  const named = [...steps.keys()].map((id) => ({ treeId, id }));
  const pictures = await readPicturesOfSteps(database.db, named);
  for (const step of [...steps.values()].sort((a, b) => a.depth - b.depth))
    print(turnLines({ ...step, pictures: pictures.filter(({ stepId }) => stepId === step.stepId) }));
}

async function recordedChat(platform: Platform, runId: string): Promise<Planned> {
  const { name, seed, plan } = await readCollection(platform, runId);
  if (!plan.chat) throw new RunRefused(`run ${runId} is no chat; continue it with: espalier collect --resume ${runId}`);
  return { runId, name, seed, plan };
}

async function plannedChat({ config }: Platform, flags: ChatFlags): Promise<Planned> {
  if (flags.policy === undefined) throw new Error('--policy is missing: name who you talk with, for example openai:MODEL@URL');
  const environment = environmentOf(flags);
  const prompt = promptPlanOf(flags, environment);
  parsePolicyText(flags.policy); // reported now rather than after the environment was opened
  const kind = await openEnvironment(environment);
  try {
    const alias = await taskOf(kind, flags, surveysFolder(config.home));
    const { taskSeed, policy, temperature, maxSteps, seed, name } = flags;
    const tasks = [{ alias, rollouts: 1, branching: 'root' }];
    const plan = collectPlan.parse({
      environment,
      tasks,
      taskSeed,
      policy,
      temperature,
      maxSteps,
      search: null,
      chat: true,
      ...(prompt ? { prompt } : {}),
    });
    return { runId: flags.run ? checkedId('--run', flags.run) : newId(), name, seed, plan };
  } finally {
    await kind.close();
  }
}

/** @throws Error when options exclude each other, or a tool cannot be written in an address. */
function environmentOf({ environment, tool, toolProfile }: ChatFlags): string {
  if (environment !== undefined) {
    if (tool || toolProfile)
      throw new Error('--tool and --tool-profile are for a chat without an environment: leave them out, or --environment');
    return environment;
  }
  const unfit = tool?.find((each) => /[,;]/.test(each));
  if (unfit !== undefined)
    throw new Error(`--tool: ${JSON.stringify(unfit)} holds a comma or a semicolon, which separate tools and options`);
  const options = [...(toolProfile ? [`profile=${toolProfile}`] : []), ...(tool ? [`tools=${tool.join(',')}`] : [])];
  return options.length === 0 ? 'chat' : `chat:${options.join(';')}`;
}

async function taskOf(kind: EnvironmentKind, { task, taskSeed }: ChatFlags, surveys: string): Promise<string> {
  const named = task === undefined ? {} : { task: [task] };
  const [chosen] = await tasksOf(kind, { taskSeed, ...named }, { usual: 1, surveys });
  if (!chosen) throw new Error(`--environment: ${kind.name} has no task`);
  return chosen.alias;
}
