/** One operation of a load generator's session. */
import type { IsochronClient } from '@isochron/sdk';
import type { OperationGenerator, TransactionGenerator } from '@isochron/workload';
import { plain } from '../load/loaded-cluster.js';

/** The next transaction: all reads in parallel, then all writes, as the papers' clients do. */
export async function runPlanned(client: IsochronClient, generator: TransactionGenerator): Promise<void> {
  const { reads, writes } = generator.nextTransaction();
  await client.transaction(async (tx) => {
    await tx.getMany(reads.map(plain));
    for (const key of writes) tx.set(plain(key), generator.nextValue());
  });
}

/** The next single operation. Returns its kind. */
export async function runOperation(client: IsochronClient, generator: OperationGenerator): Promise<'read' | 'write'> {
  const { kind, keys } = generator.nextOperation();
  const [first] = keys;
  if (kind === 'write') await client.set(plain(first!), generator.nextValue());
  else if (keys.length === 1) await client.get(plain(first!));
  else await client.getMany(keys.map(plain));
  return kind;
}
