import type { Json } from '../../domain/tools/read-python-json.ts';
import type { GivenPicture } from '../../images/observation-pictures.ts';

/** What a model may call. Whoever opens a tool closes it. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly parameters: { readonly [name: string]: Json };
  /**
   * Executes one call whose arguments fit the schema; the text is shown to the model. What is thrown is reported to the model and
   * recorded, except a `ToolUnavailable`: that leaves the rollout open and is no observation. A call whose signal is aborted
   * has run out of time: what it returns afterwards is thrown away.
   */
  execute(args: ToolArguments, signal: AbortSignal): Promise<ToolResult> | ToolResult;
  /** Executes several calls of one turn together, in order: where that is cheaper than one by one. */
  executeBatch?(calls: readonly ToolArguments[], signal: AbortSignal): Promise<readonly ToolResult[]>;
  /** The process reward of one call: what it was worth, whatever the answer turns out to be. */
  reward?(args: ToolArguments, output: string): number;
  /**
   * It asks a server, whose slowness is no fault of the call, and bounds its own waiting: the limit of time for calls is not set
   * on it.
   */
  readonly ownLimit?: boolean;
  /** Identifies what determines the results besides the program: a corpus, a server's revision. */
  readonly fingerprint?: string;
  close?(): Promise<void>;
}

export type ToolArguments = { readonly [name: string]: Json };

/**
 * A text, or a text with the tool's own word on whether the call did what was asked, and its reward where the tool returns one
 * itself.
 */
export type ToolResult =
  | string
  | {
      readonly content: string;
      readonly success?: boolean;
      readonly reward?: number | null;
      /** Pictures behind the text, in order: PNG or JPEG, as bytes, base64 or data URLs. */
      readonly pictures?: readonly GivenPicture[];
    };

/**
 * What a tool or a reward function asks is away, or not what it should be: this says nothing of the call. A module of the user's
 * throws an error with this name.
 */
export class ToolUnavailable extends Error {
  override readonly name = 'ToolUnavailable';
}

/**
 * Returns why a tool could not be used, or null for an error of the call's own. By name: a module of the user's has no class of
 * ours.
 */
export function whyUnavailable(error: unknown): string | null {
  // read by field: a tool may throw anything
  const { name, message } = (error ?? {}) as { readonly name?: unknown; readonly message?: unknown };
  return name === 'ToolUnavailable' ? String(message || 'it is unavailable') : null;
}

/** A tool, a reward function or their names cannot be used: the message says what is wrong and what is right. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}
