/**
 * A write that changes the document of a key instead of replacing it (F1, updates merge): the JSON text of a valid
 * array of operations. Nodes keep and send the text as it is; replicas fold it into the document when they read.
 */
export class Update {
  constructor(readonly operations: string) {}
}
