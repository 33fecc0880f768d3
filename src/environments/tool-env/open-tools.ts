import type { z } from 'zod';
import { TOOL_PROFILES } from '../../domain/tools/plan-turn.ts';
import { listOf, oneOf, text, whole } from '../option-kinds.ts';
import { openSource, sourceOptions } from '../retrieval/open-source.ts';
import type { CorpusDocument } from '../retrieval/retriever.ts';
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
import type { TurnRules } from './answer-turn.ts';

const yesOrNo = (description: string) => oneOf(['yes', 'no'], description);

/** Which tools there are, and how they are called. @param usual the tools when none are named. */
export function toolOptions(usual: string) {
  return {
    profile: oneOf(TOOL_PROFILES, 'the form of calls and answers').default('nous'),
    tools: listOf(
      'TOOL',
      `search, calculator, python, a module ./my-tool.ts#NAME, Python functions ./my_tools.py#NAME, a server http://…#NAME, or an MCP server mcp:http://…#NAME, mcp:COMMAND ARG…; ${usual}`,
    ).optional(),
  };
}

/** How calls are executed. Agent-R1's scripts show 2,048 characters of a result (512 is the code's default), and 5 documents. */
export const callOptions = {
  'max-response': whole(1, 65_536, 'code points shown of a result').default(2_048),
  'tool-timeout': whole(1, 3_600, 'the limit for one call, of a search for one request, in seconds').default(60),
  parallel: yesOrNo('nous: all calls of a turn at once').default('no'),
  process: yesOrNo('rewards of calls count; yes in the profiles seed and v0.1 when left out').optional(),
  ...sourceOptions,
  topk: whole(1, 100, 'documents shown of a search').default(5),
  sandbox: text('URL', 'the server that runs the programs of the tool python').optional(),
};

type Options = z.output<z.ZodObject<ReturnType<typeof toolOptions> & typeof callOptions>>;

/** The rule that programs are run by a sandbox server only. @param toolsOf the tools that are opened. */
export function sandboxed<Given>(toolsOf: (given: Given) => readonly string[]) {
  return [
    (given: Given & { readonly sandbox?: string | undefined }) =>
      !toolsOf(given).includes('python') || given.sandbox !== undefined,
    'the tool python needs sandbox=URL: programs are run by a sandbox server only',
  ] as const;
}

/** Opens tools by their names, and the rules by which they are called. Who opens the toolbox closes it. @throws ToolError. */
export async function openTools(
  options: Options,
  names: readonly string[],
  generated: () => readonly CorpusDocument[],
): Promise<TurnRules & { readonly maxResponse: number; readonly toolTimeoutMs: number }> {
  const { profile } = options;
  return {
    profile,
    toolbox: await openAll(options, names, generated),
    maxResponse: options['max-response'],
    toolTimeoutMs: options['tool-timeout'] * 1_000,
    parallel: options.parallel === 'yes',
    paysCalls: (options.process ?? (profile === 'seed' || profile === 'v0.1' ? 'yes' : 'no')) === 'yes',
  };
}

async function openAll(options: Options, names: readonly string[], generated: () => readonly CorpusDocument[]): Promise<Toolbox> {
  const opened: Tool[] = [];
  try {
    for (const name of names) for (const each of await openNamed(name, options, generated)) opened.push(each);
    return openToolbox(opened, options.profile === 'seed' ? 'seed' : 'full');
  } catch (error) {
    for (const tool of opened) await tool.close?.();
    throw error;
  }
}

/** Opens what one name of the option means: a server and a file in Python may have several tools. */
async function openNamed(name: string, options: Options, generated: () => readonly CorpusDocument[]): Promise<readonly Tool[]> {
  const timeoutMs = options['tool-timeout'] * 1_000;
  if (/^(https?:\/\/|secret:)/.test(name)) return openToolServer(name, timeoutMs);
  if (name.startsWith(MCP)) return openMcpTools(name, timeoutMs);
  if (/\.py(#|$)/.test(name)) return openPythonTools(name, timeoutMs);
  return [isModule(name) ? await loadTool(name) : await openShipped(name, options, generated)];
}

async function openShipped(name: string, options: Options, generated: () => readonly CorpusDocument[]): Promise<Tool> {
  switch (name) {
    case 'search': {
      const retriever = await openSource(options, options['tool-timeout'], generated);
      return search(retriever, { topK: options.topk, pays: options.retriever === undefined ? 'search' : 'wiki_search' });
    }
    case 'calculator':
      return calculator();
    case 'python':
      return python({ url: options.sandbox ?? '' });
    default:
      throw new ToolError(
        `there is no tool ${JSON.stringify(name.slice(0, 200))}; there are search, calculator, python, or name a module: ./my-tool.ts, ./my_tools.py, or a server: http://…, mcp:…`,
      );
  }
}
