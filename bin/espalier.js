#!/usr/bin/env node
// Runs the TypeScript sources as they are: `npx espalier …` from an installed checkout.
import { register } from 'tsx/esm/api';

// graphql checks every value twice in development: a tree of 1,000 steps takes half as long again.
process.env.NODE_ENV ??= 'production';
register();
await import('../src/cli/main.ts');
