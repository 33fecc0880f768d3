import { sha256Hex } from '../digest/sha256.ts';
import { connect } from './pool.ts';

const DUPLICATE_DATABASE = '42P04';
const UNIQUE_VIOLATION = '23505'; // two processes made it at the same moment

/** Returns the address of the database for a name on the server of an address, making it when it is missing. */
export async function siblingDatabase(url: string, name: string): Promise<string> {
  const database = `espalier_${sha256Hex(name).slice(0, 16)}`;
  const client = await connect(url);
  try {
    await client.query(`create database ${database}`);
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    if (code !== DUPLICATE_DATABASE && code !== UNIQUE_VIOLATION) throw error;
  } finally {
    await client.end();
  }
  const sibling = new URL(url);
  sibling.pathname = `/${database}`;
  return sibling.toString();
}
