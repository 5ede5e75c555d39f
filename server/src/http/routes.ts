/** All routes of the REST API. */
import { BATCH_ROUTES } from './routes-batch.js';
import { CHANGES_ROUTE } from './routes-changes.js';
import { CLAIM_ROUTE } from './routes-claims.js';
import { KEY_ROUTES } from './routes-keys.js';
import { LIST_ROUTE } from './routes-list.js';
import { LOSS_ROUTES } from './routes-losses.js';
import { TIME_ROUTES } from './routes-ops.js';
import { TRANSACTION_ROUTES } from './routes-transactions.js';

/** The routes under `/v1` of every protocol. */
export const COMMON_ROUTES = [...KEY_ROUTES, ...BATCH_ROUTES, ...TIME_ROUTES, ...LOSS_ROUTES];

/** The routes under `/v1` of protocols with transactions; the others refuse them. */
export const TRANSACTIONS_ROUTES = [LIST_ROUTE, CHANGES_ROUTE, ...TRANSACTION_ROUTES, CLAIM_ROUTE];
