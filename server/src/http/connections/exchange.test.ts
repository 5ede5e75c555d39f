import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HttpExchange } from './exchange.js';

it('a connection is idle after a body that several looks have seen, until the next head begins', () => {
  const socket = { bytesRead: 100, writableLength: 0 };
  const request: Partial<IncomingMessage> = { headers: { 'content-length': '1000' }, complete: false };
  const answer = { closed: false };
  const exchange = new HttpExchange({ restart: () => undefined }, socket as Socket);
  exchange.begin(request as IncomingMessage, answer as ServerResponse);
  const states = [exchange.state()];
  socket.bytesRead = 500;
  states.push(exchange.state());
  Object.assign(socket, { bytesRead: 1100 });
  Object.assign(request, { complete: true });
  Object.assign(answer, { closed: true });
  states.push(exchange.state(), exchange.state());
  socket.bytesRead = 1110;
  states.push(exchange.state());
  expect(states).toEqual(['body', 'body', 'idle', 'idle', 'head']);
});
