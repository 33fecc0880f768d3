// Loaded by `node --import` into jest and its workers: TypeScript and `@jest/globals` then load as ordinary modules.
import { register } from 'node:module';
import { register as registerTypeScript } from 'tsx/esm/api';

registerTypeScript();
register('./resolve-globals.mjs', import.meta.url);
