/** A node's data folder: opened when its data may be used, set aside when not (D10, D14). */
import { access, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecoveredState } from '@isochron/core';
import { lacksData } from '@isochron/protocols';
import { type Placement, ReopenableStore, verifyPlacement } from '@isochron/storage';
import type { Logger } from 'pino';
import {
  clearQuarantine,
  dependOnTheMachine,
  isDamage,
  lostWithTheMachine,
  type Quarantine,
  quarantineOf,
} from './quarantine.js';

export interface DataFolderOptions {
  readonly dataDir: string;
  readonly placement: Placement;
  readonly durability: 'synced' | 'memory';
  readonly cacheBytes: number;
  /** A partition of this node has no other replica: an operator must look at damage. */
  readonly soleCopy: boolean;
  readonly logger: Logger;
}

/** The data that a node starts with. */
export interface OpenedData {
  readonly storeId: string;
  readonly store: ReopenableStore;
  readonly recovered: RecoveredState;
  /** Data of this node were set aside, now or earlier: it is not a new node. */
  readonly setAside: boolean;
  /** Damage that was found earlier: the node takes no new work until it is rebuilt. */
  readonly retiring: string | undefined;
}

/** @throws IsochronError STORAGE_FAILED when the folder cannot be used, STORAGE_FORMAT, PLACEMENT_MISMATCH */
export async function openDataFolder(options: DataFolderOptions): Promise<OpenedData> {
  const { dataDir, placement, durability, logger } = options;
  const { storeId } = await verifyPlacement(dataDir, placement);
  const verdict = await verdictOf(dataDir);
  if (verdict?.step === 'rebuild') await setAside(dataDir, verdict.reason, logger);
  let opened = await openOrSetAside(options);
  if (lacksData(opened.recovered) && opened.recovered.meta.size > 0) {
    // Half a copy, of an interrupted rebuild: versions that its source has collected since would reappear.
    await opened.store.close();
    await rm(join(dataDir, STORE), { recursive: true });
    clearQuarantine(dataDir);
    opened = { ...(await openStore(options)), setAside: opened.setAside };
  }
  if (durability === 'memory') await dependOnTheMachine(dataDir);
  const had = opened.setAside || (await exists(asideOf(dataDir, 1)));
  const retiring = verdict?.step === 'retire' && !lacksData(opened.recovered) ? verdict.reason : undefined;
  return { storeId, ...opened, setAside: had, retiring };
}

const STORE = 'store';
/** Data that are set aside have this name and a number; they do not count towards the quota. */
export const ASIDE = 'store.quarantined-';

async function verdictOf(dataDir: string): Promise<Quarantine | undefined> {
  if (await lostWithTheMachine(dataDir)) {
    const reason = 'the machine went down while writes were only in its memory (durability: memory)';
    return { step: 'rebuild', reason };
  }
  return quarantineOf(dataDir);
}

type Opened = Pick<OpenedData, 'store' | 'recovered' | 'setAside'>;

/** Opens the store. A store that cannot be recovered for damage is set aside at once, unless it has an only copy. */
async function openOrSetAside(options: DataFolderOptions): Promise<Opened> {
  try {
    return { ...(await openStore(options)), setAside: false };
  } catch (error) {
    if (!isDamage(error) || options.soleCopy) throw error;
    await setAside(options.dataDir, error.message, options.logger);
    return { ...(await openStore(options)), setAside: true };
  }
}

async function openStore({ dataDir, durability, cacheBytes }: DataFolderOptions) {
  const store = await ReopenableStore.open({ location: join(dataDir, STORE), durability, cacheBytes });
  try {
    return { store, recovered: await store.recover() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

const asideOf = (dataDir: string, n: number): string => join(dataDir, `${ASIDE}${n}`);

/** Keeps the old data for inspection, under a name of their own. */
async function setAside(dataDir: string, reason: string, logger: Logger): Promise<void> {
  const store = join(dataDir, STORE);
  let n = 1;
  while (await exists(asideOf(dataDir, n))) n++;
  const kept = asideOf(dataDir, n);
  if (await exists(store)) await rename(store, kept);
  clearQuarantine(dataDir);
  logger.error({ reason, kept }, 'the data of this node are set aside; it fetches them anew from its peers');
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
