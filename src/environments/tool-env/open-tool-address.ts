import { EnvironmentError, type EnvironmentKind } from '../environment.ts';
import { openHttpRetriever } from '../retrieval/http-retriever.ts';
import { openLocalRetriever } from '../retrieval/local-retriever.ts';
import { CorpusError, readCorpus } from '../retrieval/read-corpus.ts';
import { type Retriever, SearchFailure } from '../retrieval/retriever.ts';
import { generateWorld } from '../search-qa/world/generate-world.ts';
import { calculator } from '../tools/calculator.ts';
import { isModule } from '../tools/load-export.ts';
import { loadTool } from '../tools/load-tool.ts';
import { python } from '../tools/python.ts';
import { search } from '../tools/search.ts';
import { type Tool, ToolError } from '../tools/tool.ts';
import { openToolbox } from '../tools/toolbox.ts';
import { openReward } from './open-reward.ts';
import { readTasks } from './read-tasks.ts';
import type { ToolAddress } from './tool-address.ts';
import { openToolEnv } from './tool-env.ts';
import type { ToolTask } from './tool-task.ts';

/**
 * Opens tasks with tools as a plan names them. Who opens it closes it. @throws EnvironmentError that says what cannot be used.
 */
export async function openToolAddress(address: ToolAddress): Promise<EnvironmentKind> {
  const opened: Tool[] = [];
  try {
    const tasks = address.tasks === null ? worldTasks(address) : await readTasks(address.tasks);
    const reward = await openReward(address.reward);
    for (const name of address.tools) opened.push(await openTool(name, address));
    const toolbox = openToolbox(opened, address.profile === 'seed' ? 'seed' : 'full');
    return openToolEnv({ ...address, tasks, toolbox, reward, clock: () => performance.now() });
  } catch (error) {
    for (const tool of opened) await tool.close?.();
    if (error instanceof ToolError || error instanceof CorpusError || error instanceof RangeError)
      throw new EnvironmentError('unknown-task', `tool-env: ${error.message}`, { cause: error });
    if (error instanceof SearchFailure)
      throw new EnvironmentError(error.code === 'unreachable' ? 'unreachable' : 'protocol', `tool-env: ${error.message}`, {
        cause: error,
      });
    throw error;
  }
}

async function openTool(name: string, address: ToolAddress): Promise<Tool> {
  if (isModule(name)) return loadTool(name);
  switch (name) {
    case 'search': {
      const retriever = await openSource(address);
      return search(retriever, { topK: address.topK, pays: address.source.kind === 'servers' ? 'wiki_search' : 'search' });
    }
    case 'calculator':
      return calculator();
    case 'python':
      return python({ url: address.sandbox ?? '' });
    default:
      throw new ToolError(
        `there is no tool ${JSON.stringify(name.slice(0, 200))}; there are search, calculator, python, or name a module: ./my-tool.ts`,
      );
  }
}

async function openSource({ source, world, toolTimeoutMs }: ToolAddress): Promise<Retriever> {
  switch (source.kind) {
    case 'world':
      return openLocalRetriever(generateWorld(world.seed, world.size).documents);
    case 'folder':
      return openLocalRetriever(await readCorpus(source.folder));
    case 'servers':
      return openHttpRetriever({ urls: source.urls, dialect: source.dialect, timeoutMs: toolTimeoutMs });
    default:
      return source satisfies never;
  }
}

function worldTasks({ world }: ToolAddress): ToolTask[] {
  return generateWorld(world.seed, world.size).questions.map(({ alias, text, targets, dataSource, split, hops }) => ({
    alias,
    prompt: `Question: ${text}`,
    groundTruth: [...targets],
    dataSource,
    split,
    queries: hops?.map(({ query }) => query) ?? null,
  }));
}
