/**
 * Session tokens under protocols of single operations (D13): the whole state of the session. The record of `signed.ts`,
 * with version 3, holding
 *
 *     length and protocol · MessagePack of the session's state
 */
import type { OperationSessionState } from '@isochron/protocols';
import { pack, unpack } from '@isochron/wire/msgpack';
import { MAX_TOKEN_LENGTH } from '@isochron/wire/session-frames/requests';
import type { RecordWriter } from './record-writer.js';
import { damaged, type Fields, SignedTokens, TOKEN_VERSIONS, type TokenCluster } from './signed.js';

export class OperationTokens extends SignedTokens<OperationSessionState> {
  constructor(cluster: TokenCluster) {
    super([TOKEN_VERSIONS.operations], MAX_TOKEN_LENGTH, cluster);
  }

  mint(state: OperationSessionState, holder = ''): string {
    const write = (record: RecordWriter): void => {
      record.text(this.protocol);
      record.bytes(pack(state));
    };
    return this.sign(TOKEN_VERSIONS.operations, write, holder);
  }

  protected read(fields: Fields): OperationSessionState {
    fields.text(); // the protocol
    try {
      return unpack(fields.rest()) as OperationSessionState;
    } catch {
      throw damaged();
    }
  }

  /** The coordinator judges the state, with every request (T1). */
  protected judge(): void {}
}
