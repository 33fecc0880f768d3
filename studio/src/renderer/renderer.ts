/** What a renderer is given: the task, the steps of the path as they are recorded, and the place of the one to be shown. */
export interface RendererInput {
  readonly task: RendererTask;
  /** From the start of the task on, the one to be shown and what followed it as far as it is known. */
  readonly steps: readonly RendererStep[];
  /** The step to be shown: `steps[at]`. */
  readonly at: number;
  /** How many steps behind the first were left out, where there was no room for them. */
  readonly omitted: number;
}

export interface RendererTask {
  readonly environment: string;
  readonly alias: string;
  readonly goal: string;
  readonly instruction: string;
}

export interface RendererStep {
  readonly depth: number;
  /** Empty at the start of the task. */
  readonly action: string;
  readonly thought: string;
  readonly observation: string;
  readonly executable: boolean;
  readonly termination: string;
  readonly stateHash: string | null;
  readonly rewards: readonly { readonly component: string; readonly value: number }[];
  readonly toolCalls: readonly {
    readonly tool: string;
    readonly arguments: string;
    readonly output: string;
    readonly outcome: string;
  }[];
}

/** What a renderer returns: an element, a text, nothing, or a list of these. */
export type RendererOutput = Element | string | number | boolean | null | undefined | readonly RendererOutput[];
export interface Element {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string | number | boolean | null | undefined>> | null;
  readonly children: readonly RendererOutput[];
}

/** Makes an element, as a renderer gets it handed. */
export type MakeElement = (tag: string, attributes: Element['attributes'], ...children: readonly RendererOutput[]) => Element;

/** The function that a renderer exports as `render`. */
export type Render = (given: RendererInput, h: MakeElement) => RendererOutput | Promise<RendererOutput>;

const TEXT = 65_536; // characters of one text
const ALL = 2_000_000; // characters of all texts

/** Returns what a renderer is given of a path: long texts cut, and steps behind the first left out where they are too many. */
export function givenOf(task: RendererTask, steps: readonly RendererStep[], at: number): RendererInput {
  const cut = steps.map(cutStep);
  const sizes = cut.map((step) => JSON.stringify(step).length);
  let all = sizes.reduce((sum, size) => sum + size, 0);
  let omitted = 0;
  while (all > ALL && omitted + 1 < at) all -= sizes[++omitted] ?? 0; // the first says what the task is, the newest what is shown
  let end = cut.length;
  while (all > ALL && end > at + 1) all -= sizes[--end] ?? 0;
  const { environment, alias, goal, instruction } = task;
  return {
    task: { environment, alias, goal: cutText(goal), instruction: cutText(instruction) },
    steps: [...cut.slice(0, 1), ...cut.slice(1 + omitted, end)],
    at: at - omitted,
    omitted,
  };
}

/** Copies the fields that renderers are promised, and no other: what a query asks besides is not theirs. */
function cutStep({ depth, action, thought, observation, ...step }: RendererStep): RendererStep {
  return {
    depth,
    action: cutText(action),
    thought: cutText(thought),
    observation: cutText(observation),
    executable: step.executable,
    termination: step.termination,
    stateHash: step.stateHash,
    rewards: step.rewards.map(({ component, value }) => ({ component, value })),
    toolCalls: step.toolCalls.slice(0, 100).map(({ tool, arguments: asked, output, outcome }) => ({
      tool,
      arguments: cutText(asked),
      output: cutText(output),
      outcome,
    })),
  };
}

function cutText(text: string): string {
  return text.length > TEXT ? text.slice(0, TEXT) : text;
}
