import { type RawBuilder, sql } from 'kysely';
import { isAlfworldTaskType } from '../../domain/evaluation/task-kind.ts';
import type { Db } from '../../postgres/database.ts';
import { exactMean } from '../../postgres/exact-sum.ts';
import { successRate } from '../step-tree/success-rate.ts';
import { aggregate } from './aggregate.ts';

/** A metric of a run under the name that a published system has for it. */
export interface PublishedMetric {
  readonly name: string;
  readonly value: number;
  /** How many episodes, steps or images it is made of. */
  readonly count: number;
}

/**
 * Computes from the record of a run what AgentOCR (and verl-agent below it) and Agent-R1 report, under their names; what the
 * record does not hold is left out. Rewards are those in force, as recorded: AgentOCR counts 10 for a success, and a run whose
 * environment says 1 shows 1.
 */
export async function readPublishedMetrics(db: Db, runId: string): Promise<readonly PublishedMetric[]> {
  const parts = [ofEpisodes, ofTasks, ofShops, ofSteps, ofImages, ofScorers].map((read) => read(db, runId));
  return (await Promise.all(parts)).flat();
}

/** The returns of a run: joined by rollouts alone, those of all runs would be read. */
function returnsOf(runId: string): RawBuilder<unknown> {
  return sql`(select r.rollout_id, r.tree_id, r.value from returns r where r.run_id = ${runId}::uuid offset 0)`;
}

/** A mean with its bounds, or nothing where there is nothing to take it of. */
interface Spread {
  readonly count: number;
  readonly mean: number | null;
  readonly min: number | null;
  readonly max: number | null;
}

function spread(name: string, { count, mean, min, max }: Spread): PublishedMetric[] {
  if (mean === null || min === null || max === null) return [];
  return [
    { name: `${name}/mean`, value: mean, count },
    { name: `${name}/max`, value: max, count },
    { name: `${name}/min`, value: min, count },
  ];
}

function single(name: string, value: number | null, count: number): PublishedMetric[] {
  return value === null ? [] : [{ name, value, count }];
}

async function ofEpisodes(db: Db, runId: string): Promise<PublishedMetric[]> {
  const { rows } = await sql<{
    count: number;
    rewarded: number;
    successRate: number | null;
    rewardMean: number | null;
    rewardMin: number | null;
    rewardMax: number | null;
    stepsMean: number | null;
    stepsMin: number | null;
    stepsMax: number | null;
  }>`
    select count(*) as count, count(v.value) as rewarded, ${successRate('o')} as success_rate, ${exactMean(sql`v.value`)} as reward_mean, min(v.value) as reward_min,
           max(v.value) as reward_max, avg(o.steps)::float8 as steps_mean, min(o.steps) as steps_min, max(o.steps) as steps_max
    from rollouts o left join ${returnsOf(runId)} v using (rollout_id, tree_id)
    where o.run_id = ${runId}::uuid and o.finished_at is not null`.execute(db);
  return rows.flatMap((row) => [
    ...single('episode/success_rate', row.successRate, row.count),
    ...spread('episode/reward', { count: row.rewarded, mean: row.rewardMean, min: row.rewardMin, max: row.rewardMax }),
    ...spread('episode/length', { count: row.count, mean: row.stepsMean, min: row.stepsMin, max: row.stepsMax }),
  ]);
}

/** The environments whose tasks are questions: the kind of a task is its data source. */
const QUESTIONS = ['search-qa', 'tool-env'] as const;

/** Success by kind of task of ALFWorld and by data source, as `aggregate` sums it up. */
async function ofTasks(db: Db, runId: string): Promise<PublishedMetric[]> {
  const runIds = [runId];
  const all = await aggregate(db, 'KIND', { runIds }, new Set(['counts']));
  const games = all.filter(({ taskKind }) => isAlfworldTaskType(taskKind));
  const sources = await Promise.all(
    QUESTIONS.map((environment) => aggregate(db, 'KIND', { runIds, environment }, new Set(['counts']))),
  );
  return [...games, ...sources.flat()].flatMap(({ taskKind, rollouts: { successRate: rate, finished } }) =>
    taskKind === null ? [] : single(`episode/${taskKind}_success_rate`, rate, finished),
  );
}

/** What purchases in WebShop are worth, from 0 to 1; success is a purchase that is worth 1. The name is that of verl-agent. */
async function ofShops(db: Db, runId: string): Promise<PublishedMetric[]> {
  const { rows } = await sql<{ count: number; mean: number | null }>`
    select count(v.value) as count, ${exactMean(sql`v.value`)} as mean
    from trees t join rollouts o using (tree_id) left join ${returnsOf(runId)} v using (rollout_id, tree_id)
    where t.run_id = ${runId}::uuid and t.environment ilike '%webshop%' and o.finished_at is not null`.execute(db);
  return rows.flatMap(({ count, mean }) => single('episode/webshop_task_score (not success_rate)', mean, count));
}

/** Of the actions that rollouts took. In the published loop an action is valid when it has the form that was asked for. */
async function ofSteps(db: Db, runId: string): Promise<PublishedMetric[]> {
  const { rows } = await sql<{
    episodes: number;
    steps: number;
    valid: number | null;
    calls: number;
    prompts: number;
    promptMean: number | null;
    promptMin: number | null;
    promptMax: number | null;
    responseMean: number | null;
    responseMin: number | null;
    responseMax: number | null;
    cut: number;
  }>`
    select count(*) as episodes, coalesce(sum(s.steps), 0)::bigint as steps, (sum(s.valid) / nullif(sum(s.steps), 0))::float8 as valid,
           coalesce(sum(s.prompts), 0)::bigint as prompts, (sum(s.prompt_tokens) / nullif(sum(s.prompts), 0))::float8 as prompt_mean,
           min(s.prompt_min) as prompt_min, max(s.prompt_max) as prompt_max,
           (sum(s.completion_tokens) / nullif(sum(s.responses), 0))::float8 as response_mean, min(s.response_min) as response_min,
           max(s.response_max) as response_max, (
             select count(*) from trees t cross join lateral (
               select from tool_calls k join (
                 select a.step_id from steps a where a.tree_id = t.tree_id and a.depth > 0 and a.rollout_id is not null offset 0) a using (step_id)
               where k.tree_id = t.tree_id offset 0) k where t.run_id = ${runId}::uuid) as calls, (
             select count(*) from trees t join steps c using (tree_id) where t.run_id = ${runId}::uuid and c.finish_reason = 'length'
               and c.depth > 0 and c.rollout_id is not null and c.completion_tokens is not null) as cut
    from trees t cross join lateral (
      select count(*) as steps, count(*) filter (where well_formatted) as valid, count(prompt_tokens) as prompts,
             sum(prompt_tokens) as prompt_tokens, min(prompt_tokens) as prompt_min, max(prompt_tokens) as prompt_max,
             count(completion_tokens) as responses, sum(completion_tokens) as completion_tokens,
             min(completion_tokens) as response_min, max(completion_tokens) as response_max
      from steps where tree_id = t.tree_id and depth > 0 and rollout_id is not null group by rollout_id offset 0) s
    where t.run_id = ${runId}::uuid`.execute(db);
  return rows.flatMap((row) => [
    ...single('episode/valid_action_ratio', row.valid, row.steps),
    ...single('episode/tool_call_count/mean', row.episodes === 0 ? null : row.calls / row.episodes, row.episodes),
    ...spread('prompt_length', { count: row.prompts, mean: row.promptMean, min: row.promptMin, max: row.promptMax }),
    ...spread('response_length', { count: row.prompts, mean: row.responseMean, min: row.responseMin, max: row.responseMax }),
    // a reply that was cut ends at the limit of its length
    ...single('response_length/clip_ratio', row.prompts === 0 ? null : row.cut / row.prompts, row.prompts),
  ]);
}

const FACTOR = 'ocr/compression_factor';
const MEMORY = 'prompt_length/memory_tokens';

/** The published loop counts a step without an image as one whose factor is 1. */
function withPlainSteps({ count, mean, min, max, steps }: Spread & { readonly steps: number }): Spread {
  if (count === 0 || steps <= count || mean === null || min === null || max === null) return { count, mean, min, max };
  return { count: steps, mean: (mean * count + steps - count) / steps, min: Math.min(1, min), max: Math.max(1, max) };
}

/** `memory_visual_token_count` is what the loop sums per step, `prompt_length/memory_tokens` how it is reported. */
async function ofImages(db: Db, runId: string): Promise<PublishedMetric[]> {
  const { rows } = await sql<Spread & { name: string; steps: number }>`
    select k.name, count(*) as count, ${exactMean(sql`k.value`)} as mean, min(k.value) as min, max(k.value) as max, (
      select count(*) from trees t join steps s using (tree_id)
      where t.run_id = ${runId}::uuid and s.depth > 0 and s.rollout_id is not null) as steps
    from history_images h cross join lateral (values
      (1, ${MEMORY}, h.vision_tokens::float8), (2, ${FACTOR}, h.factor), (3, 'ocr/image_height', h.height), (4, 'ocr/image_width', h.width),
      (5, 'ocr/image_size', h.width::bigint * h.height)) as k (place, name, value)
    where h.run_id = ${runId}::uuid group by k.place, k.name order by k.place`.execute(db);
  return rows.flatMap((row) => [
    ...(row.name === MEMORY ? single('memory_visual_token_count', row.mean, row.count) : []),
    ...spread(row.name, row.name === FACTOR ? withPlainSteps(row) : row),
  ]);
}

/** The scorers whose value is an exact match. */
const EXACT = ['exact-match', 'search-r1-em'];

/**
 * The exact match, the match of a part (`subem`) and the format, from the rewards that their scorers assigned. The value of
 * `qa-em-format` is −1 + format + answer, where the answer counts only with the format: both follow from it, but for an answer
 * that it did not count, which is none here either.
 */
async function ofScorers(db: Db, runId: string): Promise<PublishedMetric[]> {
  const { rows } = await sql<{ scorer: string; revision: string; value: number; count: number }>`
    select w.scorer, w.scorer_revision as revision, w.value, count(*) as count
    from trees t cross join lateral (
      select * from rewards r where r.tree_id = t.tree_id and r.scorer = any(${[...EXACT, 'qa-em-format']}::text[]) offset 0
    ) w
    where t.run_id = ${runId}::uuid
    group by 1, 2, 3 order by 1, 2, 3`.execute(db);
  const mean = (name: string, of: readonly { readonly value: number; readonly count: number }[]) => {
    const count = of.reduce((total, each) => total + each.count, 0);
    const sum = of.reduce((total, each) => total + each.value * each.count, 0);
    return single(name, count === 0 ? null : sum / count, count);
  };
  const exact = rows.filter(({ scorer }) => EXACT.includes(scorer));
  const qa = rows.filter(({ scorer, revision }) => scorer === 'qa-em-format' && !revision.startsWith('report'));
  return [
    ...mean(
      'em',
      exact.map(({ value, count }) => ({ value: value > 0 ? 1 : 0, count })), // Search-R1 quarters a match with many tags
    ),
    ...mean(
      'subem',
      qa.map(({ value, count }) => ({ value: partsOf(value).answer, count })),
    ),
    ...mean(
      'format',
      qa.map(({ value, count }) => ({ value: partsOf(value).format, count })),
    ),
  ];
}

/** Takes a value of `qa-em-format` apart: format 0, ½ or 1, answer 0, 0.2 or 1, and 1 alone is a match. */
function partsOf(value: number): { readonly format: number; readonly answer: number } {
  if (value < -0.75) return { format: 0, answer: 0 };
  const half = [-0.5, -0.3, 0.5].some((sum) => Math.abs(value - sum) < 0.05);
  return { format: half ? 0.5 : 1, answer: value > 0.4 ? 1 : 0 };
}
