/**
 * The copy in SQLite: the documents, and the position up to which they are complete. A step writes both in one
 * transaction of SQLite, so a copy that was killed at any moment is a snapshot of the store.
 */
import { applyOperations, type ChangedKey, type ChangesMessage, type Timestamp } from '@isochron/sdk';
import { openSqlite, type Sqlite, type Statement } from './sqlite.js';

/** The place of a copy in the feed. */
export interface Position {
  /** The copy is the snapshot at this timestamp. */
  readonly timestamp: Timestamp;
  /** Undefined before the first message. */
  readonly cursor: string | undefined;
}

/** A document of the store. */
export interface Row {
  readonly keyspace: string;
  readonly key: string;
  readonly document: unknown;
}

const TABLES = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  create table if not exists documents (
    keyspace text not null, key text not null, document text not null, primary key (keyspace, key)
  ) without rowid;
  create table if not exists position (
    one integer primary key check (one = 1), timestamp integer not null, cursor text, keyspaces text not null
  );`;

export class Copy {
  readonly #sqlite: Sqlite;
  readonly #put: Statement;
  readonly #delete: Statement;
  readonly #get: Statement;
  readonly #move: Statement;
  readonly #keyspaces: string;

  /** @throws Error for a file that is the copy of other keyspaces */
  constructor(
    file: string,
    readonly keyspaces: readonly string[],
  ) {
    this.#keyspaces = [...keyspaces].sort().join(' ');
    this.#sqlite = openSqlite(file);
    this.#sqlite.exec(TABLES);
    this.#put = this.#sqlite.prepare('insert or replace into documents values (?, ?, ?)');
    this.#delete = this.#sqlite.prepare('delete from documents where keyspace = ? and key = ?');
    this.#get = this.#sqlite.prepare('select document from documents where keyspace = ? and key = ?');
    this.#move = this.#sqlite.prepare('insert or replace into position values (1, ?, ?, ?)');
    const known = this.#sqlite.prepare('select keyspaces from position').get()?.keyspaces;
    if (known !== undefined && known !== this.#keyspaces) throw new Error(`${file} is a copy of ${known}`);
  }

  /** Undefined for an empty copy. */
  get position(): Position | undefined {
    const row = this.#sqlite.prepare('select timestamp, cursor from position').get();
    if (row === undefined) return undefined;
    return { timestamp: row.timestamp as number, cursor: (row.cursor as string | null) ?? undefined };
  }

  /** Begins anew, with all documents of a snapshot. */
  async fill(timestamp: Timestamp, rows: AsyncIterable<Row>): Promise<void> {
    const all: Row[] = [];
    for await (const row of rows) all.push(row);
    this.#step({ timestamp, cursor: undefined }, () => {
      this.#sqlite.exec('delete from documents');
      for (const { keyspace, key, document } of all) this.#put.run(keyspace, key, JSON.stringify(document));
    });
  }

  /** Applies a message of the feed, transaction by transaction. */
  apply({ to, cursor, transactions }: ChangesMessage): void {
    this.#step({ timestamp: to, cursor }, () => {
      for (const { timestamp, writes } of transactions)
        for (const write of writes) if (this.keyspaces.includes(write.keyspace)) this.#write(write, timestamp);
    });
  }

  close(): void {
    this.#sqlite.close();
  }

  #write({ keyspace, key, ...change }: ChangedKey, timestamp: Timestamp): void {
    const document =
      change.operations === undefined ? storedOf(change) : this.#updated(keyspace, key, change, timestamp);
    if (document === undefined) this.#delete.run(keyspace, key);
    else this.#put.run(keyspace, key, JSON.stringify(document));
  }

  #updated(keyspace: string, key: string, { operations }: Omit<ChangedKey, 'keyspace' | 'key'>, timestamp: Timestamp) {
    const text = this.#get.get(keyspace, key)?.document;
    return applyOperations(text === undefined ? undefined : JSON.parse(text as string), operations!, timestamp);
  }

  #step({ timestamp, cursor }: Position, write: () => void): void {
    this.#sqlite.exec('begin immediate');
    try {
      write();
      this.#move.run(timestamp, cursor ?? null, this.#keyspaces);
      this.#sqlite.exec('commit');
    } catch (error) {
      this.#sqlite.exec('rollback');
      throw error;
    }
  }
}

/** A stored document. Bytes become base64, as SQLite's JSON has none. */
const storedOf = ({ value, bytes }: Omit<ChangedKey, 'keyspace' | 'key'>): unknown =>
  bytes === undefined ? value : { base64: Buffer.from(bytes).toString('base64') };
