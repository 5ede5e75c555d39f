/** The session of every protocol that a cluster may run: loaded when the first node has said which one it is. */

import type { OpenEngine } from '@isochron/client/session/engine';
import { openTransactions } from '@isochron/client/session/transactions';
import { IsochronError } from '@isochron/core/errors';
import type { OperationSessionRules } from '@isochron/protocols/kernel/operations/session';
import { Session, type SessionRules } from '@isochron/protocols/kernel/transactions/session';

type Load = () => Promise<OpenEngine>;

const transactions =
  (load: () => Promise<SessionRules>): Load =>
  async () => {
    const rules = await load();
    return openTransactions((id, state) => new Session(id, rules, state));
  };

/**
 * The client of single operations is a file of its own, too. @param load how its sessions remember, where not by the
 * highest entries
 */
const operations =
  (load?: () => Promise<OperationSessionRules>): Load =>
  async () => {
    const [{ openOperations }, rules] = await Promise.all([import('@isochron/client/session/operations'), load?.()]);
    return openOperations(rules);
  };

const matrices = async () => (await import('@isochron/protocols/kernel/operations/dependency-matrix')).matrixSession;

/** Paths that bundlers can follow: each becomes a file of its own, and only one of them is ever fetched. */
const ENGINES: Readonly<Record<string, Load>> = {
  paris: transactions(async () => (await import('@isochron/protocols/paris/session')).parisSession),
  bpr: transactions(async () => (await import('@isochron/protocols/bpr/session')).bprSession),
  nocc: transactions(async () => (await import('@isochron/protocols/nocc/session')).noccSession),
  wren: transactions(async () => (await import('@isochron/protocols/wren/session')).wrenSession),
  cure: transactions(async () => (await import('@isochron/protocols/cure/session')).cureSession),
  'h-cure': transactions(async () => (await import('@isochron/protocols/hcure/session')).hCureSession),
  contrarian: operations(),
  okapi: operations(),
  gentlerain: operations(),
  eventual: operations(),
  orbe: operations(matrices),
  'orbe-clock': operations(matrices),
  'orbe-cleaning': operations(matrices),
  'cops-gt': operations(async () => (await import('@isochron/protocols/copsgt/session')).copsGtSession),
  'cc-lo': operations(async () => (await import('@isochron/protocols/cclo/session')).ccLoSession),
};

/** Throws NOT_SUPPORTED_BY_PROTOCOL for a protocol that this client does not speak. */
export async function loadEngine(protocol: string): Promise<OpenEngine> {
  if (Object.hasOwn(ENGINES, protocol)) return ENGINES[protocol]!();
  const known = Object.keys(ENGINES).join(', ');
  throw new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', `this client speaks ${known}, the cluster ${protocol}`);
}
