import { cleanPublishedObservation, readPublishedReply } from '../../domain/search/published-prompt.ts';
import type { Environment, EnvironmentKind, StepResult } from '../../environments/environment.ts';
import { overlay } from '../../environments/overlay.ts';

/**
 * Returns an environment as Agent-R's search sees it: actions are read out of replies by its rules, every newline and tab of an
 * observation is a blank. The first observation is not cleaned there, and neither is it here. Tasks and dynamics are the same, so
 * name and fingerprint are.
 */
export function publishedEnvironment(kind: EnvironmentKind): EnvironmentKind {
  const style = replyStyleOf(kind);
  const cleaned = (result: StepResult) => ({ ...result, observation: cleanPublishedObservation(result.observation) });
  const wrap = (inner: Environment): Environment => {
    const { clone, replay } = overlay(inner, {}); // bound to it
    return overlay(inner, {
      parse: (response) => ({ ...inner.parse(response), action: readPublishedReply(response, style).action }),
      step: async (action, signal) => cleaned(await inner.step(action, signal)),
      ...(replay
        ? {
            replay: async (task, actions) => {
              const { opening, steps } = await replay(task, actions);
              return { opening, steps: steps.map(cleaned) };
            },
          }
        : {}),
      ...(clone ? { clone: async () => wrap(await clone()) } : {}),
    });
  };
  return overlay(kind, { create: async () => wrap(await kind.create()) });
}

/** Which of the published modules searched this environment. */
export function replyStyleOf({ name }: Pick<EnvironmentKind, 'name'>): 'webshop' | 'other' {
  return name === 'webshop' ? 'webshop' : 'other';
}
