/** Mistakes in the Swift client: in each of its parts, one that the step traces must notice. */
import type { PlantedBug } from './bugs.js';

const inSteps = (name: string, does: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  at: ['steps'],
  does,
  patches: [{ file, find, replace }],
});

const [OUTCOME, QUEUE] = ['Session/Outcome.swift', 'Session/CommitQueue.swift'];
const [DISPATCHER, CONNECTOR, HANDLE] = [
  'Link/Dispatcher.swift',
  'Link/Connector.swift',
  'Session/SnapshotHandle.swift',
];

export const CLIENT: readonly PlantedBug[] = [
  inSteps(
    'aborted-attempt-again',
    'repeats an aborted attempt instead of making the next one',
    OUTCOME,
    '        attempts.append(connection.cohorts)\n',
    '',
  ),
  inSteps(
    'refused-home-stays',
    'keeps the home of an attempt that has not begun',
    OUTCOME,
    'if !inDoubt, attempts.count == 1 { attempts = [] }',
    '',
  ),
  inSteps(
    'detached-blocks',
    'lets nothing pass a write that it has detached from',
    QUEUE,
    '        detached.append(head)\n        free()\n',
    '        detached.append(head)\n',
  ),
  inSteps(
    'late-too-early',
    'rejects what waits at once where its queue does not move',
    QUEUE,
    'max($0.queuedMs, sinceMs) + requestTimeoutMs',
    'min($0.queuedMs, sinceMs) + requestTimeoutMs',
  ),
  inSteps(
    'lost-ones-last',
    'sends younger requests before those that were lost',
    DISPATCHER,
    'waiting = again + waiting',
    'waiting = waiting + again',
  ),
  inSteps(
    'leaves-a-node-for-its-region',
    'goes to another node where another region was meant, and the other way round',
    CONNECTOR,
    'whereTo == .node ? []',
    'whereTo == .region ? []',
  ),
  inSteps(
    'snapshot-not-kept',
    'does not ask for its snapshot again on another connection',
    HANDLE,
    'if core.can("snapshots") { at = snapshot }',
    '',
  ),
];
