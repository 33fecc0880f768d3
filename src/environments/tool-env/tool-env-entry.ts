import { z } from 'zod';
import type { ToolProfile } from '../../domain/tools/plan-turn.ts';
import { defineEnvironment } from '../environment-entry.ts';
import { text, whole } from '../option-kinds.ts';
import { oneSource, opening } from '../retrieval/open-source.ts';
import { generateWorld, type QuestionWorld, SHIPPED_WORLD } from '../search-qa/world/generate-world.ts';
import { openReward, REWARD_FORMS } from './open-reward.ts';
import { callOptions, openTools, sandboxed, toolOptions } from './open-tools.ts';
import { readTasks } from './read-tasks.ts';
import { openToolEnv } from './tool-env.ts';
import type { ToolTask } from './tool-task.ts';

const options = z
  .strictObject({
    ...toolOptions('python in retool, else search'),
    tasks: text('FILE', 'tasks, one JSON object per line; the questions of the generated world when left out').optional(),
    reward: text('NAME', `a scorer NAME@REVISION, ${REWARD_FORMS}; by data source when left out`).optional(),
    'max-turns': whole(1, 1_000, 'responses after which an episode is truncated').default(10), // as configured in Agent-R1
    ...callOptions,
  })
  .refine(...oneSource)
  .refine(...sandboxed(toolsOf));

/** Tasks with tools, as in `tool-env:tools=./my-tool.ts;reward=./my-reward.ts#score;tasks=dev.jsonl`. */
export const toolEnv = defineEnvironment({
  name: 'tool-env',
  summary: 'tasks that are done by calling tools, shipped ones and your own',
  options,
  open: (given) =>
    opening('tool-env', async () => {
      const { seed = SHIPPED_WORLD.seed, size = SHIPPED_WORLD.size } = given;
      const world = generateWorld(seed, size);
      const tasks = given.tasks === undefined ? worldTasks(world) : await readTasks(given.tasks);
      const tools = await openTools(given, toolsOf(given), () => world.documents);
      const reward = await openReward(given.reward ?? null).catch(async (error: unknown) => {
        await tools.toolbox.close();
        throw error;
      });
      return openToolEnv({ ...tools, tasks, reward, maxTurns: given['max-turns'], clock: () => performance.now() });
    }),
});

function toolsOf({ profile, tools }: { profile: ToolProfile; tools?: string[] | undefined }): readonly string[] {
  return tools ?? [profile === 'retool' ? 'python' : 'search'];
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
