/** What a record says of a task that its kind follows from. */
interface RecordedTask {
  readonly environment: string;
  readonly alias: string;
  readonly goal: string;
  /** As the environment names it; left out where it names none. */
  readonly kind?: string | undefined;
}

/**
 * Returns the kind of a task, by which success is summed up: the one that the environment names. Of ALFWorld also where the
 * record names none, since AgentGym's servers name none: by the alias and the goal. Null where
 * neither says it. Every table and every field reads the column that this fills.
 */
export function taskKind({ environment, alias, goal, kind }: RecordedTask): string | null {
  if (kind !== undefined) return kind;
  return /alfworld/i.test(environment) ? alfworldTaskType({ alias, goal }) : null;
}

/** The task types of ALFWorld, by the names that the published tables have. */
const ALFWORLD_TASK_TYPES = [
  'pick_and_place',
  'pick_two_obj_and_place',
  'look_at_obj_in_light',
  'pick_heat_then_place_in_recep',
  'pick_cool_then_place_in_recep',
  'pick_clean_then_place_in_recep',
] as const;
type AlfworldTaskType = (typeof ALFWORLD_TASK_TYPES)[number];

/** Returns whether a kind of task is one of ALFWorld's. */
export function isAlfworldTaskType(kind: string | null): kind is AlfworldTaskType {
  return ALFWORLD_TASK_TYPES.some((type) => type === kind);
}

/**
 * Returns the task type of a game: the one that its path names (`…/pick_heat_then_place_in_recep-Egg-None-…`), as the published
 * program counts it; where the alias is a number, the one whose templates of the grammar the goal is made by. Null where neither
 * says it.
 */
export function alfworldTaskType({ alias, goal }: { readonly alias: string; readonly goal: string }): AlfworldTaskType | null {
  const named = ALFWORLD_TASK_TYPES.find((type) => alias.includes(type) || goal.includes(type));
  if (named !== undefined) return named;
  const text = goal.toLowerCase().replace(/^.*your task is to:?\s*/s, '');
  return GOALS.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** The goals of ALFWorld's grammar (`alfred.twl2`), the more special first. */
const GOALS: readonly (readonly [RegExp, AlfworldTaskType])[] = [
  [/^(put|find) two /, 'pick_two_obj_and_place'],
  [/^(look at|examine) /, 'look_at_obj_in_light'],
  [/^(put an? (hot|heated) |heat )/, 'pick_heat_then_place_in_recep'],
  [/^(put an? (cool|cooled|cold) |cool )/, 'pick_cool_then_place_in_recep'],
  [/^(put an? (clean|cleaned) |clean )/, 'pick_clean_then_place_in_recep'],
  [/^put (an?|some) /, 'pick_and_place'],
];
