/** A connected client for one command. */
import { existsSync, readFileSync } from 'node:fs';
import { type ConnectOptions, connect, type IsochronClient, type WriteReceipt } from '@isochron/sdk';
import { secretIn } from '../credentials.js';
import { UsageError } from '../failures.js';
import { replaceFile } from '../files.js';

/** How to reach a cluster. */
export interface EndpointOptions {
  readonly endpoint: readonly string[];
  readonly apiKey?: string;
  /** The file with the key or token: it is read again when that expires. */
  readonly apiKeyFile?: string;
  /** Certificate authorities in PEM form that https endpoints are checked by; default: those that Node knows. */
  readonly ca?: string;
}

/** The options of the SDK for a way to reach a cluster. */
export const reaching = ({
  apiKey,
  apiKeyFile,
  ca,
}: Omit<EndpointOptions, 'endpoint'>): Pick<ConnectOptions, 'auth' | 'credentials' | 'ca'> => ({
  ...(apiKeyFile === undefined
    ? apiKey !== undefined && { credentials: apiKey }
    : { auth: async () => secretIn(apiKeyFile) }),
  ...(ca === undefined ? {} : { ca }),
});

/** Options of every command that reads or writes data. */
export interface DataOptions extends EndpointOptions {
  readonly keyspace: string;
  readonly sessionFile?: string;
  readonly token?: string;
  readonly json: boolean;
}

/** The options of the SDK. */
export function connectOptions(options: DataOptions): ConnectOptions {
  const { endpoint, keyspace, sessionFile, token } = options;
  if (sessionFile !== undefined && token !== undefined) {
    throw new UsageError('give either --session-file or --token: both name a session');
  }
  return {
    endpoints: endpoint,
    keyspace,
    ...reaching(options),
    ...(token === undefined ? {} : { token }),
    ...(sessionFile !== undefined && existsSync(sessionFile) ? { session: readFileSync(sessionFile, 'utf8') } : {}),
  };
}

/**
 * Stores the session for the next command. The file is a secret: its token gives access to all that this session read.
 */
export function saveSession(client: IsochronClient, { sessionFile }: DataOptions): void {
  if (sessionFile !== undefined) replaceFile(sessionFile, `${JSON.stringify(client.session.export())}\n`, 0o600);
}

/** Runs `use` with a client, and stores the session when it succeeded. */
export async function withClient<T>(options: DataOptions, use: (client: IsochronClient) => Promise<T>): Promise<T> {
  const client = await connect(connectOptions(options));
  try {
    const result = await use(client);
    saveSession(client, options);
    return result;
  } finally {
    await client.close();
  }
}

/** How long `--stable` and a claim wait, ms. */
export const STABLE_TIMEOUT_MS = 60_000;

/** On request, waits until a write is visible in every region. */
export async function settle(write: WriteReceipt, options: { readonly stable: boolean }): Promise<void> {
  if (options.stable) await write.stable({ timeoutMs: STABLE_TIMEOUT_MS });
}
