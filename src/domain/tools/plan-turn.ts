import {
  type ParsedCall,
  parseHermesCalls,
  parseNousCalls,
  parseRetoolCode,
  parseSeedCall,
  type ToolCall,
} from './parse-calls.ts';

/**
 * How calls are written, answered and paid: `seed` (Agent-R1, March 2025), `nous` and `retool` (its branch legacy), `v0.1` (its
 * main, Hermes form). Specification of Agent-R1, §1.1 to §1.3.
 */
export const TOOL_PROFILES = ['seed', 'nous', 'retool', 'v0.1'] as const;
export type ToolProfile = (typeof TOOL_PROFILES)[number];

/**
 * What is to be done about one call: execute it, or answer it with an error. `reward` is the profile's penalty, null where it
 * returns none.
 */
export type PlannedCall =
  | { readonly kind: 'execute'; readonly call: ToolCall }
  | {
      readonly kind: 'refused';
      /** The tool that was named, empty where none was. */
      readonly tool: string;
      readonly text: string;
      readonly answer: string;
      readonly reward: number | null;
      /** Whether the call was well formed. */
      readonly valid: boolean;
    };

/** What a response asks for: nothing (it is the final answer), or these calls. */
type PlannedTurn =
  | { readonly kind: 'final' }
  | { readonly kind: 'calls'; readonly calls: readonly [PlannedCall, ...PlannedCall[]] };

/** The tools that there are, as far as planning goes. */
export interface KnownTools {
  readonly names: readonly string[];
  /** Returns what is wrong with the arguments of a call of a known tool, null for nothing. */
  problemOf(call: ToolCall): string | null;
}

/**
 * Reads what a response asks for. `nous` executes only the first call unless `parallel`; `v0.1` all of them, and there malformed
 * ones vanish; in `seed` the first pair of tags counts.
 */
export function planTurn(
  profile: ToolProfile,
  response: string,
  tools: KnownTools,
  { parallel }: { readonly parallel: boolean },
): PlannedTurn {
  switch (profile) {
    case 'seed': {
      const parsed = parseSeedCall(response);
      return turnOf(parsed === null ? [] : [planSeed(parsed, tools)]);
    }
    case 'nous': {
      const calls = parseNousCalls(response);
      return turnOf((parallel ? calls : calls.slice(0, 1)).map((parsed) => planNous(parsed, tools)));
    }
    case 'retool': {
      const code = parseRetoolCode(response);
      const call = { name: 'python', arguments: { code: code ?? '' }, text: JSON.stringify({ code }), floats: new Map() };
      return turnOf(code === null ? [] : [planNous({ kind: 'call', call }, tools)]);
    }
    case 'v0.1':
      return turnOf(parseHermesCalls(response).map((call) => planV01(call, tools)));
    default:
      return profile satisfies never;
  }
}

/** Returns the answer to a call whose tool failed, and what it costs. */
export function answerFailure(
  profile: ToolProfile,
  tool: string,
  reason: string,
): { readonly answer: string; readonly reward: number | null } {
  return { answer: `Error executing tool '${tool}': ${reason}`, reward: profile === 'seed' ? SEED_PENALTIES.ineffective : null };
}

function planSeed(parsed: ParsedCall, tools: KnownTools): PlannedCall {
  if (parsed.kind === 'broken')
    return {
      kind: 'refused',
      tool: '',
      text: parsed.text,
      answer: SEED_INVALID_FORMAT,
      reward: SEED_PENALTIES.invalid,
      valid: false,
    };
  const { call } = parsed;
  const refuse = (answer: string) => refusedCall(call, answer, SEED_PENALTIES.ineffective);
  if (!tools.names.includes(call.name)) return refuse(`Unknown tool: ${call.name}`);
  const problem = tools.problemOf(call);
  return problem === null ? { kind: 'execute', call } : refuse(`Invalid arguments for tool '${call.name}': ${problem}`);
}

function planNous(parsed: ParsedCall, tools: KnownTools): PlannedCall {
  if (parsed.kind === 'broken')
    return {
      kind: 'refused',
      tool: '',
      text: parsed.text,
      answer: NOUS_ERRORS[parsed.problem],
      reward: null,
      valid: false,
    };
  const { call } = parsed;
  if (!tools.names.includes(call.name)) return refusedCall(call, NOUS_ERRORS['unknown-tool'], null);
  if (tools.problemOf(call) !== null) return refusedCall(call, NOUS_ERRORS['invalid-arguments'], null);
  return { kind: 'execute', call };
}

function planV01(call: ToolCall, tools: KnownTools): PlannedCall {
  if (!tools.names.includes(call.name)) return refusedCall(call, unknownToolOfV01(call.name, tools.names), null);
  const problem = tools.problemOf(call);
  return problem === null ? { kind: 'execute', call } : refusedCall(call, `Error: invalid arguments: ${problem}`, null);
}

function refusedCall(call: ToolCall, answer: string, reward: number | null): PlannedCall {
  return { kind: 'refused', tool: call.name, text: call.text, answer, reward, valid: true };
}

const MOST_CALLS = 32; // of one turn; the recipes of Agent-R1 allow five at most

/** What goes beyond the most calls of a turn is answered as one: a response may hold tens of thousands. */
function turnOf(calls: readonly PlannedCall[]): PlannedTurn {
  const [first, ...others] = calls;
  if (first === undefined) return { kind: 'final' };
  if (calls.length <= MOST_CALLS) return { kind: 'calls', calls: [first, ...others] };
  const answer = `Error: only the first ${MOST_CALLS} calls of a turn are executed`;
  const text = `${calls.length - MOST_CALLS} more calls`;
  const rest: PlannedCall = { kind: 'refused', tool: '', text, answer, reward: null, valid: false };
  return { kind: 'calls', calls: [first, ...others.slice(0, MOST_CALLS - 1), rest] };
}

/** What profile `nous` answers to a call that cannot be executed. The texts are interface: policies were trained on them. */
const NOUS_ERRORS = {
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
function unknownToolOfV01(name: string, known: readonly string[]): string {
  return `Error: tool '${name}' not found. Available tools: [${known.join(', ')}]`;
}
