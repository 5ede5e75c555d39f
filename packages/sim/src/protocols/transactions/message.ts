import type { MessageSchema } from '@isochron/core';
import { type TransactionMessage, transactionSchema } from '@isochron/protocols';
import { type SessionMessage, sessionSchema } from '@isochron/sessions';

/** All messages between the machines of a cluster: the protocol's and those of HTTP sessions. */
export type NodeMessage = TransactionMessage | SessionMessage;

export const nodeSchema: MessageSchema<NodeMessage> = { ...transactionSchema, ...sessionSchema };

export const isOfSessions = (message: NodeMessage): message is SessionMessage => message.type in sessionSchema;
