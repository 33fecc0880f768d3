import { z } from 'zod';
import type { Json } from '../../domain/tools/read-python-json.ts';
import { readItems } from '../retrieval/read-json-lines.ts';
import { ToolError } from '../tools/tool.ts';
import type { ToolTask } from './tool-task.ts';

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
  return readItems(file, { shape: lineShape, what: 'task', Failed: ToolError, itemOf: taskOf });
}

function taskOf(data: z.output<typeof lineShape>, alias: string): ToolTask | string {
  const prompt = data.question ?? promptOf(data.prompt);
  if (prompt === undefined) return 'is no task: give it a question or a prompt';
  return {
    alias,
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
