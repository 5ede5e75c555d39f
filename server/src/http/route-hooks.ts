/** Hooks of single routes. */
import type { RouteOptions } from 'fastify';

type Hooks = Pick<RouteOptions, 'onRequest' | 'onResponse'>;
type RouteHook<H extends keyof Hooks> = Exclude<Hooks[H], readonly unknown[] | undefined>;

/**
 * Adds a handler to a hook of one route, behind the others. A handler that all routes share would have to look at
 * `routeOptions`, which Fastify makes anew for each look.
 */
export function addToRoute<H extends keyof Hooks>(route: Hooks, hook: H, handler: RouteHook<H>): void {
  const before: unknown[] = [route[hook] ?? []].flat();
  route[hook] = [...before, handler] as Hooks[H];
}
