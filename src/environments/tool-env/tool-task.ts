import type { Json } from '../../domain/tools/read-python-json.ts';

/** A task to be done with tools. */
export interface ToolTask {
  readonly alias: string;
  /** What the agent is asked. */
  readonly prompt: string;
  readonly groundTruth: Json;
  /** The data set it is from, as in verl's rows: it chooses the scorer where the configuration names none. */
  readonly dataSource: string;
  readonly split: string | null;
  /** The searches that lead to the answer, where they are known. */
  readonly queries: readonly string[] | null;
}
