import type { ServerDescriptor, ServerName } from './descriptor.ts';

const NEVER = /(?!)/;

const FAMILY_ID = {
  family: 'id',
  prefix: '',
  needs: ['/create', '/reset', '/step', '/observation'],
  lacks: [],
  create: null,
  unknownTask: /list index out of range/,
  starts: 'together',
  deterministic: false,
  restartCause: null,
  refusal: NEVER,
  actions: 'none',
  hints: 'none',
  showActions: 'no',
  words: null,
  openings: 'differ',
  action: 'line',
  client: 'segment',
} as const;

const FAMILY_ENV_IDX = { ...FAMILY_ID, family: 'env_idx' } as const;

const EPISODE_REWARD = {
  observation: 'observation',
  reward: 'reward',
  scale: 1,
  kind: 'final',
  negative: 'nothing',
  success: 'full-reward',
} as const;

const OBJECT = { with: {}, answer: 'object', preface: null } as const;

/** The servers that a plan may name. A new one is an entry here and an instruction in `instructions.ts`. */
export const DESCRIPTORS: { readonly [Name in ServerName]: ServerDescriptor } = {
  textcraft: {
    ...FAMILY_ID,
    name: 'textcraft',
    title: 'TextCraft',
    liveness: 'This is environment TextCraft.',
    create: {}, // the server asks for an object; `commands` and `goal` in it have no effect
    reset: { ...OBJECT, task: 'data_idx' },
    unknownTask: NEVER, // it takes the number modulo its goals
    starts: 'alone', // `reset` seeds and draws from the random state of the whole process, in one thread per request
    restartCause:
      'TextCraft orders its recipes, and so numbers its tasks, by the hash seed of its process: start the server with the PYTHONHASHSEED that it had, and always with one',
    deterministic: true,
    step: EPISODE_REWARD,
    refusal: /^(?:Could not |Wrong item format)/,
    goal: /^Goal: (.+?)\.?$/m,
    hints: 'commands',
    client: 'textcraft',
  },
  sciworld: {
    ...FAMILY_ID,
    name: 'sciworld',
    title: 'ScienceWorld',
    hints: 'simulator',
    liveness: 'This is environment ScienceWorld.',
    reset: { ...OBJECT, task: 'data_idx', preface: 'task_description' },
    step: { ...EPISODE_REWARD, reward: 'score', scale: 100, kind: 'cumulative', negative: 'fatal' },
    refusal: /^(?:No known action|It's not clear how|Unknown action)/,
    goal: /^(?:Task Description:\s*)?(.+)$/m,
  },
  webshop: {
    ...FAMILY_ENV_IDX,
    name: 'webshop',
    title: 'WebShop',
    hints: 'page',
    liveness: 'ok',
    needs: ['/create', '/reset', '/step', '/observation', '/instruction_text'],
    reset: { ...OBJECT, task: 'session_id', answer: 'tuple' },
    step: { ...EPISODE_REWARD, observation: 'state' },
    goal: /Instruction:\s*(?:\[SEP\]\s*)?([^\s[][^[]*)(?:\[SEP\]|$)/,
  },
  alfworld: {
    ...FAMILY_ID,
    name: 'alfworld',
    title: 'AlfWorld',
    deterministic: true,
    liveness: 'This is environment AlfWorld.',
    reset: { ...OBJECT, task: 'game', with: { world_type: 'Text' } },
    step: EPISODE_REWARD,
    actions: 'field',
    showActions: 'below',
    refusal: /^Nothing happens/,
    goal: /^Your task is to: (.*[^\s.]\.*?)\.?\s*$/m,
  },
  babyai: {
    ...FAMILY_ID,
    name: 'babyai',
    title: 'BabyAI',
    deterministic: true,
    liveness: 'This is environment BabyAI.',
    reset: { ...OBJECT, task: 'data_idx' },
    // The server ends an episode only for a reward above 0.5, so every end is a success.
    step: { ...EPISODE_REWARD, reward: 'score', kind: 'cumulative', success: 'any-end' },
    actions: 'text',
    refusal: /^(?:The action is not recognized|You cannot go to|No change in state)/,
    goal: /^Your goal: (.+)$/m,
    client: 'babyai',
  },
  searchqa: {
    ...FAMILY_ENV_IDX,
    name: 'searchqa',
    title: 'SearchQA',
    liveness: 'ok',
    lacks: ['/instruction_text', '/list_envs'],
    create: { id: 0 },
    reset: { ...OBJECT, task: 'id', answer: 'text' },
    step: EPISODE_REWARD,
    refusal: /^Your previous action is invalid/,
    goal: /Question:\s*(\S[\s\S]*)/,
    action: 'tag',
    client: 'raw',
  },
  maze: {
    ...FAMILY_ID,
    name: 'maze',
    title: 'LMRL-Gym',
    deterministic: true,
    prefix: '/maze',
    liveness: 'This is environment LMRL-Gym.',
    reset: { ...OBJECT, task: 'game' },
    unknownTask: /The game .{0,200} is not valid/,
    step: EPISODE_REWARD,
    goal: /(The goal is at position \d+, \d+)/,
  },
  wordle: {
    ...FAMILY_ID,
    name: 'wordle',
    title: 'LMRL-Gym',
    deterministic: true,
    prefix: '/wordle',
    liveness: 'This is environment LMRL-Gym.',
    reset: { ...OBJECT, task: 'seed' },
    step: EPISODE_REWARD,
    words: '/filtered_vocab',
    openings: 'alike',
    refusal: /^invalid word/,
    goal: /^(?:Let's start )(.+?)!?$/m,
  },
};
