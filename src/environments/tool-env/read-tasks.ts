import { createReadStream } from 'node:fs';
import { z } from 'zod';
import type { Json } from '../../domain/tools/read-python-json.ts';
import { readLines } from '../retrieval/read-lines.ts';
import { ToolError } from '../tools/tool.ts';
import type { ToolTask } from './tool-task.ts';

const TASKS = 1_000_000;

const chat = z.array(z.looseObject({ role: z.string(), content: z.string() })).min(1);
const split = z.string().min(1).max(200).nullish();
const lineShape = z.looseObject({
  id: z.union([z.string().min(1), z.number()]).optional(),
  question: z.string().min(1).optional(),
  prompt: z.union([z.string().min(1), chat]).optional(),
  ground_truth: z.json().optional(),
  reward_model: z.looseObject({ ground_truth: z.json().optional() }).optional(),
  data_source: z.string().min(1).optional(),
  split,
  extra_info: z.looseObject({ split }).nullish(),
});

/**
 * Reads tasks from a .jsonl file, one a line: `question`, or `prompt` as a text or a chat whose last user message counts;
 * `ground_truth` (any JSON, or in verl's place, `reward_model`); `data_source`; `split`; `id`, or else the line's number is the
 * alias. Other fields are passed over. @throws ToolError naming file and line.
 */
export async function readTasks(file: string): Promise<ToolTask[]> {
  const tasks = new Map<string, ToolTask>();
  try {
    const refuse = ({ number, problem }: { number: number; problem: string }) => new ToolError(`${file}:${number}: ${problem}`);
    for await (const { number, text } of readLines(createReadStream(file), refuse)) {
      const task = taskOf(text, number, `${file}:${number}`);
      if (tasks.has(task.alias)) throw new ToolError(`${file}:${number}: the id ${JSON.stringify(task.alias)} came before`);
      if (tasks.size === TASKS) throw new ToolError(`${file}:${number}: there are more than ${TASKS} tasks`);
      tasks.set(task.alias, task);
    }
  } catch (cause) {
    if (cause instanceof ToolError) throw cause;
    throw new ToolError(`${file}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? String(cause)})`, { cause });
  }
  if (tasks.size === 0) throw new ToolError(`${file}: holds no task`);
  return [...tasks.values()];
}

function taskOf(line: string, number: number, place: string): ToolTask {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    // JSON.parse throws nothing but SyntaxError
    throw new ToolError(`${place}: is no JSON (${(cause as Error).message})`, { cause });
  }
  const parsed = lineShape.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ToolError(`${place}: is no task: ${issue?.path.join('.') || 'the line'}: ${issue?.message}`);
  }
  const { data } = parsed;
  const prompt = data.question ?? promptOf(data.prompt);
  if (prompt === undefined) throw new ToolError(`${place}: is no task: give it a question or a prompt`);
  return {
    alias: String(data.id ?? number),
    prompt,
    groundTruth: (data.ground_truth ?? data.reward_model?.ground_truth ?? null) as Json, // the schema took nothing but JSON
    dataSource: data.data_source ?? 'unknown',
    split: data.split ?? data.extra_info?.split ?? null,
    queries: null,
  };
}

function promptOf(prompt: z.infer<typeof lineShape>['prompt']): string | undefined {
  if (prompt === undefined || typeof prompt === 'string') return prompt;
  return (prompt.findLast(({ role }) => role === 'user') ?? prompt.at(-1))?.content;
}
