/** The cluster that the tests of a file attack. */
import { Cluster, type ClusterOptions, cleanUp } from '../harness.js';

/** Starts a cluster before all tests of the file, by default one node without keys, and ends it after them. */
export function target(options: ClusterOptions = { regions: ['virginia'] }) {
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    cluster = await Cluster.start(options);
  }, 60_000);
  afterAll(cleanUp);
  return {
    get cluster(): Cluster {
      return cluster!;
    },
    /** URL of the API of its first node. */
    get api(): string {
      return cluster!.endpoints()[0]!;
    },
  };
}
