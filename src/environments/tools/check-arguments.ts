import { createContext, Script } from 'node:vm';
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type ToolCall, validateSeedArguments } from '../../domain/tools/parse-calls.ts';
import { type Tool, ToolError } from './tool.ts';

/** Describes what is wrong with the arguments of a call, null for nothing. */
export type CheckArguments = (call: Pick<ToolCall, 'arguments' | 'floats' | 'text'>) => string | null;

const PATTERN_MS = 100; // a pattern that takes longer for one text would take for ever for another
const LONGEST = 256 * 1024; // characters of a call's arguments; a program of 200 KB is no longer one

/** The drafts that a schema may name by its `$schema`; 2020-12 when it names none. */
const DRAFTS = [
  { uri: /^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/, Validator: Ajv }, // the servers of MCP's own SDK write 07
  { uri: /^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, Validator: Ajv2019 },
] as const;

/**
 * Makes the check of a tool's arguments: `seed` looks at names, types and enums only (generation A); `full` at the whole JSON
 * Schema, of the draft that it names, else 2020-12 (generation B). As in Python's jsonschema a format is a note, not a rule. A
 * pattern has 100 ms for each text: a schema's author may be careless and a model's text long.
 * @throws ToolError when the schema is none.
 */
export function checkArguments(tool: Pick<Tool, 'name' | 'parameters'>, mode: 'seed' | 'full'): CheckArguments {
  const check = mode === 'seed' ? seedCheck(tool) : fullCheck(tool);
  return (call) => (call.text.length > LONGEST ? `the arguments are longer than ${LONGEST} characters` : check(call));
}

function seedCheck({ parameters }: Pick<Tool, 'parameters'>): CheckArguments {
  return ({ arguments: given, floats }) => validateSeedArguments(given, parameters, floats);
}

function fullCheck({ name, parameters }: Pick<Tool, 'name' | 'parameters'>): CheckArguments {
  const { $schema: draft, ...schema } = parameters;
  const named = DRAFTS.find(({ uri }) => typeof draft === 'string' && uri.test(draft));
  const Validator = named?.Validator ?? Ajv2020;
  const ajv = new Validator({ strict: false, validateFormats: false, strictNumbers: false, code: { regExp: patient } });
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(named ? schema : parameters);
  } catch (cause) {
    // ajv throws nothing else
    throw new ToolError(`tool ${name}: its parameters are no JSON Schema: ${(cause as Error).message}`, { cause });
  }
  return ({ arguments: given }) => {
    try {
      return validate(given) ? null : ajv.errorsText(validate.errors, { dataVar: 'arguments' });
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
        // read by field: whatever was thrown
        return `a pattern took longer than ${PATTERN_MS} ms`;
      throw error;
    }
  };
}

/** Compiles a pattern that gives up in time: the only way to stop a regular expression is from outside. */
const patient = Object.assign(
  (pattern: string, flags: string) => {
    const expression = new RegExp(pattern, flags);
    const context = createContext({ expression, text: '' });
    const script = new Script('expression.test(text)');
    return {
      test(text: string): boolean {
        context.text = text;
        return script.runInContext(context, { timeout: PATTERN_MS }) === true;
      },
      toString: () => String(expression), // ajv takes two that are written alike for one
    };
  },
  { code: 'patient' }, // ajv's name for the function in code that it writes to files, which it does not do here
);
