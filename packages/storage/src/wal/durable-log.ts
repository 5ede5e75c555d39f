/**
 * The port of a node's durable log: records in one order, durable before the node sends anything that depends on them.
 */

/** Number of a record in its log. The first record of a new log is 0, and each next one is one more. */
export type Position = number;

/** Records that follow each other. Their bytes may share memory: copy the bytes of a record to keep it alone. */
export interface LogSlice {
  readonly first: Position;
  readonly records: readonly Uint8Array[];
}

/**
 * Opaque records in one order. The owner appends records before it acts on them, applies them to its database without
 * a sync, and cuts the log below the position that a checkpoint of the database covers.
 *
 * The guarantees, at any failure of the process or the machine:
 * - a record whose `append` resolved is read again until it is cut;
 * - the records of one `append` survive together or not at all;
 * - the surviving records are a prefix of the appended ones: no record is read without all that precede it;
 * - a record that `read` has passed on is durable.
 *
 * A log has one owner: the log does not notice a second one that is open on the same data. After the first failure
 * nothing more is written, as memory and disk may differ: the owner opens the log anew.
 */
export interface DurableLog {
  /** The lowest position that can be read. At most the position of the latest `cut`. */
  readonly first: Position;
  /** The position of the next record: one more than that of the last durable record. */
  readonly end: Position;
  /**
   * Appends records, in the order of the calls; resolves when they and all records before them are durable, with the
   * position of the first of them. Calls that wait at the same time share one write. The bytes must not change until
   * then. Without records it waits for those before, and resolves with the position that comes next.
   * After a rejection the records may be found in the log when it is opened anew, or not.
   * @throws IsochronError `STORAGE_FULL` when there is no room, `STORAGE_FAILED` after any other failure or when closed
   */
  append(records: readonly Uint8Array[]): Promise<Position>;
  /**
   * Reads the records from a position on, in order, a part at a time: at least all that are durable when the
   * reading begins. Meanwhile the owner may append, and cut what the slices so far have passed on.
   * @throws IsochronError `STORAGE_FAILED`; of class `CorruptRecord` when a record is damaged, was cut, or should be
   * there and is not: then the slices have passed on all records before it and none after it
   */
  read(from: Position): AsyncIterable<LogSlice>;
  /**
   * Records below the position are not needed any more. The log may keep some of them: it frees whole files. Resolves
   * when the freed files are removed.
   * @throws IsochronError `STORAGE_FAILED`
   */
  cut(below: Position): Promise<void>;
  /** Waits for appends, reads and cuts in flight, then releases the files. Later calls are refused. */
  close(): Promise<void>;
}
