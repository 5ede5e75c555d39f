/** Everything that travels between the machines of a cluster: the protocol's messages and the server's own. */
import type { MessageSchema } from '@isochron/core';
import { type ParisMessage, parisSchema } from '@isochron/protocols';
import { type SessionMessage, sessionSchema } from '../session/messages.js';

export type NodeMessage = ParisMessage | SessionMessage;

export const nodeSchema: MessageSchema<NodeMessage> = { ...parisSchema, ...sessionSchema };
