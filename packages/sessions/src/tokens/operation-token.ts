/**
 * Session tokens under protocols of single operations (D13): the whole state of the session. The fields in the record
 * of `signed.ts` are its MessagePack.
 */
import type { OperationSessionState } from '@isochron/protocols';
import { pack, unpack } from '@isochron/wire/msgpack';
import { MAX_TOKEN_LENGTH } from '@isochron/wire/session-frames/requests';
import { damaged, type Fields, SignedTokens, type TokenCluster } from './signed.js';

export class OperationTokens extends SignedTokens<OperationSessionState> {
  constructor(cluster: TokenCluster) {
    super(MAX_TOKEN_LENGTH, cluster);
  }

  mint(state: OperationSessionState, holder = ''): string {
    return this.sign((record) => record.bytes(pack(state)), holder);
  }

  protected read(fields: Fields): OperationSessionState {
    try {
      return unpack(fields.rest()) as OperationSessionState;
    } catch {
      throw damaged();
    }
  }

  /** The coordinator judges the state, with every request (T1). */
  protected judge(): void {}
}
