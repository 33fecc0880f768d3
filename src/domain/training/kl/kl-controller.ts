import { clamp } from './bounds.ts';

/**
 * How the coefficient of a KL penalty moves. Adaptive: Ziegler et al. 2019, §2.2; verl's horizon is 10,000 and its target 0.1.
 */
export type KlController =
  | { readonly kind: 'fixed'; readonly beta: number }
  | { readonly kind: 'adaptive'; readonly beta: number; readonly target: number; readonly horizon: number };

/**
 * Answers the controller after a batch: β ← β·(1 + clip(KL/target − 1, ±0.2)·n/horizon). The batch itself was penalised with the
 * β from before. A batch of many times the horizon's rows would turn β negative, and reward distance: one batch at most halves it.
 * @param rows the rows of the batch (`n_steps`).
 */
export function adjustController(controller: KlController, currentKl: number, rows: number): KlController {
  switch (controller.kind) {
    case 'fixed':
      return controller;
    case 'adaptive': {
      const error = clamp(currentKl / controller.target - 1, 0.2);
      return { ...controller, beta: controller.beta * Math.max(0.5, 1 + (error * rows) / controller.horizon) };
    }
  }
}
