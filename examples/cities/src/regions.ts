/** Finds the regions of endpoints. */
import { type ConnectOptions, connect, type IsochronClient } from '@isochron/sdk';

/** Connection options without endpoints. */
export type Connection = Omit<ConnectOptions, 'endpoints' | 'session' | 'token'>;

/** A region with the endpoints in it. */
export interface Region {
  readonly id: string;
  readonly endpoints: readonly string[];
}

/** Asks every endpoint for its region. @throws the errors of `connect` */
export async function findRegions(endpoints: readonly string[], connection: Connection): Promise<Region[]> {
  const found = new Map<string, string[]>();
  const ids = await Promise.all(endpoints.map((endpoint) => regionOf(endpoint, connection)));
  ids.forEach((id, i) => {
    found.set(id, [...(found.get(id) ?? []), endpoints[i]!]);
  });
  return [...found].map(([id, members]) => ({ id, endpoints: members }));
}

async function regionOf(endpoint: string, connection: Connection): Promise<string> {
  const client = await connect({ ...connection, endpoints: [endpoint] });
  try {
    return client.status.region ?? 'unknown';
  } finally {
    await client.close();
  }
}

/** Several sessions in one region. They begin there, and leave it only when no node of it answers. */
export async function openSessions(region: Region, count: number, connection: Connection): Promise<IsochronClient[]> {
  const connecting = Array.from({ length: count }, () => connect({ ...connection, endpoints: region.endpoints }));
  const results = await Promise.allSettled(connecting);
  const clients = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return clients;
  await closeAll(clients);
  throw failed.reason;
}

/** Closes every client. */
export async function closeAll(clients: readonly IsochronClient[]): Promise<void> {
  await Promise.all(clients.map((client) => client.close()));
}
