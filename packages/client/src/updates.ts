import { parseOperations } from '@isochron/core/updates/operations';
import { Update } from '@isochron/core/updates/update';

/** An update from the JSON text of its operations. @throws IsochronError for operations that nodes would refuse */
export function updateOf(operations: string): Update {
  parseOperations(operations);
  return new Update(operations);
}
