/** The guarantees of the SDKs' client: at most once, in order, one snapshot, own writes. */
import type { Mutant, Patch, Profile } from '../mutant.js';

const CLIENT = 'packages/client/src';
const CONNECTION = `${CLIENT}/link/connection.ts`;
const CONNECTOR = `${CLIENT}/link/connector.ts`;
const COMMITS = `${CLIENT}/session/commits.ts`;
const ORDER = 'packages/sessions/src/served/commit-order.ts';
const DISPATCHER = `${CLIENT}/link/dispatcher.ts`;
const EXPORTED = `${CLIENT}/session/exported.ts`;
const HANDLE = `${CLIENT}/session/snapshot-handle.ts`;
const LISTING = `${CLIENT}/session/listing.ts`;
const OPERATIONS = `${CLIENT}/session/operations.ts`;
const OUTCOME = `${CLIENT}/session/outcome.ts`;
const READS = `${CLIENT}/session/reads.ts`;

/** Clients that often lose their connections. */
const RECONNECTING: Profile = {
  faults: { kinds: ['clientDisconnect', 'crash'], count: 30, untilMs: 3_000 },
};
/** Sessions that continue with their tokens, with lost connections or lost answers. */
const CARRIED: Profile = {
  carriesTokens: true,
  faults: { kinds: ['clientDisconnect', 'answersLost', 'drain'], count: 30, untilMs: 3_000 },
};
/** Clients without faults. */
const UNDISTURBED: Profile = { faults: { kinds: ['slowDisk'], count: 0, untilMs: 0 } };

/** The same, with few credits. */
const FEW_CREDITS: Profile = { environment: { credits: 2 }, faults: { kinds: ['slowDisk'], count: 0, untilMs: 0 } };

/** The same, with stable time far behind the sessions' writes. */
const BEHIND: Profile = { ...UNDISTURBED, settings: { applyIntervalMs: 400, gossipIntervalMs: 400 } };

/** The same, with credentials that expire. */
const EXPIRING: Profile = { ...UNDISTURBED, environment: { credentialsMs: 1_500 } };

/** Sessions that write several keys at once. */
const BURSTS: Profile = { ...RECONNECTING, bursts: 12 };

/** Reports the end of a write that may have had an effect as its outcome. */
const ENDS_AS_FAILED: Patch = {
  file: OUTCOME,
  in: 'OutcomeExchange.failed',
  find: 'if (inDoubt && error?.code',
  replace: 'if (false && error?.code',
};

export const CLIENT_MUTANTS: readonly Mutant[] = [
  {
    name: 'repeats-under-a-new-id',
    breaks: 'D4',
    does: 'repeats a commit under another transaction id',
    patches: [
      {
        file: COMMITS,
        in: 'CommitExchange.frame',
        find: 'this.attempt, this.sending(connection)),',
        replace:
          '{ ...this.attempt, txId: this.attempts.length > 0 ? this.attempt.txId.concat(String(0)) : this.attempt.txId }, this.sending(connection)),',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: RECONNECTING,
  },
  {
    name: 'repeats-without-the-last-write',
    breaks: 'D4',
    does: 'repeats a commit with fewer writes',
    patches: [
      {
        file: COMMITS,
        in: 'CommitExchange.frame',
        find: '      writes: this.#writes,\n',
        replace: '      writes: this.#again++ > 0 ? this.#writes.slice(1) : this.#writes,\n',
      },
      {
        file: COMMITS,
        in: 'CommitExchange.#sentOpen',
        find: '  #sentOpen: boolean | undefined;\n',
        replace: '  #sentOpen: boolean | undefined;\n  #again = 0;\n',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: RECONNECTING,
  },
  {
    name: 'home-changes-in-doubt',
    breaks: 'D4',
    does: 'repeats a commit of unknown outcome with the cohorts of another region',
    patches: [
      {
        file: OUTCOME,
        in: 'OutcomeExchange.sending',
        find: "if (last === undefined || this.is('orphaned') || this.mustMove(last.home, connection))",
        replace: 'this.#attempts.length = 0;',
      },
    ],
    seeds: { from: 1, count: 60 },
    profile: RECONNECTING,
  },
  {
    name: 'doubt-forgotten',
    breaks: 'D2',
    does: 'reports a commit as failed when its answer is late',
    patches: [
      ENDS_AS_FAILED,
      { file: OUTCOME, in: 'OutcomeExchange.expired', find: 'if (!this.inDoubt) {', replace: '{' },
      {
        file: OUTCOME,
        in: 'OutcomeExchange.sending',
        find: 'this.deadlineMs = this.#answerDueMs(now);',
        replace: 'this.deadlineMs = now + 30;',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: RECONNECTING,
  },
  {
    name: 'reopened-elsewhere',
    breaks: 'D8',
    does: 'opens a transaction again without its snapshot when the connection moves',
    patches: [
      {
        file: HANDLE,
        in: 'SnapshotHandle.opening',
        find: '  opening(connection: Carrier): TxId {',
        replace: '  opening(connection: Carrier): TxId {\n    this.at = undefined;',
      },
    ],
    seeds: { from: 3, count: 40 },
    profile: RECONNECTING,
  },
  {
    name: 'answers-in-another-order',
    breaks: 'Alg. 1',
    does: 'returns the values of a read in the order of their arrival',
    patches: [
      {
        file: READS,
        in: 'readKeys.resolve',
        find: 'caller.resolve(known.map((result) => (result ?? asked[next++]!).value));',
        replace:
          'caller.resolve([...asked, ...known.filter((result) => result !== undefined)].map(({ value }) => value));',
      },
      { file: READS, in: 'readKeys.resolve', find: '    let next = 0;\n', replace: '' },
    ],
    seeds: { from: 1, count: 40 },
    profile: UNDISTURBED,
  },
  {
    name: 'exports-no-writes',
    breaks: 'D9',
    does: 'exports a session without its own writes',
    patches: [
      { file: EXPORTED, in: 'exportWrites', find: '  cache.map(([key', replace: '  cache.slice(0, 0).map(([key' },
    ],
    seeds: { from: 3, count: 60 },
    profile: BEHIND,
  },
  {
    name: 'lists-without-own-writes',
    breaks: 'P7',
    does: "lists the server's keys without the session's own writes",
    patches: [
      { file: LISTING, in: 'merged', find: '  if (own.size === 0) return', replace: '  if (own.size >= 0) return' },
    ],
    seeds: { from: 1, count: 60 },
    profile: UNDISTURBED,
  },
  {
    name: 'writes-not-kept',
    breaks: 'P7',
    does: 'does not keep its committed writes',
    patches: [
      {
        file: COMMITS,
        in: 'CommitExchange.answered',
        find: 'this.core.session.committed(frame.ts, frame.deps, place);',
        replace: 'this.core.session.refused();',
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: UNDISTURBED,
  },
  {
    name: 'lost-with-its-connection',
    breaks: 'D2',
    does: 'reports a commit as failed when its connection is lost',
    patches: [
      ENDS_AS_FAILED,
      {
        file: DISPATCHER,
        in: 'Dispatcher.#survives',
        find: 'if (exchange.repeats && ',
        replace: "if (exchange.repeats && !('txId' in exchange) && ",
      },
    ],
    seeds: { from: 1, count: 40 },
    profile: RECONNECTING,
  },
  {
    name: 'queue-overtaken',
    breaks: 'P8',
    does: 'sends a write behind another one without marking it, so that it may overtake that one',
    patches: [
      {
        file: COMMITS,
        in: 'CommitExchange.frame',
        find: '(after && { after })',
        replace: '(after && {})',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: BURSTS,
  },
  {
    name: 'chained-at-once',
    breaks: 'P8',
    does: 'begins a commit at once although it has to follow another one',
    patches: [
      {
        file: ORDER,
        in: 'CommitOrder.add',
        find: '    if (after === null) {\n',
        replace: '    if (own.txId === txId) {\n',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: BURSTS,
  },
  {
    name: 'chained-behind-a-refusal',
    breaks: 'P8',
    does: 'begins a commit behind one that has not committed and may be sent again',
    patches: [
      {
        file: ORDER,
        in: 'CommitOrder.add',
        find: 'if (followed !== null) begun(followed.ct, joined(behind, followed.needs));',
        replace: 'if (followed !== null || after !== null) begun(followed?.ct ?? 0, behind);',
      },
    ],
    seeds: { from: 8, count: 40 },
    profile: BURSTS,
  },
  {
    name: 'put-keeps-its-home',
    protocol: 'orbe',
    breaks: 'D4',
    does: 'repeats a PUT through a region that does not forward it to its home',
    patches: [
      ENDS_AS_FAILED,
      {
        file: OPERATIONS,
        in: 'requestsOf.PutExchange',
        find: 'return home !== region && home !== this.#seen.region;',
        replace: 'return false;',
      },
    ],
    seeds: { from: 314, count: 40 },
    profile: RECONNECTING,
  },
  {
    name: 'credit-leaked',
    breaks: 'credits',
    does: 'counts some answered requests as in flight forever',
    patches: [
      {
        file: CONNECTION,
        in: 'Connection.#answeredExchange',
        find: 'this.#inFlight.delete(id);',
        replace: 'if (id % 8 > 0) this.#inFlight.delete(id);',
      },
    ],
    seeds: { from: 2, count: 20 },
    profile: FEW_CREDITS,
  },
  {
    name: 'token-of-an-older-connection',
    breaks: 'tokens',
    does: 'does not send a node the state that another connection of the session has received',
    patches: [
      {
        file: CONNECTOR,
        in: 'Connector.token',
        find: 'if (connection !== this.#current) this.dispatcher',
        replace: 'if (connection === undefined) this.dispatcher',
      },
      {
        file: CONNECTOR,
        in: 'Connector.#adopt',
        find: 'if (token !== undefined && token !== connection.hello.token) {',
        replace: 'if (token !== undefined && token === null) {',
      },
    ],
    seeds: { from: 1, count: 0 },
    profile: CARRIED,
  },
  {
    name: 'serves-after-expiry',
    breaks: 'U1',
    does: 'serves a session whose credentials have expired',
    patches: [
      {
        file: 'packages/sessions/src/served/served-connection.ts',
        in: 'ServedConnection.#request',
        find: "type !== 'authenticate' && this.session.identity.isExpired",
        replace: "type === 'hello' && this.session.identity.isExpired",
      },
    ],
    seeds: { from: 1, count: 10 },
    profile: EXPIRING,
  },
  {
    name: 'session-changes-principal',
    breaks: 'U2',
    does: 'accepts credentials of another principal for a session',
    patches: [
      {
        file: 'packages/sessions/src/served/identity.ts',
        in: 'Identity.#renewed',
        find: 'if (result.id !== this.#principal.id)',
        replace: "if (result.id === '')",
      },
    ],
    seeds: { from: 1, count: 10 },
    profile: EXPIRING,
  },
];
