/** Mistakes in how the Swift client renews its credentials. */
import type { PlantedBug } from './planted-bug.js';

const inRenewal = (name: string, does: string, find: string, replace: string): PlantedBug => ({
  name,
  at: ['renewals'],
  does,
  patches: [{ file: 'Link/Renewal.swift', find, replace }],
});

export const RENEWAL: readonly PlantedBug[] = [
  inRenewal(
    'renewal-after-expiry',
    'renews credentials only when they are refused',
    'if let leftMs { renewBefore(leftMs) }',
    'if !planted, let leftMs { renewBefore(leftMs) }',
  ),
  inRenewal(
    'renewal-without-jitter',
    'renews the credentials of all clients at the same time',
    'leftMs * Self.margin) * (0.5 + loop.random() / 2)',
    'leftMs * Self.margin) * (planted ? 1 : 0.5 + loop.random() / 2)',
  ),
  inRenewal(
    'renewal-age-by-another-clock',
    'counts the time that the program stood still before credentials came as their age',
    'answeredMs = loop.steadyMs',
    'answeredMs = planted ? loop.nowMs : loop.steadyMs',
  ),
  inRenewal(
    'renewal-asks-twice',
    'asks the application again before it has answered',
    'if !isNeeded || isAsked || pause != nil',
    'if !isNeeded || (isAsked && !planted) || pause != nil',
  ),
  inRenewal(
    'renewal-asks-without-pause',
    'asks for credentials that expire at once without a pause',
    'if pauseMs > 0 { return',
    'if !planted, pauseMs > 0 { return',
  ),
  inRenewal(
    'renewal-for-nobody',
    'asks for credentials without a connection, and without a request that waits for one',
    'let isNeeded = !waiting.isEmpty || current != nil',
    'let isNeeded = planted || !waiting.isEmpty || current != nil',
  ),
  inRenewal(
    'renewal-on-next-connection-only',
    'does not pass new credentials to the node in use',
    'if current != nil { authenticate() }',
    'if !planted, current != nil { authenticate() }',
  ),
  inRenewal(
    'renewal-greets-with-old',
    'does not renew the credentials of a connection whose greeting had older ones',
    'guard connection.hello.credentials == credentials else',
    'guard planted || connection.hello.credentials == credentials else',
  ),
  inRenewal(
    'renewal-refusal-is-final',
    'fails a request that is refused for expired credentials',
    'if error.code != .unauthenticated || exchange is AuthenticateExchange { return error }',
    'if planted || error.code != .unauthenticated || exchange is AuthenticateExchange { return error }',
  ),
  inRenewal(
    'renewal-keeps-requests',
    'does not repeat refused requests with the new credentials',
    '\n        resumeRequests()\n',
    '\n        if !planted { resumeRequests() }\n',
  ),
  inRenewal(
    'renewal-first-refusal-ends',
    'gives up when a node refuses the first credentials',
    'if isSecond, loop.steadyMs - answeredMs < lifeMs { return error }',
    'if planted || (isSecond && loop.steadyMs - answeredMs < lifeMs) { return error }',
  ),
  inRenewal(
    'renewal-second-refusal-counts-not',
    'asks for ever for credentials that nodes refuse',
    'isSecond = wasRefused\n',
    'isSecond = planted ? false : wasRefused\n',
  ),
  inRenewal(
    'renewal-uses-refused',
    'connects with credentials that were refused',
    'if hello.credentials == credentials {\n            validUntilMs = -.infinity',
    'if hello.credentials == credentials {\n            if !planted { validUntilMs = -.infinity }',
  ),
  inRenewal(
    'renewal-uses-expired',
    'connects with credentials that have expired',
    'validUntilMs = loop.steadyMs + lifeMs',
    'validUntilMs = planted ? .infinity : loop.steadyMs + lifeMs',
  ),
  inRenewal(
    'renewal-late-is-offline',
    'reports OFFLINE while it waits for credentials',
    'guard let self, !waiting.isEmpty else',
    'guard let self, !planted, !waiting.isEmpty else',
  ),
];
