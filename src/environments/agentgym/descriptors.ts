import { INSTRUCTION as TEXTCRAFT } from '../textcraft/instruction.ts';
import type { ServerDescriptor } from './descriptor.ts';

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

const FORM = `Answer each time with one thought and one action, and nothing after it:
Thought: what you know, and what to do next
Action: the action`;

/**
 * Raised when an instruction below changes: a changed instruction is a changed task, so the fingerprint of every server holds this
 * number.
 */
export const INSTRUCTIONS_REVISION = 1;

const SERVERS = {
  textcraft: {
    ...FAMILY_ID,
    name: 'textcraft',
    title: 'TextCraft',
    instruction: TEXTCRAFT,
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
    instruction: `You work in a small house with a science laboratory and carry out the experiment that the task describes. Do only what it asks: focusing on the wrong thing ends the task.

Actions (OBJ is a thing you see or carry, LOC a place):
open OBJ, close OBJ, activate OBJ, deactivate OBJ, connect OBJ to OBJ, disconnect OBJ, use OBJ, use OBJ on OBJ, look around, look at OBJ, look in OBJ, read OBJ, move OBJ to OBJ, pick up OBJ, put down OBJ, pour OBJ into OBJ, dunk OBJ into OBJ, mix OBJ, go to LOC, eat OBJ, flush OBJ, focus on OBJ, inventory, task, wait, wait1.
"focus on OBJ" marks the thing that the task is about. "wait" lets ten moments pass, "wait1" one. When asked which of several things you mean, answer with its number.

${FORM}`,
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
    instruction: `You shop in an online store. Find the product that the instruction describes, with its options and within its price, and buy it.

Actions:
- search[words]: look for products, where the page has a search bar.
- click[text]: press a button, a link, a product or an option that the page shows, written as it stands there. Choose every option the instruction asks for before you click[buy now].
Any other action does nothing.

${FORM}`,
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
    instruction: `You are in a home and carry out the household task that you are given. What you can do at the moment is listed below each observation as AVAILABLE ACTIONS: choose one of these and write it exactly as it stands there.

${FORM}`,
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
    instruction: `You are in a building of rooms and reach the goal that you are given.

Actions: turn left, turn right, move forward, go to THING NUMBER, pickup THING NUMBER, go through DOOR NUMBER (an open door), toggle and go through DOOR NUMBER (a closed door; a locked one needs that you carry the key of its colour), toggle (the door right in front of you), drop, check available actions.
What you can do at the moment is listed below each observation.

${FORM}`,
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
    instruction: `You answer a question, and may look things up first. Think inside <think> and </think>. Then do one of these, and stop:
<search>what to look up</search>: the passages found come back between <information> and </information>.
<answer>the answer</answer>: short, without explanation. If it is wrong you are told so and may go on.`,
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
    instruction: `You walk through a maze to its goal in as few steps as possible. You are told where the goal is, where you are, and which walls stand around you. Moving right raises the second coordinate by 1, moving down raises the first by 1. Against a wall you stay where you are.

Actions: move up, move down, move left, move right.

${FORM}`,
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
    instruction: `You guess a hidden word of five letters in at most six guesses. Write a guess as letters with blanks between them, such as "s h i r e"; it must be one of the words listed.
Each guess is answered letter by letter: "g" means right letter, right place; "y" means that the letter is in the word at another place; "b" means that it is not in the word. "invalid word" means that the guess did not count.

${FORM}`,
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
} as const satisfies Readonly<Record<string, ServerDescriptor>>;

export type ServerName = keyof typeof SERVERS;

/** The servers that a plan may name; a new one is an entry of `SERVERS`. */
export const DESCRIPTORS: Readonly<Record<ServerName, ServerDescriptor>> = SERVERS;
export const SERVER_NAMES = Object.keys(SERVERS) as readonly ServerName[]; // its own keys
