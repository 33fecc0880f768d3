import type { ToolProfile } from '../../domain/tools/plan-turn.ts';
import type { Tool } from '../tools/tool.ts';

/**
 * Writes the instruction of a profile: its tools in the template that Hermes and Qwen models know, or ReTool's form, and how to
 * answer.
 */
export function instruct(profile: ToolProfile, tools: Iterable<Tool>): string {
  if (profile === 'retool') return RETOOL;
  const signatures = [...tools].map(({ name, description, parameters }) => {
    const signature = { name, description, parameters };
    return JSON.stringify(profile === 'seed' ? signature : { type: 'function', function: signature });
  });
  return `${HEAD}\n${signatures.join('\n')}\n${TAIL}`;
}

const HEAD = `# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>`;
const TAIL = `</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>

Think first, between <think> and </think>. Then either call a function, or give the final answer between <answer> and </answer>, short and without explanation.`;
const RETOOL = `Solve the task step by step. You may write Python programs, each between a line <code> and a line </code>; a program is run and what it prints is shown to you between <interpreter> and </interpreter>. End with <answer>\\boxed{the final answer}</answer>.`;
