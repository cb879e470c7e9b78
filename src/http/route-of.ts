/** The pattern of the route that took a request; undefined: none. Never the path or query as sent: they may hold anything. */
export function routeOf(ctx: object): string | undefined {
  const { _matchedRoute: pattern } = ctx as { _matchedRoute?: unknown };
  return typeof pattern === 'string' ? pattern : undefined;
}
