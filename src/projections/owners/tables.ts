// Generated from tables.sql by `npm run codegen:tables`; digest of both: 04ee0b20be4fd75c
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  owners: table('owners', ['stream', 'topic'], {
    stream: column<string>('uuid'),
    topic: column<string>('text'),
    root: column<string | null>('uuid'),
    principal: column<string>('text'),
    project: column<string>('text'),
  }),
  payloadProjects: table('payload_projects', ['sha256', 'project'], {
    sha256: column<string>('text'),
    project: column<string>('text'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
