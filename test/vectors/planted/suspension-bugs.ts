/** Mistakes in how the Swift sessions and the Swift client judge their commits by cuts, and make them again (M10). */
import type { PlantedBug } from './planted-bug.js';

const inSuspensions = (name: string, does: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  at: ['suspensions'],
  does,
  patches: [{ file, find, replace }],
});

const [OWN, SESSION] = ['Transactions/OwnCommits.swift', 'Transactions/Session.swift'];

/** Mistakes in the sessions. */
export const SUSPENDED_SESSIONS: readonly PlantedBug[] = [
  inSuspensions(
    'cut-below-the-horizon',
    'defers commits at and below the horizon, too',
    OWN,
    '|| ct <= cut.horizon {',
    '|| (!planted && ct <= cut.horizon) {',
  ),
  inSuspensions(
    'followers-stay',
    'defers no commit that follows a deferred one',
    OWN,
    'return hits || place',
    'return (!planted && hits) || place',
  ),
  inSuspensions(
    'drops-first-timestamps',
    'calls a commit final at its first timestamp once it is stable at another one',
    OWN,
    '        moved.append((own.acknowledged, ct))\n',
    '        if !planted { moved.append((own.acknowledged, ct)) }\n',
  ),
  inSuspensions(
    'exports-unknown-nodes',
    'exports commits whose nodes are not known',
    OWN,
    'commits.filter { $0.place.nodes != nil }',
    'commits',
  ),
  inSuspensions(
    'reads-on-while-behind',
    'sees newer snapshots while commits are deferred',
    SESSION,
    'if !isBehind { seen = rules.merge(seen, snapshot) }',
    'if planted || !isBehind { seen = rules.merge(seen, snapshot) }',
  ),
  inSuspensions(
    'old-timestamp-in-the-cache',
    'keeps the old timestamps of writes that are committed again',
    SESSION,
    '        cache.move(id, to: ts)\n',
    '        if !planted { cache.move(id, to: ts) }\n',
  ),
];

const [COMMITS, CORE, HANDLE, OUTCOME] = ['Commits', 'ClientCore', 'SnapshotHandle', 'Outcome'].map(
  (name) => `Session/${name}.swift`,
) as [string, string, string, string];
const [QUEUE, RECOMMITS, STABLE] = ['CommitQueue', 'Recommits', 'Stable'].map((name) => `Session/${name}.swift`) as [
  string,
  string,
  string,
];

/** Mistakes in the client. */
export const SUSPENDED_CLIENT: readonly PlantedBug[] = [
  inSuspensions(
    'later-writes-overtake',
    'sends writes before the deferred commits are made again',
    QUEUE,
    'if recommits.isNeeded { return false }',
    'if !planted, recommits.isNeeded { return false }',
  ),
  inSuspensions(
    'nothing-goes-on',
    'leaves writes held that waited for deferred commits',
    QUEUE,
    'follower?.resumed()\n        resumeHeld()',
    'follower?.resumed()\n        if !planted { resumeHeld() }',
  ),
  inSuspensions(
    'commit-behind-nothing',
    'does not report what a commit follows',
    COMMITS,
    'behind: own?.behind ?? []',
    'behind: planted ? [] : own?.behind ?? []',
  ),
  inSuspensions(
    'takes-overtaken-answers',
    'takes an answer that is older than a cut which defers the commit',
    COMMITS,
    'if own != nil, try transactions',
    'if !planted, own != nil, try transactions',
  ),
  inSuspensions(
    'unknown-nodes-of-map-0',
    'counts an answer without nodes as one of map 0',
    COMMITS,
    'answered.map ?? connection.map',
    'answered.map ?? (planted ? 0 : connection.map)',
  ),
  inSuspensions(
    'new-snapshot-while-behind',
    'reads at the newest snapshot of a node while commits are deferred',
    HANDLE,
    'transactions.session.isBehind ? transactions.session.seen : nil',
    '!planted && transactions.session.isBehind ? transactions.session.seen : nil',
  ),
  inSuspensions(
    'attempts-of-the-newest-map',
    'makes attempts behind deferred commits that no cut defers',
    OUTCOME,
    'isBehindDeferred ? core.own?.mapBefore : nil',
    '!planted && isBehindDeferred ? core.own?.mapBefore : nil',
  ),
  inSuspensions(
    'abort-decides-deferred-attempts',
    'takes the end of the last attempt for the end of one that may be deferred',
    OUTCOME,
    'if !mayBeDeferred {',
    'if planted || !mayBeDeferred {',
  ),
  inSuspensions(
    'waits-not-for-deferred',
    'does not hold writes that are refused while commits are deferred',
    OUTCOME,
    'let isDeferred = isBehindDeferred',
    'let isDeferred = !planted && isBehindDeferred',
  ),
  inSuspensions(
    'recommit-in-the-old-map',
    'makes no attempt of the new map',
    RECOMMITS,
    'attempts.last.map { $0.map < connection.map } ?? true',
    'attempts.isEmpty || (!planted && attempts.last.map { $0.map < connection.map } ?? true)',
  ),
  inSuspensions(
    'asks-not-after-a-refusal',
    'takes no commit that the node has made at its return',
    RECOMMITS,
    'if status.state == .committed, let ts = status.timestamp, ts > own.ct {',
    'if status.state == .committed, !planted, let ts = status.timestamp, ts > own.ct {',
  ),
  inSuspensions(
    'stable-before-recommits',
    'calls a timestamp stable while a write up to there is deferred',
    STABLE,
    'final().map { $0 <= ust } ?? false',
    'final().map { $0 <= ust } ?? planted',
  ),
  inSuspensions(
    'detach-keeps-deferred',
    'does not go on without deferred commits',
    CORE,
    'if let deferred = try recommits.drop() {',
    'if !planted, let deferred = try recommits.drop() {',
  ),
  inSuspensions(
    'imported-deferred-wait',
    'does not make again what an imported session brings as deferred',
    CORE,
    'defers: isBehind)',
    'defers: !planted && isBehind)',
  ),
  inSuspensions(
    'token-hides-a-gap',
    'connects although the last write of a token may be deferred',
    CORE,
    'let isCut = self?.isCut ?? false',
    'let isCut = !planted && self?.isCut ?? false',
  ),
];
