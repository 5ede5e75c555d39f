import type { Clocks } from './clocks.js';
import type { IndexedHistory } from './indexed.js';
import type { Hop, PathFinder } from './paths.js';
import type { ResolvedReads } from './reads.js';
import type { Saturation } from './saturation.js';
import type { Step, Violation, ViolationName } from './violations.js';
import type { Words } from './words.js';
import type { KeyWriters } from './writers.js';

/** What an explanation is made from. The last three are missing while happens-before itself is cyclic. */
export interface Evidence {
  readonly history: IndexedHistory;
  readonly reads: ResolvedReads;
  readonly words: Words;
  readonly paths: PathFinder;
  readonly clocks?: Clocks;
  readonly writers?: KeyWriters;
  readonly saturation?: Saturation;
}

/** An {@link Evidence} that is complete. */
export type FullEvidence = Required<Evidence>;

/** A transaction read a version although one in its past had overwritten it. */
export function explainStaleRead(evidence: FullEvidence, read: number): Violation {
  const { history, reads, words, paths, clocks, writers } = evidence;
  const reader = reads.tx.at(read);
  const write = reads.write.at(read);
  const writer = reads.writer(read);
  const later = new Set(writers.all(reads.key.at(read)).filter((tx) => clocks.before(writer, tx)));
  const past = paths.find(reader, (tx) => later.has(tx))!;
  const other = past[0]!.from;
  const overwrite = history.finalWrite(other, reads.key.at(read));
  const message =
    `${words.label(reader)} read ${words.assignment(write)}, written by ${words.label(writer)}, although ` +
    `${words.label(other)} had overwritten it with ${words.value(overwrite)} and happened before ${words.label(reader)}.`;
  const back: Step = {
    relation: 'commit',
    from: words.ref(other),
    to: words.ref(writer),
    text: forcedOrder(evidence, other, read),
    because: past.map((hop) => stepOf(evidence, hop)),
  };
  const there = paths.find(other, (tx) => tx === writer)!.map((hop) => stepOf(evidence, hop));
  return violation(nameOfMiss(past), message, [...there, back]);
}

/** A transaction read no version of a key although one was written in its past. */
export function explainStaleNull(evidence: FullEvidence, read: number): Violation {
  const { history, reads, words, paths, clocks, writers, saturation } = evidence;
  const reader = reads.tx.at(read);
  const key = reads.key.at(read);
  const deleted = history.tombstonesOf[key]!.length > 0;
  const past = saturation.pastWriters(reader, key);
  // Where the key was deleted at some time, only a write that no delete followed speaks for itself.
  const missed = new Set(
    deleted ? past.filter((tx) => !past.some((other) => clocks.before(tx, other))) : writers.all(key),
  );
  const path = paths.find(reader, (tx) => missed.has(tx))!;
  const other = path[0]!.from;
  const message =
    `${words.label(reader)} read ${words.key(key)} = null, although ${words.label(other)} had written ` +
    `${words.assignment(history.finalWrite(other, key))} and happened before ${words.label(reader)}.` +
    (deleted ? ' No delete explains it: each was overwritten before, or happened later.' : '');
  const step: Step = {
    relation: 'commit',
    from: words.ref(other),
    to: null,
    text: `${words.label(other)} would have to come before the initial state, which ${words.label(reader)} read`,
    because: path.map((hop) => stepOf(evidence, hop)),
  };
  return violation(nameOfMiss(path), message, [step]);
}

/** Transactions that happen before themselves by session order and reads alone. */
export function explainCausalCycle(evidence: Evidence, cycle: readonly Hop[]): Violation {
  const names = cycle.map((hop) => evidence.words.label(hop.from));
  const message = `${list(names)} each happened before the other: no order of them is possible.`;
  return violation(
    'cyclic-causality',
    message,
    cycle.map((hop) => stepOf(evidence, hop)),
  );
}

/** Readers that force opposite orders on concurrent writers. */
export function explainCommitCycle(evidence: FullEvidence, cycle: readonly Hop[]): Violation {
  const { reads, saturation, words } = evidence;
  const forced = cycle.filter((hop) => hop.relation === 'commit');
  const readers = [...new Set(forced.map((hop) => reads.tx.at(saturation.read.at(hop.ref))))];
  const writers = [...new Set(forced.flatMap((hop) => [hop.from, hop.to]))];
  const message =
    readers.length === 1
      ? `${words.label(readers[0]!)} read from ${list(writers.map((tx) => words.label(tx)))} in a way that no snapshot allows.`
      : `What ${list(readers.map((tx) => words.label(tx)))} read puts the writes of ${list(writers.map((tx) => words.label(tx)))} in contradicting orders.`;
  return violation(
    nameOfCommitCycle(evidence, forced, readers),
    message,
    cycle.map((hop) => stepOf(evidence, hop)),
  );
}

function nameOfCommitCycle(evidence: FullEvidence, forced: readonly Hop[], readers: readonly number[]): ViolationName {
  const { history, reads, saturation } = evidence;
  if (readers.length === 1) {
    const seen = new Set<number>();
    for (let read = reads.from[readers[0]!]!; read < reads.to[readers[0]!]!; read++) seen.add(reads.writer(read));
    return forced.every((hop) => seen.has(hop.from)) ? 'fractured-read' : 'causal-snapshot';
  }
  const keys = new Set(forced.map((hop) => reads.key.at(saturation.read.at(hop.ref))));
  const sessions = new Set(readers.map((tx) => history.txSession.at(tx)));
  if (sessions.size > 1) return 'divergent-order';
  return keys.size === 1 ? 'monotonic-reads' : 'causal-snapshot';
}

/** Names a missed write by how it had come into the reader's past. */
function nameOfMiss(path: readonly Hop[]): ViolationName {
  switch (path.map((hop) => hop.relation).join(' ')) {
    case 'session':
      return 'read-your-writes';
    case 'write-read':
      return 'fractured-read';
    case 'write-read session':
      return 'monotonic-reads';
    case 'session write-read':
      return 'monotonic-writes';
    case 'write-read write-read':
    case 'write-read session write-read':
      return 'writes-follow-reads';
    default:
      return 'causal-snapshot';
  }
}

function stepOf(evidence: Evidence, hop: Hop): Step {
  const { words, paths, reads, saturation } = evidence;
  const [from, to] = [words.label(hop.from), words.label(hop.to)];
  const ends = { relation: hop.relation, from: words.ref(hop.from), to: words.ref(hop.to) };
  if (hop.relation === 'session') {
    return { ...ends, text: `${from} comes before ${to} in session ${words.session(hop.from)}`, because: [] };
  }
  if (hop.relation === 'write-read' || saturation === undefined) {
    const write = words.assignment(reads.write.at(hop.ref));
    return { ...ends, text: `${to} read ${write}, which ${from} wrote`, because: [] };
  }
  const read = saturation.read.at(hop.ref);
  const past = paths.find(reads.tx.at(read), (tx) => tx === hop.from)!;
  return {
    ...ends,
    text: forcedOrder(evidence, hop.from, read),
    because: past.map((inner) => stepOf(evidence, inner)),
  };
}

function forcedOrder({ history, reads, words }: Evidence, other: number, read: number): string {
  const reader = words.label(reads.tx.at(read));
  const write = reads.write.at(read);
  const overwrite = words.assignment(history.finalWrite(other, reads.key.at(read)));
  return (
    `${words.label(other)} must come before ${words.label(reads.writer(read))}: ${reader} read ${words.assignment(write)} ` +
    `while ${words.label(other)}, which wrote ${overwrite}, happened before ${reader}`
  );
}

function violation(name: ViolationName, message: string, cycle: readonly Step[]): Violation {
  const transactions = new Map<number, NonNullable<Step['from']>>();
  const collect = (step: Step): void => {
    for (const ref of [step.from, step.to]) if (ref !== null) transactions.set(ref.line, ref);
    step.because.forEach(collect);
  };
  cycle.forEach(collect);
  return { name, message, transactions: [...transactions.values()], cycle };
}

const list = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
