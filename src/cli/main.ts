import { outliveClosedPipes } from '../runtime/closed-pipes.ts';
import { runCli } from './run-cli.ts';

outliveClosedPipes();
await runCli(process.argv.slice(2));
