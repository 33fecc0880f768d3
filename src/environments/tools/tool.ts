import type { Json } from '../../domain/tools/read-python-json.ts';

/** What a model may call. Whoever opens a tool closes it. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly parameters: { readonly [name: string]: Json };
  /**
   * Executes one call whose arguments fit the schema; the text is shown to the model. What is thrown is told to the model and recorded. A call whose
   * signal is aborted has run out of time: what it gives afterwards is thrown away.
   */
  execute(args: ToolArguments, signal: AbortSignal): Promise<ToolResult> | ToolResult;
  /** Executes several calls of one turn together, in order: where that is cheaper than one by one. */
  executeBatch?(calls: readonly ToolArguments[], signal: AbortSignal): Promise<readonly ToolResult[]>;
  /** The process reward of one call: what it was worth, whatever the answer turns out to be. */
  reward?(args: ToolArguments, output: string): number;
  /** Identifies what determines the results beside the program: a corpus, a server's revision. */
  readonly fingerprint?: string;
  close?(): Promise<void>;
}

export type ToolArguments = { readonly [name: string]: Json };

/** A text, or a text with the tool's own word on whether the call did what was asked, and its reward where the tool gives one itself. */
export type ToolResult = string | { readonly content: string; readonly success?: boolean; readonly reward?: number | null };

/** A tool, a reward function or their names cannot be used: the message says what is wrong and what is right. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}
