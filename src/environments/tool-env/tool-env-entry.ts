import { z } from 'zod';
import { TOOL_PROFILES, type ToolProfile } from '../../domain/tools/plan-turn.ts';
import { defineEnvironment } from '../environment-entry.ts';
import { listOf, oneOf, text, whole } from '../option-kinds.ts';
import { oneSource, opening, openSource, sourceOptions } from '../retrieval/open-source.ts';
import { generateWorld, type QuestionWorld, SHIPPED_WORLD } from '../search-qa/world/generate-world.ts';
import { calculator } from '../tools/calculator.ts';
import { isModule } from '../tools/load-export.ts';
import { loadTool } from '../tools/load-tool.ts';
import { MCP, openMcpTools } from '../tools/mcp-tools.ts';
import { python } from '../tools/python.ts';
import { openPythonTools } from '../tools/python-tools.ts';
import { search } from '../tools/search.ts';
import { type Tool, ToolError } from '../tools/tool.ts';
import { openToolServer } from '../tools/tool-server.ts';
import { openToolbox, type Toolbox } from '../tools/toolbox.ts';
import { openReward } from './open-reward.ts';
import { readTasks } from './read-tasks.ts';
import { openToolEnv } from './tool-env.ts';
import type { ToolTask } from './tool-task.ts';

const yesOrNo = (description: string) => oneOf(['yes', 'no'], description);

// As configured in Agent-R1: 10 turns; its scripts show 2,048 characters of a result (512 is the default of the code) and 5
// documents of a search.
const options = z
  .strictObject({
    profile: oneOf(TOOL_PROFILES, 'the form of calls and answers').default('nous'),
    tools: listOf(
      'TOOL',
      'search, calculator, python, a module ./my-tool.ts#NAME, Python functions ./my_tools.py#NAME, a server http://…#NAME, or an MCP server mcp:http://…#NAME, mcp:COMMAND ARG…; python in retool, else search',
    ).optional(),
    tasks: text('FILE', 'tasks, one JSON object per line; the questions of the generated world when left out').optional(),
    reward: text('NAME', 'a scorer NAME@REVISION or a module ./my-reward.ts#NAME; by data source when left out').optional(),
    'max-turns': whole(1, 1_000, 'responses after which an episode is truncated').default(10),
    'max-response': whole(1, 65_536, 'code points shown of a result').default(2_048),
    'tool-timeout': whole(1, 3_600, 'the limit for one call, of a search for one request, in seconds').default(60),
    parallel: yesOrNo('nous: all calls of a turn at once').default('no'),
    process: yesOrNo('rewards of calls count; yes in the profiles seed and v0.1 when left out').optional(),
    ...sourceOptions,
    topk: whole(1, 100, 'documents shown of a search').default(5),
    sandbox: text('URL', 'the server that runs the programs of the tool python').optional(),
  })
  .refine(...oneSource)
  .refine(
    (given) => !toolsOf(given).includes('python') || given.sandbox !== undefined,
    'the tool python needs sandbox=URL: programs are run by a sandbox server only',
  );

/** Tasks with tools, as in `tool-env:tools=./my-tool.ts;reward=./my-reward.ts#score;tasks=dev.jsonl`. */
export const toolEnv = defineEnvironment({
  name: 'tool-env',
  summary: 'tasks that are done by calling tools, shipped ones and your own',
  options,
  open: (given) =>
    opening('tool-env', async () => {
      const { profile, seed = SHIPPED_WORLD.seed, size = SHIPPED_WORLD.size } = given;
      const world = generateWorld(seed, size);
      const tasks = given.tasks === undefined ? worldTasks(world) : await readTasks(given.tasks);
      const reward = await openReward(given.reward ?? null);
      return openToolEnv({
        profile,
        tasks,
        reward,
        toolbox: await openTools(given, world),
        maxTurns: given['max-turns'],
        maxResponse: given['max-response'],
        toolTimeoutMs: given['tool-timeout'] * 1_000,
        parallel: given.parallel === 'yes',
        paysCalls: (given.process ?? (profile === 'seed' || profile === 'v0.1' ? 'yes' : 'no')) === 'yes',
        clock: () => performance.now(),
      });
    }),
});

type Options = z.output<typeof options>;

function toolsOf({ profile, tools }: { profile: ToolProfile; tools?: string[] | undefined }): readonly string[] {
  return tools ?? [profile === 'retool' ? 'python' : 'search'];
}

async function openTools(given: Options, world: QuestionWorld): Promise<Toolbox> {
  const opened: Tool[] = [];
  try {
    for (const name of toolsOf(given)) opened.push(...(await openNamed(name, given, world)));
    return openToolbox(opened, given.profile === 'seed' ? 'seed' : 'full');
  } catch (error) {
    for (const tool of opened) await tool.close?.();
    throw error;
  }
}

/** Opens what one name of the option means: a server and a file in Python may have several tools. */
async function openNamed(name: string, given: Options, world: QuestionWorld): Promise<readonly Tool[]> {
  const timeoutMs = given['tool-timeout'] * 1_000;
  if (/^(https?:\/\/|secret:)/.test(name)) return openToolServer(name, timeoutMs);
  if (name.startsWith(MCP)) return openMcpTools(name, timeoutMs);
  if (/\.py(#|$)/.test(name)) return openPythonTools(name, timeoutMs);
  return [isModule(name) ? await loadTool(name) : await openShipped(name, given, world)];
}

async function openShipped(name: string, given: Options, world: QuestionWorld): Promise<Tool> {
  switch (name) {
    case 'search': {
      const retriever = await openSource(given, given['tool-timeout'], () => world.documents);
      return search(retriever, { topK: given.topk, pays: given.retriever === undefined ? 'search' : 'wiki_search' });
    }
    case 'calculator':
      return calculator();
    case 'python':
      return python({ url: given.sandbox ?? '' });
    default:
      throw new ToolError(
        `there is no tool ${JSON.stringify(name.slice(0, 200))}; there are search, calculator, python, or name a module: ./my-tool.ts, ./my_tools.py, or a server: http://…, mcp:…`,
      );
  }
}

function worldTasks({ questions }: QuestionWorld): ToolTask[] {
  return questions.map(({ alias, text: question, targets, dataSource, split, hops }) => ({
    alias,
    prompt: `Question: ${question}`,
    groundTruth: [...targets],
    dataSource,
    split,
    queries: hops?.map(({ query }) => query) ?? null,
  }));
}
