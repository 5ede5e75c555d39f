/** Certificates of a node as its peering links take them. */
import { invariant } from '@isochron/core';
import type { PeerTls } from '@isochron/transport';
import type { Certificates } from './certificates.js';

export const peerTls = (cluster: string, certificates: Certificates): PeerTls => ({
  cluster,
  certificates: {
    get current() {
      const { cert, key, ca } = certificates.current;
      // Without them, every authority that Node knows would do.
      invariant(ca !== undefined, 'the peers have no certificate authorities');
      return { cert, key, ca };
    },
    onChange: (listener) => certificates.onChange(listener),
  },
});
