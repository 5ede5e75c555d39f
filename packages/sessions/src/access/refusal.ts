/**
 * Refusals of access rules. They name the operation with its key or range, which the caller has asked for, the rule,
 * and a role or claim that the caller lacks for it: nothing of any data, not even whether a document is there (AR5).
 */
import { IsochronError, type Principal } from '@isochron/core';
import type { Judge, Question } from './judge.js';
import type { Policy, Verb, Verdict } from './policy.js';

/** Operations as refusals name them: create and update alike, since the document that is there makes the difference. */
const NAMES: Readonly<Record<Verb, string>> = {
  get: 'get',
  list: 'list',
  create: 'write',
  update: 'write',
  delete: 'delete',
};
/** Longest part of a key that a refusal repeats, in characters. */
const MAX_PLACE = 200;

/** An operation that is refused. */
export interface RefusedOperation {
  readonly verb: Verb;
  /** The key, or the beginning of all keys. */
  readonly place: string;
  /** The number of the scope of a live query. */
  readonly watch?: number | undefined;
  /** The rule that refuses; null without one. */
  readonly rule: string | null;
  /** For the node's log alone. */
  readonly fault?: string | undefined;
}

export function denied(policy: Policy, principal: Principal, operation: RefusedOperation): IsochronError {
  const { verb, rule, fault } = operation;
  const who = rule === null ? 'No access rule allows' : `The access rule ${rule} does not allow`;
  const lacks = policy.lackedBy(principal, verb, rule);
  const why = lacks === undefined ? '' : `: it lacks ${lacks}`;
  const message = `${who} this principal to ${NAMES[verb]} ${placeOf(operation)}${why}.`;
  return new IsochronError('PERMISSION_DENIED', message, fault === undefined ? {} : { cause: new Error(fault) });
}

/** The refusal of a live query over a range that a rule filters by other documents, or by the time. */
export const unwatchable = (rule: string, place: string, watch: number): IsochronError =>
  new IsochronError(
    'PERMISSION_DENIED',
    `The access rule ${rule} filters ${placeOf({ place, watch })} by other documents, or by the time: such lists can be read, and not watched.`,
  );

function placeOf({ place, watch }: Pick<RefusedOperation, 'place' | 'watch'>): string {
  const shown = place.length > MAX_PLACE ? `${place.slice(0, MAX_PLACE)}…` : place;
  return watch === undefined ? shown : `${shown} (watch ${watch})`;
}

/** The first refusal among verdicts on questions, as an error. */
export function refusalIn(
  { policy, principal }: Judge,
  questions: readonly Question[],
  verdicts: readonly Verdict[],
): IsochronError | undefined {
  const i = verdicts.findIndex(({ kind }) => kind === 'refused');
  const verdict = verdicts[i];
  if (verdict?.kind !== 'refused') return undefined;
  const { verb, key, updates = false } = questions[i]!;
  const isEither = verb === 'create' || verb === 'update' || updates;
  const rule = isEither ? policy.namedByRefusal(key) : verdict.rule;
  return denied(policy, principal, { verb: isEither ? 'update' : verb, place: key, rule, fault: verdict.fault });
}

/** The refusal of a range, or of all keys below a place. */
export const listDenied = ({ policy, principal }: Judge, place: string, verdict: Verdict): IsochronError =>
  denied(policy, principal, { verb: 'list', place, rule: verdict.kind === 'refused' ? verdict.rule : null });

/** The refusal in a snapshot without own writes that may permit the operation (AR3). */
export const notYetVisible = (): IsochronError =>
  new IsochronError('SESSION_GAP', 'Own writes that may permit this are not stable yet; try again.');

export const permissionMoved = (): IsochronError =>
  new IsochronError(
    'PERMISSION_DENIED',
    'What this principal may read has changed in this range of time: read the data anew, and follow from that snapshot.',
  );
