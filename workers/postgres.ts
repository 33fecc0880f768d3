import { superviseServer } from '../src/postgres/embedded-server-supervisor.ts';

/** The supervisor of the embedded server of a folder, which its users start (`src/postgres/embedded-server.ts`). */
const [folder = '', durability] = process.argv.slice(2);
await superviseServer(folder, durability === 'none' ? 'none' : 'fsync');
process.exit();
