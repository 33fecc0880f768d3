/** The published recipes by name. */
export const PRESET_NAMES = [
  'agentocr-grpo',
  'agent-r1-grpo',
  'agent-r1-ppo',
  'agent-r1-reinforce++',
  'agent-r1-rloo',
  'agent-r1-remax',
  'agent-r1-gigpo',
] as const;
export type PresetName = (typeof PRESET_NAMES)[number];
