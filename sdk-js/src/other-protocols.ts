/**
 * The protocols beside PaRiS. It takes what it needs of the core instead of importing it, so that bundlers keep the two
 * apart: few clusters run one of them.
 */

import type { OpenEngine } from '@isochron/client/session/engine';
import type { OperationSessionRules } from '@isochron/protocols/kernel/operations/session';
import type { SessionRules } from '@isochron/protocols/kernel/transactions/session';

/** Makes the engine of a protocol with transactions. */
type Transactions = (rules: SessionRules) => OpenEngine;
type Load = (transactions: Transactions) => Promise<OpenEngine>;

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
export const ENGINES: Readonly<Record<string, Load>> = {
  bpr: async (transactions) => transactions((await import('@isochron/protocols/bpr/session')).bprSession),
  nocc: async (transactions) => transactions((await import('@isochron/protocols/nocc/session')).noccSession),
  wren: async (transactions) => transactions((await import('@isochron/protocols/wren/session')).wrenSession),
  cure: async (transactions) => transactions((await import('@isochron/protocols/cure/session')).cureSession),
  'h-cure': async (transactions) => transactions((await import('@isochron/protocols/hcure/session')).hCureSession),
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

/** The engine of a protocol by its name; undefined where it is none of them. */
export async function loadOther(protocol: string, transactions: Transactions): Promise<OpenEngine | undefined> {
  return Object.hasOwn(ENGINES, protocol) ? ENGINES[protocol]!(transactions) : undefined;
}
