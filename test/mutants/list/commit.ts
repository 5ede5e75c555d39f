/** Two-phase commit, retries, outcomes: D1–D5, P6, P8, P11. */
import type { Mutant, Profile } from '../mutant.js';
import { COHORT, COMMITS, ONE_PHASE, OUTCOMES, PREPARED_QUEUE, RESOLVER } from './files.js';

/** Prepares that arrive too late, commits that change their home: many attempts of each transaction. */
const MANY_ATTEMPTS: Profile = {
  settings: { resolveAfterMs: 50, commitTimeoutMs: 500 },
  environment: { requestTimeoutMs: 700 },
  faults: {
    kinds: ['cutLink', 'isolateNode', 'isolateRegion', 'slowLink', 'crashAt', 'stalledDisk'],
    count: 25,
    untilMs: 5_000,
  },
};

/** A compromised node takes part in the transactions of others. */
const OUTSIDERS: Profile = { faults: { kinds: ['outsider'], count: 12, untilMs: 3_000 } };

/** A request over one link overtakes earlier ones over another link. */
const UNEVEN_LINKS: Profile = {
  settings: { resolveAfterMs: 50, commitTimeoutMs: 500 },
  environment: { requestTimeoutMs: 700, jitter: 1 },
  faults: { kinds: ['slowLink', 'slowLink', 'slowLink', 'cutLink'], count: 30, untilMs: 5_000 },
};

/** Outcomes are dropped after a moment, while links are down and clocks jump. */
const SHORT_MEMORY: Profile = {
  settings: { outcomeRetentionMs: 100, resolveAfterMs: 300 },
  faults: { kinds: ['cutLink', 'isolateNode', 'crashAt', 'clockJump', 'clientDisconnect'], count: 25, untilMs: 3_000 },
};

export const COMMIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'hwt-ignored',
    breaks: 'P6',
    does: "ignores the session's last write in its proposal",
    patches: [
      {
        file: COMMITS,
        in: 'Commits.#begin',
        find: 'const ht = Math.max(this.rules.newest(snapshot), hwt, ...(behind ?? []).map(({ ct }) => ct ?? 0));',
        replace: 'const ht = snapshot.ts;',
      },
    ],
    seeds: { from: 116, count: 300 },
  },
  {
    name: 'prepare-answered-early',
    breaks: 'D1',
    does: 'answers a prepare before it is on disk',
    patches: [
      {
        file: COHORT,
        in: 'Cohort.#prepare',
        find: "out.sendAfterPersist(from, { type: 'PrepareResp'",
        replace: "out.send(from, { type: 'PrepareResp'",
      },
    ],
    seeds: { from: 1, count: 10 },
  },
  {
    name: 'client-answered-early',
    breaks: 'D3',
    does: 'decides, and answers the client, while one cohort has not prepared yet',
    patches: [
      {
        file: 'packages/protocols/src/kernel/transactions/two-phase-commit.ts',
        in: 'Votes.decided',
        find: 'return this.#waiting.size === 0 ? this.#maxPt : undefined;',
        replace: 'return this.#waiting.size <= 1 && this.#maxPt > 0 ? this.#maxPt : undefined;',
      },
    ],
    seeds: { from: 1, count: 10 },
  },
  {
    name: 'no-tombstone',
    breaks: 'D2',
    does: 'reports that it never prepared a transaction without writing a tombstone, so that a late prepare is accepted',
    patches: [
      {
        file: RESOLVER,
        in: 'Resolver.#refuse',
        find: 'this.slices.outcomes.tombstone(txId, attempt, now, out);',
        replace: 'return;',
      },
    ],
    seeds: { from: 13, count: 200 },
  },
  {
    name: 'tombstone-forgiven',
    breaks: 'D2',
    does: 'prepares an attempt although it has its tombstone',
    patches: [
      {
        file: COHORT,
        in: 'Cohort.#answerKnown',
        find: 'if (known.attempt < attempt) return false;',
        replace: 'if (known.attempt <= attempt) return false;',
      },
    ],
    seeds: { from: 13, count: 200 },
  },
  {
    name: 'aborted-without-tombstone',
    breaks: 'D2, D4',
    does: 'holds one attempt prepared and reports *aborted* for the next one without a tombstone for it',
    patches: [
      {
        file: RESOLVER,
        in: 'Resolver.onResolveReq',
        find: "} else if (known?.state !== 'prepared' || this.#endsEarlier(known.prepared, attempt, now, from, out)) {\n      this.#refuse(identity, known, now, out);",
        replace: "} else {\n      if (known?.state !== 'prepared') this.#refuse(identity, known, now, out);",
      },
    ],
    seeds: { from: 187, count: 200 },
    profile: UNEVEN_LINKS,
  },
  {
    name: 'one-attempt-back',
    breaks: 'D4',
    does: 'asks only about the last attempt before it begins the next one',
    patches: [
      {
        file: COMMITS,
        in: 'Commits.#begin',
        find: 'attempts.slice(0, -1).filter',
        replace: 'attempts.slice(0, -1).slice(-1).filter',
      },
    ],
    seeds: { from: 212, count: 200 },
    profile: MANY_ATTEMPTS,
  },
  {
    name: 'no-attempt-back',
    breaks: 'D4',
    does: 'begins the next attempt at once, without the outcome of the previous one',
    patches: [
      {
        file: COMMITS,
        in: 'Commits.#begin',
        find: 'attempts.slice(0, -1).filter',
        replace: 'attempts.slice(0, 0).filter',
      },
    ],
    seeds: { from: 2, count: 200 },
    profile: MANY_ATTEMPTS,
  },
  {
    name: 'other-list-accepted',
    breaks: 'D4',
    does: 'takes a retry with another list of cohorts for the same commit',
    patches: [
      {
        file: COHORT,
        in: 'Cohort.#answerKnown',
        find: '} else if (stored.attempt === attempt && !sameCohorts(stored.digest, request.identity, this.state.maps)) {',
        replace: '} else if (stored.attempt < 0) {',
      },
    ],
    seeds: { from: 1, count: 0 },
    // A client that sends other writes under the same id: a plan does not define a right answer to it.
    script: 'duplicate-commit-with-another-list.txt',
  },
  {
    name: 'outcome-dropped-early',
    breaks: 'D5',
    does: 'drops outcomes before UST has passed them',
    patches: [
      {
        file: OUTCOMES,
        in: 'Outcomes.discard',
        find: 'Math.min(stable.aggregated, packWall(',
        replace: 'Math.max(stable.aggregated, packWall(',
      },
      {
        file: OUTCOMES,
        in: 'Outcomes.discard',
        find: 'Math.min(kept, maps.confirmed(away, stable.aggregated))',
        replace: 'kept',
      },
    ],
    seeds: { from: 7, count: 200 },
    profile: SHORT_MEMORY,
  },
  {
    name: 'forgotten-prepared-again',
    breaks: 'D5',
    does: 'prepares a transaction whose outcome may have been dropped',
    patches: [
      {
        file: OUTCOMES,
        in: 'Outcomes.rememberedFrom',
        find: 'return Math.max(this.#forgottenUpTo, this.state.membership.incarnation);',
        replace: 'return this.state.membership.incarnation;',
      },
    ],
    seeds: { from: 4, count: 200 },
    profile: SHORT_MEMORY,
  },
  {
    name: 'one-phase-in-two-batches',
    breaks: 'P11, D1',
    does: 'commits one cohort of a node at once, and the others when the first is on disk',
    patches: [
      {
        file: ONE_PHASE,
        in: 'OnePhase.counters',
        find: '  readonly counters = { onePhaseCommits: 0 };\n',
        replace:
          '  readonly counters = { onePhaseCommits: 0 };\n  readonly rest: ((out: Effects<TransactionMessage>) => void)[] = [];\n',
      },
      {
        file: ONE_PHASE,
        in: 'OnePhase.commit',
        find: 'for (const { cohort, request } of slices) cohort.commitAtOnce(request, ct, this.state.node, out);',
        replace:
          'first.cohort.commitAtOnce(first.request, ct, this.state.node, out);\n' +
          '    for (const { cohort, request } of slices.slice(1))\n' +
          '      this.rest.push((later) => cohort.commitAtOnce(request, ct, this.state.node, later));',
      },
      {
        file: COMMITS,
        in: 'Commits.persisted',
        find: '    let durable = 0;\n',
        replace: '    for (const commit of this.onePhase.rest.splice(0)) commit(out);\n    let durable = 0;\n',
      },
    ],
    seeds: { from: 1, count: 20 },
  },
  {
    name: 'one-phase-runs-again',
    breaks: 'P11, D4',
    does: 'commits in one phase whatever records its cohorts have of the transaction',
    patches: [
      {
        file: COHORT,
        in: 'Cohort.takesAtOnce',
        find: '      this.slices.known(txId, request.sentAfter) === undefined &&\n',
        replace: '',
      },
    ],
    seeds: { from: 2, count: 100 },
  },
  {
    name: 'one-phase-answered-early',
    breaks: 'P11, D3',
    does: 'answers a one-phase commit before it is on disk',
    patches: [
      {
        file: COMMITS,
        in: 'Commits.#commitAtOnce',
        find: '    this.#atOnce.push(pending);\n',
        replace: '    this.#decide(pending, ct, out);\n',
      },
    ],
    seeds: { from: 1, count: 20 },
  },
  {
    name: 'one-phase-below-what-was-seen',
    // Under Cure clocks do not follow one another.
    protocol: 'cure',
    breaks: 'P11, P6',
    does: 'ignores what the session has seen in a one-phase commit',
    patches: [
      {
        file: ONE_PHASE,
        in: 'OnePhase.commit',
        find: 'clock.propose(now, Math.max(ht, ust, sentAfter), out)',
        replace: 'clock.propose(now, 0, out)',
      },
    ],
    seeds: { from: 7, count: 100 },
  },
  {
    name: 'one-phase-over-a-tombstone',
    breaks: 'P11, D2',
    does: 'commits in one phase an attempt that a cohort has durably aborted',
    patches: [
      {
        file: COHORT,
        in: 'Cohort.takesAtOnce',
        find: '      this.slices.known(txId, request.sentAfter) === undefined &&\n',
        replace: "      (this.slices.known(txId, request.sentAfter)?.state ?? 'aborted') === 'aborted' &&\n",
      },
    ],
    seeds: { from: 44, count: 200 },
    profile: MANY_ATTEMPTS,
  },
  {
    name: 'decisions-of-anyone',
    breaks: 'D12, D2',
    does: 'takes the decision about a prepare from any node',
    patches: [
      {
        file: PREPARED_QUEUE,
        in: 'isCoordinator',
        find: 'record.coordinator === node || repeatedBy?.has(node) === true',
        replace: 'record.coordinator === node || repeatedBy?.has(node) !== undefined || node !== undefined',
      },
    ],
    seeds: { from: 1, count: 100 },
    profile: OUTSIDERS,
  },
  {
    name: 'votes-of-anyone',
    breaks: 'D12, D2',
    does: 'counts answers of nodes that hold no cohort of the commit',
    patches: [
      {
        file: COMMITS,
        in: 'Commits.#isCohort',
        find: 'this.addresses.isCohort(from.node, partition, attempt)',
        replace: 'attempt.cohorts.includes(partition)',
      },
    ],
    seeds: { from: 1, count: 100 },
    profile: OUTSIDERS,
  },
  {
    name: 'later-attempts-of-anyone',
    breaks: 'D12, D4',
    does: 'aborts a prepare because any node reports that a later attempt has begun',
    patches: [
      {
        file: RESOLVER,
        in: 'Resolver.giveUp',
        find: 'if (isCoordinator(prepared, from)) this.slices.abort(prepared, now, out);\n    else this.#resolve(prepared, now, out);\n    return isCoordinator(prepared, from);',
        replace: 'this.slices.abort(prepared, now, out);\n    return isCoordinator(prepared, from) || true;',
      },
    ],
    seeds: { from: 1, count: 100 },
    profile: OUTSIDERS,
  },
];
