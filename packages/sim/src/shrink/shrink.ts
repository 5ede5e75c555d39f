/** Makes a failing plan smaller: fewer faults, sessions and transactions, a plainer world, a shorter run. */
import type {
  BoardsPlan,
  HttpCallerPlan,
  HttpRequestPlan,
  NotesPlan,
  Plan,
  ReaderPlan,
  SessionPlan,
  TransactionPlan,
} from '../plan/plan.js';
import { minimise } from './minimise.js';
import { removeNode } from './remove-node.js';

/** The budget of shrinking. */
export interface ShrinkBudget {
  /** Called before each run: false ends the shrinking with the present result. */
  goesOn(): boolean;
}

/**
 * The smallest plan found for which `fails` still holds. Each tried plan is the one before with a part removed.
 */
export function shrink(plan: Plan, fails: (plan: Plan) => boolean, budget: ShrinkBudget): Plan {
  const stillFails = (candidate: Plan): boolean => budget.goesOn() && fails(candidate);
  let best = plan;
  for (let size = Number.POSITIVE_INFINITY; sizeOf(best) < size && budget.goesOn(); ) {
    size = sizeOf(best);
    for (const pass of PASSES) best = pass(best, stillFails);
  }
  return best;
}

type Pass = (plan: Plan, fails: (plan: Plan) => boolean) => Plan;

const PASSES: readonly Pass[] = [
  fewerFaults,
  fewerSessions,
  fewerTransactions,
  fewerRequests,
  fewerReaders,
  fewerAlbums,
  fewerSteps,
  fewerNodes,
  plainerWorld,
  shorter,
];

/** A measure of the progress of a round of passes. */
const sizeOf = (plan: Plan): number => JSON.stringify(plan).length;

function fewerFaults(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  return { ...plan, faults: minimise(plan.faults, (faults) => fails({ ...plan, faults })) };
}

function fewerSessions(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  return { ...plan, sessions: minimise(plan.sessions, (sessions) => fails({ ...plan, sessions })) };
}

function fewerTransactions(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  const all = plan.sessions.flatMap((session) => session.transactions);
  const rest = minimise(all, (some) => fails(only(plan, new Set(some))));
  return only(plan, new Set(rest));
}

/** Callers over HTTP, their requests, and the bounds of the nodes' caches. */
function fewerRequests(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  const { http } = plan;
  if (http === undefined) return plan;
  const { http: _none, ...without } = plan;
  if (fails(without)) return without;
  const withCallers = (callers: readonly HttpCallerPlan[]): Plan => ({ ...plan, http: { ...http, callers } });
  let callers = minimise(http.callers, (some) => fails(withCallers(some)));
  callers.forEach((caller, i) => {
    const replaced = (requests: readonly HttpRequestPlan[]) =>
      callers.map((one, j) => (i === j ? { ...caller, requests } : one));
    callers = replaced(minimise(caller.requests, (some) => fails(withCallers(replaced(some)))));
  });
  const unbounded = { ...plan, http: { limits: {}, callers } };
  return fails(unbounded) ? unbounded : withCallers(callers);
}

/** Readers of the change feed, their stops, and the limits of the logs. */
function fewerReaders(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  if (plan.readers === undefined) return plan;
  const { readers: _none, ...without } = plan;
  if (fails(without)) return without;
  const withReaders = (readers: readonly ReaderPlan[]): Plan => ({ ...plan, readers });
  let readers = minimise(plan.readers, (some) => fails(withReaders(some)));
  readers.forEach((reader, i) => {
    const replaced = (stops: ReaderPlan['stops']) => readers.map((one, j) => (i === j ? { ...reader, stops } : one));
    readers = replaced(minimise(reader.stops, (some) => fails(withReaders(replaced(some)))));
  });
  const { changeRetentionMs: _ms, changeRetentionBytes: _bytes, ...settings } = plan.settings;
  const unlimited = { ...withReaders(readers), settings };
  return fails(unlimited) ? unlimited : withReaders(readers);
}

/** The sessions with albums, boards and notes, and their steps. */
function fewerAlbums(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  const { albums } = plan;
  if (albums === undefined) return plan;
  const { albums: _none, ...without } = plan;
  if (fails(without)) return without;
  const sessions = minimised(albums.sessions, (less) => fails({ ...plan, albums: { ...albums, sessions: less } }));
  return fewerNotes(fewerBoards({ ...plan, albums: { ...albums, sessions } }, fails), fails);
}

function fewerBoards(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  const { boards, ...alone } = plan.albums!;
  if (boards === undefined || fails({ ...plan, albums: alone })) return { ...plan, albums: alone };
  const having = (sessions: BoardsPlan['sessions']): Plan => ({
    ...plan,
    albums: { ...alone, boards: { ...boards, sessions } },
  });
  return having(minimised(boards.sessions, (less) => fails(having(less))));
}

function fewerNotes(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  const { notes, ...alone } = plan.albums!;
  if (notes === undefined || fails({ ...plan, albums: alone })) return { ...plan, albums: alone };
  const having = (sessions: NotesPlan['sessions']): Plan => ({ ...plan, albums: { ...alone, notes: { sessions } } });
  return having(minimised(notes.sessions, (less) => fails(having(less))));
}

/** Fewer sessions, and fewer steps of each. */
function minimised<T, S extends { readonly steps: readonly T[] }>(
  all: readonly S[],
  fails: (some: readonly S[]) => boolean,
): readonly S[] {
  let sessions = minimise(all, fails);
  sessions.forEach((session, i) => {
    const replaced = (steps: readonly T[]) => sessions.map((one, j) => (i === j ? { ...session, steps } : one));
    sessions = replaced(minimise(session.steps, (some) => fails(replaced(some))));
  });
  return sessions;
}

/** The plan with these transactions alone. */
function only(plan: Plan, kept: ReadonlySet<TransactionPlan>): Plan {
  return changed(plan, (session) => session.transactions.filter((transaction) => kept.has(transaction)));
}

function changed(plan: Plan, of: (session: SessionPlan) => readonly TransactionPlan[]): Plan {
  return { ...plan, sessions: plan.sessions.map((session) => ({ ...session, transactions: of(session) })) };
}

/** Steps of interactive transactions, keys of the others. */
function fewerSteps(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  let best = plan;
  for (const { name, transactions } of plan.sessions) {
    transactions.forEach((transaction, i) => {
      const replaced = (by: TransactionPlan): Plan =>
        changed(best, (s) => (s.name === name ? s.transactions.map((t, j) => (i === j ? by : t)) : s.transactions));
      best = replaced(lessOf(transaction, (less) => fails(replaced(less))));
    });
  }
  return best;
}

function lessOf(plan: TransactionPlan, fails: (less: TransactionPlan) => boolean): TransactionPlan {
  switch (plan.kind) {
    case 'interactive':
      return { ...plan, steps: minimise(plan.steps, (steps) => steps.length > 0 && fails({ ...plan, steps })) };
    case 'write':
    case 'burst':
      return { ...plan, writes: minimise(plan.writes, (writes) => writes.length > 0 && fails({ ...plan, writes })) };
    case 'read':
      return { ...plan, keys: minimise(plan.keys, (keys) => keys.length > 0 && fails({ ...plan, keys })) };
    case 'live':
      return { ...plan, scopes: minimise(plan.scopes, (scopes) => scopes.length > 0 && fails({ ...plan, scopes })) };
    default:
      return plan;
  }
}

function fewerNodes(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  let best = plan;
  for (const { nodes } of plan.cluster.regions) {
    for (const { id } of nodes) {
      const candidate = removeNode(best, id);
      if (candidate !== undefined && fails(candidate)) best = candidate;
    }
  }
  return best;
}

/** No jitter, right clocks, fast disks: without everything that the failure does not need. */
function plainerWorld(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  const { environment } = plan;
  const plainer: Partial<Plan['environment']>[] = [
    { jitter: 0 },
    { coldReads: 0 },
    { encoded: false },
    { founded: true },
    { lateFrames: false },
    { lateHorizons: false },
    { slowLinks: [] },
    { clocks: environment.clocks.map(() => ({ skewMs: 0, driftPpm: 0 })) },
    { syncMs: environment.syncMs.map(() => 1) },
    { noticeMs: 1 },
    { reconnectMs: [5, 10] },
  ];
  let best = plan;
  for (const part of plainer) {
    const candidate = { ...best, environment: { ...best.environment, ...part } };
    if (JSON.stringify(candidate) !== JSON.stringify(best) && fails(candidate)) best = candidate;
  }
  return best;
}

function shorter(plan: Plan, fails: (plan: Plan) => boolean): Plan {
  let best = plan;
  for (let safetyMs = Math.floor(plan.safetyMs / 2); safetyMs >= 50; safetyMs = Math.floor(safetyMs / 2)) {
    const candidate = { ...best, safetyMs };
    if (!fails(candidate)) break;
    best = candidate;
  }
  return best;
}
