/** Serves `settle`: the end of a commit whose outcome its client does not know (OF3). */
import { settleThrough } from '../coordinator/settled.js';
import { attemptRegionsOf, avoidsOf, keysOf, mapsOf } from './frames.js';
import { answered, claimed, queueOf, type Request, storedOf, type TransactionRequests, withToken } from './requests.js';
import type { Reply } from './served-session.js';

export function settle(frame: Request<'settle'>, id: number, context: TransactionRequests, reply: Reply): void {
  const { topology, rules, serving } = context.node;
  const request = {
    txId: frame.tx,
    queue: queueOf(frame.queue, context),
    sentAfter: claimed(context, frame.sentAfter, 'sentAfter'),
    attemptRegions: attemptRegionsOf(frame.attemptRegions, (name) => topology.regions.includes(name)),
    avoids: avoidsOf(frame, (avoid) => topology.isAvoidList(avoid)),
    maps: mapsOf(frame),
    principal: context.principal.id,
    keys: keysOf(frame.keys, rules),
  };
  settleThrough(
    context.parts.coordinator,
    request,
    answered(reply, (end) => {
      serving.transactions.end(storedOf(context, frame.tx));
      if (end === null) return { type: 'settled', id, ts: null };
      const { ts, map, nodes, upTo } = end;
      const token = context.committed(end, context.readBy(frame.tx));
      const place = { ...(map && { map }), ...(nodes && { nodes }), ...(upTo && { upTo }) };
      return withToken({ type: 'settled', id, ts, ...place }, token);
    }),
  );
}
