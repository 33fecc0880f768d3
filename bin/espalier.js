#!/usr/bin/env node
import { run } from './run.js';

await run('src/cli/main.ts');
