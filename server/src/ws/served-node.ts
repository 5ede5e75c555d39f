import { CREDITS, type ServedNode } from '@isochron/sessions';
import type { ApiContext } from '../http/context.js';
import { after } from '../node/after.js';

/** The node of an API, for the sessions that it serves. */
export function servedNode({ node, rules, auth, log, serving, stability }: ApiContext): ServedNode {
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
    unresponsive: () => node.unresponsive,
    authenticate: (credentials, done) => auth.authenticate(credentials, done),
    client: (principal, address) => auth.client(principal, address),
    random: Math.random,
    after,
    failed: (err) => log.error({ err }, 'session request failed'),
  };
}
