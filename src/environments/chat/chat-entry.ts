import { z } from 'zod';
import { defineEnvironment } from '../environment-entry.ts';
import { oneSource, opening } from '../retrieval/open-source.ts';
import { generateWorld, SHIPPED_WORLD } from '../search-qa/world/generate-world.ts';
import { callOptions, openTools, sandboxed, toolOptions } from '../tool-env/open-tools.ts';
import { openChat } from './chat.ts';

const toolsOf = ({ tools }: { tools?: string[] | undefined }): readonly string[] => tools ?? [];

const options = z
  .strictObject({ ...toolOptions('none when left out'), ...callOptions })
  .refine(...oneSource)
  .refine(...sandboxed(toolsOf));

/** A conversation with tools, as in `chat:profile=v0.1;tools=calculator`. */
export const chat = defineEnvironment({
  name: 'chat',
  summary: 'a conversation of a person with a policy and its tools; for `espalier chat`',
  options,
  open: (given) =>
    opening('chat', async () => {
      const { seed = SHIPPED_WORLD.seed, size = SHIPPED_WORLD.size } = given;
      const tools = await openTools(given, toolsOf(given), () => generateWorld(seed, size).documents);
      return openChat({ ...tools, clock: () => performance.now() });
    }),
});
