/**
 * An operation, or a property of reads, that a protocol offers, and a server under it.
 *
 * - `transactions`: interactive ones: start, read, commit.
 * - `list`: listings, every page in the same snapshot.
 * - `operations`: get, set and delete of one key at a time.
 * - `rot`: one-shot reads of several keys. Where there are transactions, these read as many keys as they like.
 * - `stable`: waiting until a timestamp is visible in every region.
 * - `snapshots`: all reads of a transaction, a one-shot one too, see one state.
 * - `read-past`: reads at a timestamp (`at`).
 * - `stable-snapshots`: every region has all data of a snapshot.
 * - `changes`: the change feed: committed transactions in their total order.
 * - `live-queries`: changes of watched keys and ranges, for clients that keep their documents.
 * - `chained-commits`: a session may send commits without waiting for the one before (`after`).
 * - `updates`: writes that change a document instead of replacing it, and claims.
 * - `write-counters`: commits of a queue are recognised for months, and can be settled.
 */
export type Capability =
  | 'transactions'
  | 'list'
  | 'operations'
  | 'rot'
  | 'stable'
  | 'snapshots'
  | 'read-past'
  | 'stable-snapshots'
  | 'changes'
  | 'live-queries'
  | 'chained-commits'
  | 'updates'
  | 'write-counters';
