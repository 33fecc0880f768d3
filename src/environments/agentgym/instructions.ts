import { INSTRUCTION as TEXTCRAFT } from '../textcraft/instruction.ts';
import type { ServerName } from './descriptor.ts';

/**
 * Raised when a text below changes: a changed instruction is a changed task, so the fingerprint of every server holds this
 * number.
 */
export const INSTRUCTIONS_REVISION = 1;

/** What follows an instruction in AgentGym's conversations, and what Agent-R always puts there. */
export const ACKNOWLEDGEMENT = 'Ok.';

const FORM = `Answer each time with one thought and one action, and nothing after it:
Thought: what you know, and what to do next
Action: the action`;

/** What an agent reads before the first observation, in our own words; the servers serve none. */
export const INSTRUCTIONS: { readonly [Name in ServerName]: string } = {
  textcraft: TEXTCRAFT,

  sciworld: `You work in a small house with a science laboratory and carry out the experiment that the task describes. Do only what it asks: focusing on the wrong thing ends the task.

Actions (OBJ is a thing you see or carry, LOC a place):
open OBJ, close OBJ, activate OBJ, deactivate OBJ, connect OBJ to OBJ, disconnect OBJ, use OBJ, use OBJ on OBJ, look around, look at OBJ, look in OBJ, read OBJ, move OBJ to OBJ, pick up OBJ, put down OBJ, pour OBJ into OBJ, dunk OBJ into OBJ, mix OBJ, go to LOC, eat OBJ, flush OBJ, focus on OBJ, inventory, task, wait, wait1.
"focus on OBJ" marks the thing that the task is about. "wait" lets ten moments pass, "wait1" one. When asked which of several things you mean, answer with its number.

${FORM}`,

  webshop: `You shop in an online store. Find the product that the instruction describes, with its options and within its price, and buy it.

Actions:
- search[words]: look for products, where the page has a search bar.
- click[text]: press a button, a link, a product or an option that the page shows, written as it stands there. Choose every option the instruction asks for before you click[buy now].
Any other action does nothing.

${FORM}`,

  alfworld: `You are in a home and carry out the household task that you are given. What you can do at the moment is listed below each observation as AVAILABLE ACTIONS: choose one of these and write it exactly as it stands there.

${FORM}`,

  babyai: `You are in a building of rooms and reach the goal that you are given.

Actions: turn left, turn right, move forward, go to THING NUMBER, pickup THING NUMBER, go through DOOR NUMBER (an open door), toggle and go through DOOR NUMBER (a closed door; a locked one needs that you carry the key of its colour), toggle (the door right in front of you), drop, check available actions.
What you can do at the moment is listed below each observation.

${FORM}`,

  searchqa: `You answer a question, and may look things up first. Think inside <think> and </think>. Then do one of these, and stop:
<search>what to look up</search>: the passages found come back between <information> and </information>.
<answer>the answer</answer>: short, without explanation. If it is wrong you are told so and may go on.`,

  maze: `You walk through a maze to its goal in as few steps as possible. You are told where the goal is, where you are, and which walls stand around you. Moving right raises the second coordinate by 1, moving down raises the first by 1. Against a wall you stay where you are.

Actions: move up, move down, move left, move right.

${FORM}`,

  wordle: `You guess a hidden word of five letters in at most six guesses. Write a guess as letters with blanks between them, such as "s h i r e"; it must be one of the words listed.
Each guess is answered letter by letter: "g" means right letter, right place; "y" means that the letter is in the word at another place; "b" means that it is not in the word. "invalid word" means that the guess did not count.

${FORM}`,
};
