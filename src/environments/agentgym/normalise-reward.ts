import type { StepResult } from '../environment.ts';
import type { ServerDescriptor } from './descriptor.ts';

export type Reward = StepResult['reward'];

/**
 * Brings a server's reward to 0..1 (agent-r §4.5): divided by its scale, negatives as 0 (and `fatal` where they mean the end),
 * never above 1. For a cumulative reward `value` is what is earned so far and `gain` what this step added to it, so that gains
 * add up to the last value.
 * @param before the value after the step before; 0 at the start.
 */
export function normaliseReward(step: ServerDescriptor['step'], raw: number, before: number): Reward {
  const value = Math.min(Math.max(raw / step.scale, 0), 1);
  return {
    value,
    raw,
    scale: step.scale,
    kind: step.kind,
    ...(step.kind === 'cumulative' ? { gain: value - before } : {}),
    ...(raw < 0 && step.negative === 'fatal' ? { fatal: true } : {}),
  };
}
