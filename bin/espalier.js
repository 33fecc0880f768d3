#!/usr/bin/env node
// Runs the TypeScript sources as they are: `npx espalier …` from an installed checkout.
import { register } from 'tsx/esm/api';

register();
await import('../src/cli/main.ts');
