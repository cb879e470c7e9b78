/**
 * The pattern of the matched route; undefined where none matched. Never the path or query as sent: they may hold any
 * text.
 */
export function routeOf(ctx: object): string | undefined {
  const { _matchedRoute: pattern } = ctx as { _matchedRoute?: unknown };
  return typeof pattern === 'string' ? pattern : undefined;
}
