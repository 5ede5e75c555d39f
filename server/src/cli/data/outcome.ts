/** `transaction`: prints the outcome of a transaction. */
import { connect, type Timestamp } from '@isochron/sdk';
import { print } from '../output.js';
import { type EndpointOptions, reaching } from './client.js';

/** Options of `isochron transaction`. */
export interface OutcomeOptions extends EndpointOptions {
  readonly sentAfter?: Timestamp;
  readonly json: boolean;
}

/** Asks the first node that answers. */
export async function runOutcome(
  txId: string,
  { endpoint, sentAfter, json, ...options }: OutcomeOptions,
): Promise<void> {
  const client = await connect({ endpoints: endpoint, ...reaching(options) });
  try {
    const { state, timestamp = null } = await client.transactionStatus({
      txId,
      ...(sentAfter === undefined ? {} : { sentAfter }),
    });
    if (json) print(JSON.stringify({ transaction: txId, status: state, timestamp }));
    else print(timestamp === null ? state : `${state} at ${timestamp}`);
  } finally {
    await client.close();
  }
}
