/**
 * All messages between the machines of a cluster under interactive transactions: the protocol's and the server's own.
 */
import type { MessageSchema } from '@isochron/core';
import type { TransactionMessage } from '@isochron/protocols';
import { type SessionMessage, sessionSchema } from '@isochron/sessions';
import type { ServedTransactions } from './protocols.js';

export type NodeMessage = TransactionMessage | SessionMessage;

export const nodeSchema = ({ schema }: ServedTransactions): MessageSchema<NodeMessage> => ({
  ...schema,
  ...sessionSchema,
});
