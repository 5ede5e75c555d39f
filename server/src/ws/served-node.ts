import type { Principal } from '@isochron/core';
import { CREDITS, type Done, type ServedNode } from '@isochron/sessions';
import type { Audit } from '../audit/audit.js';
import type { ApiContext } from '../http/context.js';
import type { FailedAuthentications } from '../http/limits/failed-authentications.js';
import { after } from '../node/after.js';

/** The node of an API, for the sessions that it serves. */
export function servedNode(api: ApiContext, failed: FailedAuthentications, audit: Audit): ServedNode {
  const { node, rules, auth, log, serving, stability } = api;
  const { id, region, topology, protocol, config } = node;
  return {
    id,
    region,
    cluster: config.cluster,
    protocol,
    topology,
    rules,
    maxTransactionMs: config.settings.maxTransactionMs,
    credits: CREDITS,
    stalenessAlertMs: config.settings.stalenessAlertMs,
    regions: config.regions.map((one) => ({ id: one.id, endpoints: one.nodes.map(({ api }) => api) })),
    serving,
    now: () => node.now(),
    latest: () => node.latest(),
    ust: () => node.ust(),
    freshness: () => stability.freshness,
    map: () => node.map(),
    cutsAfter: (version) => node.cutsAfter(version),
    unresponsive: () => node.unresponsive,
    authenticate: (credentials, done, stranger) => {
      const identify = (identified: Done<Principal>) => auth.authenticate(credentials, identified);
      if (stranger === undefined) identify(done);
      else failed.guard(stranger, identify, done);
    },
    client: (principal, address) => auth.client(principal, address),
    random: Math.random,
    after,
    failed: (err) => log.error({ err }, 'session request failed'),
    refused: (refused) => audit.refused(refused),
  };
}
