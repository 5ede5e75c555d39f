/** All routes of the REST API. */
import { BATCH_ROUTES } from './batch.js';
import { CHANGES_ROUTE } from './changes.js';
import { CLAIM_ROUTE } from './claims.js';
import { DRAIN_ROUTE } from './drain.js';
import { KEY_ROUTES } from './keys.js';
import { LIST_ROUTE } from './listing.js';
import { LOSS_ROUTES } from './losses.js';
import { NODES_ROUTE } from './nodes.js';
import { TIME_ROUTES } from './status.js';
import { TRANSACTION_ROUTES } from './transactions.js';

/** The routes under `/v1` of every protocol. */
export const COMMON_ROUTES = [...KEY_ROUTES, ...BATCH_ROUTES, ...TIME_ROUTES, ...LOSS_ROUTES, DRAIN_ROUTE, NODES_ROUTE];

/** The routes under `/v1` of protocols with transactions; the others refuse them. */
export const TRANSACTIONS_ROUTES = [LIST_ROUTE, CHANGES_ROUTE, ...TRANSACTION_ROUTES, CLAIM_ROUTE];
