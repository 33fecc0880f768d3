import { runRole } from '../src/app/roles.ts';

await runRole('api');
