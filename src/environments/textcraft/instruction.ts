/**
 * What the agent reads before the first observation. In our own words; a changed text is a changed task, so raise
 * RULES_REVISION with it.
 */
export const INSTRUCTION = `You make things by crafting. Each task shows a list of crafting commands and a goal; you have reached it when you have crafted the goal item.

You may give three commands:
- get <number> <item>: take any amount of a raw item, that is, an item no command makes. Example: get 2 river clay
- craft <number> <item> using <number> <ingredient>, <number> <ingredient>: make an item from what you carry. Write it as it stands in the list; the ingredients are used up. One command makes one batch.
- inventory: see what you carry.

Some commands name a kind of thing, such as "planks", where any one item of that kind will do: write the item that you carry in place of the kind. You may need other things first that the goal is made of, and not every command in the list is of use.

Answer each time with one thought and one command, and nothing after it:
Thought: what you have, what is missing, and what to do next
Action: the command`;
