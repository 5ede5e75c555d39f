/** Sessions with PostgreSQL and Redis that do the work of a session of Isochron. */
import pg from 'pg';
import { createClient } from 'redis';
import type { RivalName } from './servers.js';

/** One connection, with one transaction at a time. */
export interface RivalSession {
  /** Writes keys in one transaction. */
  write(pairs: readonly (readonly [key: string, value: string])[]): Promise<void>;
  /**
   * A transaction that reads keys, passes what it has read on, and writes.
   * @param writes the pairs to be written, once the reads are there
   */
  transact(
    keys: readonly string[],
    read: (values: readonly (string | undefined)[]) => void,
    writes: readonly (readonly [key: string, value: string])[],
  ): Promise<void>;
  close(): Promise<void>;
}

export const openRival = (name: RivalName, address: string): Promise<RivalSession> =>
  name === 'postgres' ? openPostgres(address) : openRedis(address);

/**
 * Statements are prepared once a connection. Pairs are written in the order of their keys: two transactions would lock
 * each other out otherwise. The level of isolation is that of the package, *read committed*: each statement reads a
 * snapshot of its own, and a transaction reads by one statement. A snapshot for the whole transaction (*repeatable
 * read*) would refuse writes of keys that another transaction has written meanwhile, and repeat them.
 */
async function openPostgres(folder: string): Promise<RivalSession> {
  const client = new pg.Client({ host: folder, user: 'bench', database: 'postgres' });
  await client.connect();
  const put = (pairs: readonly (readonly [string, string])[]) => {
    const ordered = [...pairs].sort(([a], [b]) => (a < b ? -1 : 1));
    return client.query({
      name: 'put',
      text:
        'INSERT INTO pairs SELECT * FROM unnest($1::text[], $2::text[]) ' +
        'ON CONFLICT (key) DO UPDATE SET value = excluded.value',
      values: [ordered.map(([key]) => key), ordered.map(([, value]) => value)],
    });
  };
  return {
    async write(pairs) {
      await put(pairs);
    },
    async transact(keys, read, writes) {
      await client.query('BEGIN');
      const text = 'SELECT key, value FROM pairs WHERE key = ANY($1::text[])';
      const { rows } = await client.query<{ key: string; value: string }>({ name: 'get', text, values: [keys] });
      const found = new Map(rows.map(({ key, value }) => [key, value]));
      read(keys.map((key) => found.get(key)));
      await put(writes);
      await client.query('COMMIT');
    },
    close: () => client.end(),
  };
}

/** Makes the table of all sessions. */
export async function preparePostgres(folder: string): Promise<void> {
  const client = new pg.Client({ host: folder, user: 'bench', database: 'postgres' });
  await client.connect();
  await client.query('CREATE TABLE IF NOT EXISTS pairs (key text PRIMARY KEY, value text NOT NULL)');
  await client.end();
}

/** Reads by one command, writes by one `MULTI`. */
async function openRedis(port: string): Promise<RivalSession> {
  const client = createClient({ socket: { host: '127.0.0.1', port: Number(port) } });
  client.on('error', () => undefined);
  await client.connect();
  const put = async (pairs: readonly (readonly [string, string])[]): Promise<void> => {
    const multi = client.multi();
    for (const [key, value] of pairs) multi.set(key, value);
    await multi.exec();
  };
  return {
    write: put,
    async transact(keys, read, writes) {
      read((await client.mGet([...keys])).map((value) => value ?? undefined));
      await put(writes);
    },
    close: async () => {
      await client.close();
    },
  };
}
