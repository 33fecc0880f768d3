import { type Act, type ActRequest, PolicyError } from './policy.ts';

/** Returns the actions to choose from. @throws PolicyError `no-candidates` when the environment lists none. */
export function candidatesOf(request: ActRequest, policy: string): readonly [string, ...string[]] {
  const [first, ...rest] = request.admissibleActions ?? [];
  if (first === undefined) {
    const why = request.admissibleActions === null ? 'lists no admissible actions' : 'says that no action is admissible here';
    throw new PolicyError(
      'no-candidates',
      `the environment ${why}, and the ${policy} policy can only choose among them; use a policy that writes its actions (openai)`,
    );
  }
  return [first, ...rest];
}

/**
 * Writes an action the way a model would: in the form that the prompt asks for, else in the one that every environment's parser
 * reads.
 */
export function actOfCandidate(
  { shown }: Pick<ActRequest, 'shown'>,
  thought: string,
  action: string,
  tokens: Act['tokens'] = null,
): Act {
  const response = shown?.write(thought, action) ?? `Thought: ${thought}\nAction: ${action}`;
  return { response, tokens, usage: null, finishReason: 'stop' };
}
