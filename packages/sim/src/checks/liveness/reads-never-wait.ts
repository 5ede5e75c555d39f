import type { NodeId, PartitionId } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';

/** A replica has every snapshot that it is asked for, or refuses the read: no read waits for one to be installed. */
export class ReadsNeverWait implements Check {
  readonly name = 'reads-never-wait';

  constructor(readonly context: CheckContext) {}

  waited(node: NodeId, partition: PartitionId): void {
    this.context.fail(this.name, `a read waited on ${node} until partition ${partition} had its snapshot`, [node]);
  }
}
