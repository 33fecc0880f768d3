/** What profile `nous` answers to a call that cannot be executed. The texts are interface: policies were trained on them. */
export const NOUS_ERRORS = {
  json: 'Error: JSONDecodeError',
  'no-name': 'Error: No tool name',
  'no-arguments': 'Error: No tool arguments',
  'unknown-tool': 'Error: ToolNotFoundError',
  'invalid-arguments': 'Error: Invalid tool arguments',
} as const;

/** What profile `seed` answers to anything between the tags that is no call. */
export const SEED_INVALID_FORMAT =
  'Invalid tool call format. Please use <tool_call>{"name": "tool_name", "arguments": {params_json}}</tool_call> format.';

/** What a step of profile `seed` costs where no call was made, and where one was made without success. */
export const SEED_PENALTIES = { invalid: -0.1, ineffective: -0.05 } as const;

/** What profile `v0.1` answers to a call of a tool that there is not. */
export function unknownToolOfV01(name: string, known: readonly string[]): string {
  return `Error: tool '${name}' not found. Available tools: [${known.join(', ')}]`;
}
