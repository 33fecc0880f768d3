import { z } from 'zod';
import { COMPARED } from '../environment.ts';

/** The protocol's name and version, which a server names in its description. */
export const PROTOCOL = 'espalier-environment/1';

const text = (most: number) => z.string().max(most);
const id = z.union([z.string().min(1).max(200), z.int()]);
const shown = text(4_000_000);
const component = z
  .string()
  .regex(/^[a-z][\w.-]{0,63}$/, 'must be a lower-case word')
  .refine((name) => name !== 'environment', 'is the reward itself');
const actions = z.array(text(10_000)).max(100_000).nullable().default(null);
const pictures = z
  .array(z.string().max(14_000_000))
  .max(16)
  .optional()
  .describe('PNG or JPEG pictures behind the text of the observation, in base64 or as data URLs.');
const state = text(1_000).nullable().default(null);

const alias = text(200).min(1);
const kind = text(200).min(1).nullable().default(null).describe('Kind of the task, by which success is summed up.');
const taskShape = z.object({
  task: alias.describe('Alias of the task.'),
  depth: z.number().nullable().default(null).describe('Steps that the task needs at least, where that is known.'),
  split: text(200).nullable().default(null).describe('Split of the task, such as `train` or `test`.'),
  kind,
});

/** What `GET /` answers: what the server is, which tasks it has, and what it may be asked. */
export const descriptionShape = z.object({
  protocol: z.literal(PROTOCOL).describe('Name and version of the protocol.'),
  name: z
    .string()
    .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, _ . or -')
    .describe('Name of the environment, as runs record it.'),
  fingerprint: z
    .string()
    .min(1)
    .max(1_000)
    .describe('What determines tasks and answers, such as a hash of the code; a run goes on only where it is the same.'),
  tasks: z
    .array(z.union([alias.transform((task) => ({ task, depth: null, split: null, kind: null })), taskShape]))
    .min(1)
    .max(1_000_000)
    .describe('Tasks in order, each once: an alias, or an object that says depth, split and kind too.'),
  instruction: text(100_000).default('').describe('Rules of the environment, shown before the first observation.'),
  resets: z
    .enum(['together', 'alone'])
    .default('together')
    .describe('Whether two tasks may start at the same time; `alone` where tasks share a random state.'),
  fork: z.boolean().default(false).describe('Whether `POST /fork` copies an episode as it is.'),
  replay: z
    .boolean()
    .default(false)
    .describe('Whether `POST /replay` creates an episode, begins its task and takes several steps in one request.'),
  deterministic: z
    .boolean()
    .default(false)
    .describe(
      'Whether equal actions after equal openings are always answered alike: then an answer may be taken from the record.',
    ),
  compare: z
    .number()
    .min(0)
    .max(1)
    .default(COMPARED)
    .describe(
      "Share of a search's answers (where `fork` or `deterministic` is true) and of rollouts (`deterministic`) that are compared with episodes from the opening, besides the first ones.",
    ),
  hints: z
    .boolean()
    .default(false)
    .describe(
      'Whether `POST /hints` lists the actions that are possible, where answers leave `actions` out; it is asked for policies that choose from a list.',
    ),
  expert: z.boolean().default(false).describe('Whether `POST /expert` names the next action of a perfect player.'),
  response: z
    .enum(['react', 'whole'])
    .default('react')
    .describe('How an action is found in a response: the line after the last `Action:`, or the whole response.'),
  components: z.array(component).max(100).default([]).describe('Components of rewards that steps may assign besides `reward`.'),
  renderer: text(65_536)
    .optional()
    .describe('JavaScript module that exports `render`, by which the studio shows steps; at most 64 KiB.'),
  reward: z
    .object({
      kind: z
        .enum(['delta', 'cumulative', 'final'])
        .default('delta')
        .describe('What a reward of a step is: what the step earned, all that was earned so far, or the score of the episode.'),
      scale: z.number().positive().max(1e100).default(1).describe('What rewards are divided by, so that a full one is 1.'),
    })
    .prefault({})
    .describe('How rewards are read.'),
});
export type Description = z.output<typeof descriptionShape>;

export const episodeShape = z.object({ episode: id.describe('Id of the episode.') });
export type EpisodeId = z.output<typeof id>;

/** What `POST /reset {episode, task, seed}` answers. */
export const openingShape = z.object({
  observation: shown.describe('First observation.'),
  pictures,
  instruction: text(100_000).optional().describe('Rules of this task, in place of those of the description.'),
  goal: shown.optional().describe('What the task asks for; the first observation when left out.'),
  depth: z.number().nullable().default(null).describe('Steps that the task needs at least, where that is known.'),
  split: text(200).nullable().default(null).describe('Split of the task, such as `train` or `test`.'),
  kind,
  actions: actions.describe('Actions that are possible now; null where they cannot be listed.'),
  state: state.describe('Hash of the whole hidden state: equal hashes are equal situations.'),
});
export type OpeningAnswer = z.output<typeof openingShape>;

/** What `POST /step {episode, n, action}` answers. */
export const stepShape = z.object({
  observation: shown.describe('What follows the action.'),
  pictures,
  reward: z.number().default(0).describe('Reward of the step, as the description says that rewards are read.'),
  terminated: z.boolean().default(false).describe('Whether the environment ended the episode.'),
  truncated: z.boolean().default(false).describe('Whether the environment cut the episode at a limit of its own.'),
  success: z.boolean().nullable().default(null).describe('Whether the task was done, at the end of an episode.'),
  executable: z.boolean().default(true).describe('Whether the action was understood and executed.'),
  actions: actions.describe('Actions that are possible now.'),
  state: state.describe('Hash of the whole hidden state.'),
  rewards: z
    .record(component, z.number())
    .default({})
    .describe('Rewards besides `reward`, by component; each adds to the return.'),
  reason: text(200).optional().describe('Why the episode ends here, in a word or two.'),
});
export type StepAnswer = z.output<typeof stepShape>;

/** What `POST /replay {task, seed, actions}` answers: a new episode, and what a reset and each step would have. */
export const replayShape = z.object({
  episode: id.describe('Id of the episode that was created.'),
  opening: openingShape.describe('What a reset answers.'),
  steps: z.array(stepShape).describe('What each step answers; fewer than the actions where the episode ended before.'),
});

/** What `POST /observe {episode}` answers. */
export const observedShape = z.object({ steps: z.int().min(0).describe('Steps taken since the last reset.') });

/** What `POST /hints {episode}` answers. */
export const hintsShape = z.object({
  actions: z.array(text(10_000)).max(100_000).describe('Actions that are possible now; empty where none is.'),
});

/** What `POST /expert {episode}` answers. */
export const expertShape = z.object({
  action: text(10_000).nullable().default(null).describe('Next action of a perfect player; null when it sees no way.'),
  length: z.int().min(0).nullable().default(null).describe('Actions that a perfect player needs from here.'),
});

/** What an error answers, with any status from 400 on. */
export const errorShape = z.object({
  error: z
    .enum(['unknown-task', 'gone', 'invalid', 'backend', 'failed'])
    .describe(
      '`unknown-task`, `gone` (no such episode), `invalid` (a request out of order), `backend` (what it asks is away), `failed` (it raised an error: the rollout has failed).',
    ),
  message: text(10_000).default('').describe('What is wrong, for people.'),
});
