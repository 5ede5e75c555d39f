/** The part of `node:sqlite` that the example uses. The repository's own Node has no such module. */
import { createRequire } from 'node:module';

export interface Statement {
  run(...values: readonly (string | number | null)[]): unknown;
  get(...values: readonly (string | number)[]): Record<string, unknown> | undefined;
}

export interface Sqlite {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** Opens a database file. @throws Error on a version of Node without SQLite */
export function openSqlite(file: string): Sqlite {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 13))
    throw new Error(`SQLite needs Node 22.13 or newer, and this is ${process.versions.node}: run it with that one`);
  const { DatabaseSync } = createRequire(import.meta.url)('node:sqlite') as {
    DatabaseSync: new (file: string) => Sqlite;
  };
  return new DatabaseSync(file);
}
