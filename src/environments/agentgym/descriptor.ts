import type { ClientFamily } from './client-action.ts';

/**
 * All that is particular to one AgentGym server, as data (agent-r §4.1, read from the servers' sources). The two families: `id`
 * answers errors as HTTP 200 with `{"error"}` and names an environment `id`; `env_idx` answers them as HTTP 500.
 */
export interface ServerDescriptor {
  readonly name: string;
  /** How the server calls itself, for people. */
  readonly title: string;
  /** What an agent reads before the first observation, in our own words; the servers serve none. */
  readonly instruction: string;
  readonly family: 'id' | 'env_idx';
  /** What precedes every route but `/`: LMRL-Gym serves two environments. */
  readonly prefix: '' | '/maze' | '/wordle';
  /** What `GET /` answers. Two servers say only "ok": their routes distinguish them. */
  readonly liveness: string;
  /** Routes, without the prefix, that a run needs. */
  readonly needs: readonly string[];
  /** Routes that another server with the same liveness text has and this one has not. */
  readonly lacks: readonly string[];
  /** The body of `POST /create`. */
  readonly create: Readonly<Record<string, unknown>> | null;
  readonly reset: {
    /** The field that carries the task's number. */
    readonly task: 'data_idx' | 'game' | 'session_id' | 'id' | 'seed';
    readonly with: Readonly<Record<string, unknown>>;
    /** Where the first observation is: in the field `observation`, at the front of an array, or as the whole answer. */
    readonly answer: 'object' | 'tuple' | 'text';
    /** A field that is written before the observation, with a newline between. */
    readonly preface: 'task_description' | null;
  };
  /** The error texts, or for family `env_idx` none, by which a server says that a task does not exist. */
  readonly unknownTask: RegExp;
  /**
   * Whether two tasks may start at the same time: TextCraft draws their openings from one random state that all of its threads
   * share.
   */
  readonly starts: 'together' | 'alone';
  /**
   * Whether equal actions after an equal opening are always answered alike. Not where things are listed in an order that changes
   * (ScienceWorld), and not where other servers are asked.
   */
  readonly deterministic: boolean;
  /** What the server must be started with again for its tasks to be the same; null where that is nothing of its own. */
  readonly restartCause: string | null;
  readonly step: {
    readonly observation: 'observation' | 'state';
    /** The field that AgentGym's own client reports as the reward. */
    readonly reward: 'reward' | 'score';
    readonly scale: 1 | 100;
    readonly kind: 'final' | 'cumulative';
    /** What a negative reward means: the end by a fatal act (ScienceWorld), or just nothing earned. */
    readonly negative: 'fatal' | 'nothing';
    /** The end of an episode is a success when its normalised reward is 1, or always. */
    readonly success: 'full-reward' | 'any-end';
  };
  /** How an observation begins that says that the action was not understood or could not be done. */
  readonly refusal: RegExp;
  /** Where the actions that are possible now are listed: in a field, in the observation's last line, or nowhere. */
  readonly actions: 'field' | 'text' | 'none';
  /**
   * What lists the actions that are possible where `actions` is none, for policies that choose from a list: the commands of the
   * opening, what the simulator is asked for, or what the page shows.
   */
  readonly hints: 'commands' | 'simulator' | 'page' | 'none';
  /** Whether the listed actions are written below the observation, as AgentGym's client does for ALFWorld. */
  readonly showActions: 'below' | 'no';
  /** A route whose list of words is written below the first observation. */
  readonly words: '/filtered_vocab' | null;
  /** Names the task in the first observation, where the server opens all tasks alike and their fingerprints would be one. */
  readonly openings: 'differ' | 'alike';
  /** How the task's goal is found in the first observation, as the first group; the whole observation when nothing matches. */
  readonly goal: RegExp;
  /** How an action is found in a response: one line of text, or the first complete search or answer tag. */
  readonly action: 'line' | 'tag';
  readonly client: ClientFamily;
}
