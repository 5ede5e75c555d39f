/**
 * Commands of sessions in a script: Algorithm 1, through the real session code. A command sends its request; the answer
 * is awaited at once or by a later command.
 */
import { ERROR_CODES, type KeyWrite, type QualifiedKey, type RegionId } from '@isochron/core';
import type { ClientRequest, ClientResponse, CommitReq } from '@isochron/protocols/kernel/transactions/messages';
import type { SessionTransaction } from '@isochron/protocols/kernel/transactions/session';
import type { TestClient } from '../world/clients.js';
import type { NamedTransaction, Question, Stage } from './script-stage.js';
import { ScriptError, valueOfWord, type Words, wordOfValue } from './script-words.js';

type Unsent = { [R in ClientRequest as R['type']]: Omit<R, 'ref'> }[ClientRequest['type']];

/** A session by its name in the script. */
interface NamedSession {
  readonly name: string;
  readonly client: TestClient;
}

/** Sends a request, or ends at once. */
type SessionCommand = (stage: Stage, session: NamedSession, words: Words) => Question | Done;

/** A command without a request, or one that needs no request, and its output. */
interface Done {
  readonly shown: readonly string[];
}

export const SESSION_COMMANDS: Readonly<Record<string, SessionCommand>> = {
  begin: (stage, { client }, words) => {
    const { name, tx } = nameTransaction(stage, client, words.next('a name for the transaction'));
    const { ts: ust, deps } = client.session.seen;
    const request = { type: 'StartTxReq', txId: tx.id, ust, at: null, deps } as const;
    return ask(stage, name, client.node, request, (answer) => {
      if (answer.type !== 'StartTxResp') return [refusal(name, answer)];
      client.session.started(tx, answer.snapshot, answer.deps);
      return [`snapshot ${stage.snapshot({ ts: answer.snapshot, deps: answer.deps })}`];
    });
  },

  read: (stage, session, words) => {
    if (!isTransactionName(words.peek)) return readOnce(stage, session, keysOf(stage, words));
    const { name, tx } = stage.transaction(words.next('a transaction'));
    const keys = keysOf(stage, words);
    const missing = keys.filter((key) => tx.lookup(key) === undefined);
    if (missing.length === 0) return { shown: [seen(stage, tx, keys)] };
    const request = { type: 'ReadReq', txId: tx.id, ust: 0, at: null, keys: missing } as const;
    return ask(stage, name, session.client.node, request, (answer) => {
      if (answer.type !== 'ReadResp') return [refusal(name, answer)];
      missing.forEach((key, i) => {
        tx.record(key, answer.versions[i] ?? null);
      });
      return [seen(stage, tx, keys)];
    });
  },

  write: (stage, _session, words) => {
    const { tx } = stage.transaction(words.next('a transaction'));
    for (const { key, value } of writesOf(stage, words)) tx.write(key, value);
    return { shown: [] };
  },

  commit: (stage, { client }, words) => {
    const name = words.next('a transaction');
    const named = stage.transactions.get(name) ?? nameTransaction(stage, client, name);
    const { tx } = named;
    const avoids = avoidsOf(words);
    for (const { key, value } of writesOf(stage, words)) tx.write(key, value);
    const begun = tx.snapshot !== undefined;
    const request = { ...client.commitRequest(tx), avoids };
    named.commit = { ...request, snapshot: tx.snapshot ?? tx.seen.ts };
    named.inFlight = true;
    // One that was not begun starts and commits in one round trip (P11).
    return ask(stage, name, client.node, begun ? request : named.commit, (answer) => committed(stage, named, answer));
  },

  retry: (stage, { client }, words) => {
    const named = stage.transaction(words.next('a transaction'));
    if (named.commit === undefined) throw new ScriptError(`${named.name} was not committed before`);
    const node = words.option('at') ?? client.node;
    const attemptRegions: readonly RegionId[] =
      words.option('attemptRegions')?.split(',') ?? named.commit.attemptRegions;
    const forged = words.take('writing');
    const writes = forged ? writesOf(stage, words) : named.commit.writes;
    const avoids =
      avoidsOf(words) ?? (attemptRegions === named.commit.attemptRegions ? named.commit.avoids : undefined);
    const request: Omit<CommitReq, 'ref'> = { ...named.commit, attemptRegions, avoids, writes };
    return ask(stage, named.name, node, request, (answer) =>
      forged ? [outcome(stage, named, answer)] : committed(stage, named, answer),
    );
  },

  status: (stage, { client }, words) => {
    const { name, tx } = stage.transaction(words.next('a transaction'));
    return ask(stage, name, client.node, { type: 'TxStatusReq', txId: tx.id }, (answer) => {
      if (answer.type !== 'TxStatusResp') return [refusal(name, answer)];
      return [`${name} is ${answer.status}${answer.ts === null ? '' : ` at ${stage.time(answer.ts)}`}`];
    });
  },

  end: (stage, { client }, words) => {
    const { name, tx } = stage.transaction(words.next('a transaction'));
    client.session.end(tx);
    return ask(stage, name, client.node, { type: 'EndTxReq', txId: tx.id }, () => []);
  },

  move: (stage, { client }, words) => {
    client.node = stage.running(words.next('a node'));
    return { shown: [] };
  },
};

/** Runs until the answer is there, and returns the script's output for it. */
export function awaitAnswer(stage: Stage, question: Question): readonly string[] {
  const { world } = stage;
  const { node, ref, incarnation, show } = question;
  const lost = () => world.node(node).incarnation !== incarnation;
  world.until(() => lost() || answered(stage, question));
  stage.questions = stage.questions.filter((other) => other !== question);
  return lost() ? [`no answer: ${node} has died`] : show(world.answer(node, ref)!);
}

export const answered = ({ world }: Stage, { node, ref }: Question): boolean => world.answer(node, ref) !== undefined;

/** Starts, reads and ends in one round trip (P11). */
function readOnce(stage: Stage, { name, client }: NamedSession, keys: readonly QualifiedKey[]): Question {
  const { session } = client;
  const tx = session.begin();
  const { ts: ust, deps } = session.seen;
  const request = { type: 'ReadReq', txId: null, ust, at: null, keys, deps } as const;
  return ask(stage, name, client.node, request, (answer) => {
    if (answer.type === 'ReadResp') {
      session.started(tx, answer.snapshot, answer.deps);
      keys.forEach((key, i) => {
        tx.record(key, answer.versions[i] ?? null);
      });
    }
    session.end(tx);
    return [answer.type === 'ReadResp' ? seen(stage, tx, keys) : refusal(name, answer)];
  });
}

function ask(stage: Stage, name: string, node: string, request: Unsent, show: Question['show']): Question {
  const { incarnation } = stage.world.node(stage.running(node));
  const question = { name, node, ref: stage.world.ask(node, request), incarnation, show };
  stage.questions.push(question);
  return question;
}

/** The end of a commit, also of one sent again: its session takes the first decision. */
function committed(stage: Stage, named: NamedTransaction, answer: ClientResponse): string[] {
  const decided = answer.type !== 'Refused' || !ERROR_CODES[answer.code];
  if (named.inFlight && decided) {
    named.inFlight = false;
    if (answer.type === 'CommitResp') named.client.session.committed(answer.ct, answer.deps);
    else named.client.session.refused();
  }
  return [outcome(stage, named, answer)];
}

function outcome(stage: Stage, named: NamedTransaction, answer: ClientResponse): string {
  if (answer.type !== 'CommitResp') return refusal(named.name, answer);
  named.ct ??= answer.ct;
  return `${named.name} committed at ${stage.time(answer.ct)}`;
}

function refusal(name: string, answer: ClientResponse): string {
  if (answer.type !== 'Refused') throw new ScriptError(`${name} was answered with ${answer.type}`);
  return `${name} refused: ${answer.code}`;
}

function seen(stage: Stage, tx: SessionTransaction, keys: readonly QualifiedKey[]): string {
  return keys.map((key) => `${stage.keyName(key)}=${wordOfValue(tx.lookup(key)?.value)}`).join(' ');
}

const isTransactionName = (word: string): boolean => /^T\d+$/.test(word);

function nameTransaction(stage: Stage, client: TestClient, name: string): NamedTransaction {
  if (!isTransactionName(name)) throw new ScriptError(`"${name}" is no name of a transaction: T1, T2, …`);
  if (stage.transactions.has(name)) throw new ScriptError(`there is a ${name} already`);
  const tx = client.session.begin();
  const named: NamedTransaction = { name, client, tx, commit: undefined, inFlight: false, ct: undefined };
  stage.transactions.set(name, named);
  return named;
}

/** `avoiding oregon`, or for each attempt: `avoiding none,oregon+virginia`. */
const avoidsOf = (words: Words): RegionId[][] | undefined =>
  words
    .option('avoiding')
    ?.split(',')
    .map((list) => (list === 'none' ? [] : list.split('+')));

/** `x@0 y@3`. */
function keysOf(stage: Stage, words: Words): QualifiedKey[] {
  const keys = words.until().map((word) => stage.key(word));
  if (keys.length === 0) throw new ScriptError('expected a key at the end');
  return keys;
}

/** `x@0=1 y@3=nothing`. */
function writesOf(stage: Stage, words: Words): KeyWrite[] {
  return words.until().map((word) => {
    const at = word.indexOf('=');
    if (at < 0) throw new ScriptError(`"${word}" is no write: key=value`);
    return { key: stage.key(word.slice(0, at)), value: valueOfWord(word.slice(at + 1)) };
  });
}
