import type { FactorCoefficients } from './factor-reward.ts';

/** A whole setting of the compression reward. */
export interface CompressionPreset extends FactorCoefficients {
  /** K of the schedule. */
  readonly every: number;
}

/**
 * The settings found in the source (specification of AgentOCR, §2.3). The paper's K and that of the scripts said to reproduce it
 * differ, so both stand here by name; `configuration-default` is what a run gets that sets nothing.
 */
export const COMPRESSION_PRESETS = {
  'published-script': { every: 8, lambda: 0.01, mu: 0 },
  paper: { every: 5, lambda: 0.01, mu: 0 },
  'configuration-default': { every: 1, lambda: 0.001, mu: 0 },
} as const satisfies Record<string, CompressionPreset>;
