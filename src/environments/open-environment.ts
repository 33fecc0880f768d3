import { AGENTGYM_FORM, parseAddress } from './agentgym/address.ts';
import { openAgentGym } from './agentgym/open-agentgym.ts';
import { ECHO_FORM, openEcho } from './echo/echo.ts';
import { EnvironmentError, type EnvironmentKind } from './environment.ts';
import { openSearchAddress } from './search-qa/open-search-address.ts';
import { parseSearchAddress, SEARCH_QA_FORM } from './search-qa/search-address.ts';
import { surviving } from './surviving.ts';
import { openTextCraft } from './textcraft/textcraft.ts';
import { openToolAddress } from './tool-env/open-tool-address.ts';
import { parseToolAddress, TOOL_ENV_FORM } from './tool-env/tool-address.ts';

/** The environments that a plan may name. */
export const ENVIRONMENT_FORMS = `textcraft, textcraft:FOLDER, ${SEARCH_QA_FORM}, ${TOOL_ENV_FORM}, echo, ${ECHO_FORM}, or ${AGENTGYM_FORM}`;

/** Opens the environment that a plan names. Who opens it closes it. @throws EnvironmentError that says which names there are. */
export async function openEnvironment(text: string): Promise<EnvironmentKind> {
  if (text === 'textcraft') return openTextCraft({ split: { kind: 'by-hash' } });
  if (text.startsWith('textcraft:'))
    return openTextCraft({ folder: text.slice('textcraft:'.length), split: { kind: 'by-hash' } });
  if (text === 'search-qa' || text.startsWith('search-qa:')) return openSearchAddress(parseSearchAddress(text));
  if (text === 'tool-env' || text.startsWith('tool-env:')) return openToolAddress(parseToolAddress(text));
  if (text === 'echo') return openEcho();
  if (text.startsWith('echo:')) return openEcho(text.slice('echo:'.length));
  if (text.startsWith('agentgym:')) return surviving(await openAgentGym(parseAddress(text)));
  throw new EnvironmentError(
    'unknown-task',
    `there is no environment ${JSON.stringify(text.slice(0, 200))}; name ${ENVIRONMENT_FORMS}`,
  );
}
