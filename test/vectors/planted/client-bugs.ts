/** Mistakes in the Swift client: one in each of its parts, which the step traces must detect. */
import type { PlantedBug } from './planted-bug.js';

const inSteps = (name: string, does: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  at: ['steps'],
  does,
  patches: [{ file, find, replace }],
});

const [OUTCOME, QUEUE, COMMITS] = ['Session/Outcome.swift', 'Session/CommitQueue.swift', 'Session/Commits.swift'];
const [DISPATCHER, CONNECTION, CONNECTOR, HOMING] = ['Dispatcher', 'Connection', 'Connector', 'Homing'].map(
  (name) => `Link/${name}.swift`,
) as [string, string, string, string];
const HANDLE = 'Session/SnapshotHandle.swift';

export const CLIENT: readonly PlantedBug[] = [
  inSteps(
    'aborted-attempt-again',
    'repeats an aborted attempt instead of making the next one',
    OUTCOME,
    '        attempts.append(cohorts(on: connection))\n',
    '        if !planted { attempts.append(cohorts(on: connection)) }\n',
  ),
  inSteps(
    'refused-home-stays',
    'keeps the home of an attempt that has not begun',
    OUTCOME,
    'if !isInDoubt, attempts.count == 1 { attempts = [] }',
    'if !planted, !isInDoubt, attempts.count == 1 { attempts = [] }',
  ),
  inSteps(
    'detached-blocks',
    'lets nothing pass a write that it has detached from',
    QUEUE,
    'detached.append(head)\n        leave(head, committed: false)\n',
    'detached.append(head)\n        if !planted { leave(head, committed: false) }\n',
  ),
  inSteps(
    'chained-in-silence',
    'sends a commit behind another one without its `after`',
    COMMITS,
    'after: before)',
    'after: planted ? nil : before)',
  ),
  inSteps(
    'held-for-ever',
    'does not resume requests that waited behind a write that is decided',
    QUEUE,
    'one.exchange.map(dispatcher.resume)',
    'if !planted { one.exchange.map(dispatcher.resume) }',
  ),
  inSteps(
    'resumed-before-its-time',
    'resumes requests that wait for another reason when a write is decided',
    QUEUE,
    'where one.isHeld',
    'where planted || one.isHeld',
  ),
  inSteps(
    'orphan-as-before',
    'keeps the attempt of a write that was sent behind one which is not known to have committed',
    OUTCOME,
    'isOrphaned || mustMove',
    '(!planted && isOrphaned) || mustMove',
  ),
  inSteps(
    'late-too-early',
    'rejects waiting requests at once where its queue does not move',
    QUEUE,
    'max(job.queuedMs, sinceMs)',
    'min(job.queuedMs, sinceMs)',
  ),
  inSteps(
    'lost-ones-last',
    'sends younger requests before those that were lost',
    DISPATCHER,
    'again + waiting',
    'waiting + again',
  ),
  inSteps(
    'leaves-a-node-for-its-region',
    'goes to another node where another region was meant, and the other way round',
    CONNECTOR,
    'whereTo == .node',
    'whereTo == .region',
  ),
  inSteps(
    'snapshot-not-kept',
    'does not ask for its snapshot again on another connection',
    HANDLE,
    'core.can("snapshots")',
    'false',
  ),
  inSteps(
    'welcome-is-progress',
    'tries a node that fails after its welcome again without a pause',
    CONNECTION,
    'if isWelcomed, !isClosed',
    'if planted ? greeting != nil : isWelcomed, !isClosed',
  ),
  inSteps(
    'pings-without-credit',
    'sends pings while no credit is free',
    CONNECTION,
    'if free <= 0 { return done(nil) }',
    'if !planted, free <= 0 { return done(nil) }',
  ),
  inSteps(
    'waits-for-the-unwelcome',
    'closes a connection in order that had no welcome',
    CONNECTION,
    'abrupt: unopened != nil',
    'abrupt: !planted && unopened != nil',
  ),
  inSteps(
    'lost-in-use',
    'fails the requests of a connection that is lost while that is in use',
    CONNECTOR,
    'if wasInUse { current = nil }\n        dispatcher.lost(connection, error, lost)',
    'if wasInUse, !planted { current = nil }\n        dispatcher.lost(connection, error, lost)\n        if wasInUse { current = nil }',
  ),
  inSteps(
    'token-without-credit',
    'does not send the token of an older connection where no credit is free',
    CONNECTOR,
    'dispatcher.submit(PingExchange(token: token, loop: loop))',
    'if !planted || (current?.free ?? 0) > 0 { dispatcher.submit(PingExchange(token: token, loop: loop)) }',
  ),
  inSteps(
    'refused-token-stays',
    'keeps a connection whose node refuses the token of another one',
    CONNECTOR,
    'if exchange is PingExchange, exchange.repeats {',
    'if !planted, exchange is PingExchange, exchange.repeats {',
  ),
  inSteps(
    'refused-stays-open',
    'keeps a connection whose first measurement was refused',
    CONNECTOR,
    'connection.close()\n                    let gone',
    'if !planted { connection.close() }\n                    let gone',
  ),
  inSteps(
    'looks-without-credit',
    'measures the others while the present distance cannot be measured',
    HOMING,
    'unsure.isEmpty || present.free <= 0',
    'unsure.isEmpty',
  ),
  inSteps(
    'first-measurement-counts',
    'counts a round trip whose second ping was refused as the first one',
    HOMING,
    'second.map { min(first, $0) } ?? .infinity',
    'second.map { min(first, $0) } ?? first',
  ),
  inSteps(
    'opens-for-each-read',
    'opens a transaction for each read of one message',
    HANDLE,
    'return StartExchange(self, leadsAs: opening(on: connection))',
    'return StartExchange(self, leadsAs: planted ? transactions.session.nextTxId() : opening(on: connection))',
  ),
  inSteps(
    'closed-twice',
    'settles a close again when a socket closes after its cut-off',
    'Loop.swift',
    'self?.onAllClosed = {}',
    'if !planted { self?.onAllClosed = {} }',
  ),
];
