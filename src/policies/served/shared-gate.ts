import type { OpenModelServer } from './model-server.ts';
import { WeightsGate } from './weights-gate.ts';

const open = new Map<string, { readonly gate: WeightsGate; users: number }>();

/**
 * Shares the gate of one model server among all of this process that ask it by the same key: a large model is held once. The last
 * one to leave closes it.
 */
export function shareGate(key: string, openServer: OpenModelServer): { readonly gate: WeightsGate; leave(): Promise<void> } {
  const shared = open.get(key) ?? { gate: new WeightsGate(openServer), users: 0 };
  open.set(key, shared);
  shared.users++;
  let left = false;
  return {
    gate: shared.gate,
    async leave() {
      if (left) return;
      left = true;
      if (--shared.users > 0) return;
      open.delete(key);
      await shared.gate.close();
    },
  };
}
