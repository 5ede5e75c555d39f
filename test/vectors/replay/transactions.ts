/** Drives a session of transactions with the events of a file. */
import type { Deps } from '@isochron/core/ids';
import { type Session, type SessionState, SessionTransaction } from '@isochron/protocols/kernel/transactions/session';
import type { Snapshot } from '@isochron/protocols/kernel/transactions/snapshots';
import { overAbsent } from '../outward.js';
import type { Player } from './compare.js';
import type { Fields, ReadSequence } from './reader.js';
import { refusalOf } from './refusals.js';

type Outcome = Readonly<Record<string, unknown>>;

const deps = (fields: Fields): Deps | undefined => fields.maybe('deps', fields.counts);

function snapshot(fields: Fields): Snapshot {
  const read = { ts: fields.count('ts'), deps: deps(fields) };
  fields.done();
  return read;
}

function state(fields: Fields): SessionState {
  const cache = fields.list('cache').map((entry) => {
    const write = { ct: entry.count('ct'), txId: entry.text('txId'), value: entry.content('value') };
    return [entry.text('key'), write] as const;
  });
  return { ust: fields.count('ust'), deps: deps(fields), hwt: fields.count('hwt'), cache };
}

/** Makes the sessions of a protocol. */
type OpenSession = (id: string, state?: SessionState) => Session;

export class TransactionPlayer implements Player {
  readonly #open: OpenSession;
  readonly #txs = new Map<string, SessionTransaction>();
  #session: Session;

  constructor(open: OpenSession, { id }: ReadSequence) {
    this.#open = open;
    this.#session = open(id);
  }

  state(): object {
    const { cache, ...state } = this.#session.export();
    return { ...state, cache: cache.map(([key, write]) => ({ key, ...write })) };
  }

  play(event: Fields): Outcome {
    const action = this.#actions[event.text('do')];
    if (action === undefined) throw new TypeError(`${event.text('do')} means nothing`);
    return action(event);
  }

  readonly #actions: Readonly<Record<string, (event: Fields) => Outcome>> = {
    begin: (event) => this.#named(event, this.#session.begin()),
    past: (event) => {
      const at = { ts: event.count('at') };
      return this.#named(event, new SessionTransaction(this.#session.nextTxId(), at, new Map()));
    },
    started: (event) => {
      const [tx, { ts, deps }] = [this.#tx(event), snapshot(event.fields('snapshot'))];
      return { ...refusalOf(() => this.#session.started(tx, ts, deps)), view: view(tx) };
    },
    lookup: (event) => ({ read: read(this.#tx(event).lookup(event.text('key'))) }),
    record: (event) => ({ read: read(this.#tx(event).record(event.text('key'), version(event))) }),
    write: (event) => {
      const tx = this.#tx(event);
      tx.write(event.text('key'), event.content('value'));
      return { view: view(tx) };
    },
    overlay: (event) => ({
      overlay: [...this.#tx(event).overlay()].map(([key, own]) => ({ key, ...read(overAbsent(own)) })),
    }),
    observe: (event) => this.#called(() => this.#session.observe(snapshot(event.fields('snapshot')))),
    stable: (event) => this.#called(() => this.#session.stable(event.count('ust'))),
    commit: (event) => {
      const tx = this.#tx(event);
      const found: { attempt?: unknown } = {};
      const refusal = refusalOf(() => {
        found.attempt = this.#session.commit(tx);
      });
      return { ...found, ...refusal };
    },
    committed: (event) => {
      const { ts, deps } = snapshot(event.fields('snapshot'));
      return refusalOf(() => this.#session.committed(ts, deps));
    },
    refused: () => refusalOf(() => this.#session.refused()),
    detach: (event) => refusalOf(() => this.#session.detach(event.text('id'))),
    end: (event) => this.#called(() => this.#session.end(this.#tx(event))),
    ids: (event) => ({ id: Array.from({ length: event.count('count') }, () => this.#session.nextTxId()).at(-1) }),
    import: (event) => {
      this.#session = this.#open(event.text('id'), state(event.fields('from')));
      this.#txs.clear();
      return {};
    },
  };

  #called(call: () => void): Outcome {
    call();
    return {};
  }

  #named(event: Fields, tx: SessionTransaction): Outcome {
    this.#txs.set(event.text('tx'), tx);
    return { view: view(tx) };
  }

  #tx(event: Fields): SessionTransaction {
    const tx = this.#txs.get(event.text('tx'));
    if (tx === undefined) throw new TypeError(`there is no transaction ${event.text('tx')}`);
    return tx;
  }
}

function version(event: Fields): { ts: number; txId: ''; region: ''; value: string | Uint8Array | null } | null {
  if (!event.has('version')) return null;
  const fields = event.fields('version');
  return { ts: fields.count('ts'), txId: '', region: '', value: fields.value('value') };
}

/** Undefined, as null, without a timestamp. */
function read(result: { readonly value: unknown; readonly ts: number | null } | undefined): object | undefined {
  return result === undefined ? undefined : { value: result.value, ts: result.ts ?? undefined };
}

const view = ({ id, seen, snapshot, read, covered, hasWrites, writes }: SessionTransaction): object => ({
  id,
  floor: seen.ts,
  snapshot,
  deps: read.deps,
  covered,
  hasWrites,
  writes,
});
