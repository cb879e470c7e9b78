import type { ComponentChildren } from 'preact';
import type { Scope } from '../auth/caller.js';
import type { ConsoleSession } from '../auth/console-sessions.js';
import type { PathNames } from '../http/route.js';
import type { Config } from '../platform/config/config.js';
import type { Handle } from '../platform/database/database.js';
import type { Refusal } from '../platform/refusal.js';
import { MAX_HEADERS } from '../platform/vocabulary.js';
import type { Operations } from './operations.js';

/** A request of a signed-in session whose scopes were checked. */
export interface Visit<Params extends string = string> {
  session: ConsoleSession;
  operations: Operations;
  /** The path's ids, each a UUID in lower case, and `number`, a positive integer as text. */
  params: Readonly<Record<Params, string>>;
  query: URLSearchParams;
  config: Config;
  /** Runs a read that only the console has, with the time limit of a page; they live in the rooms of the domain. */
  read<T>(work: (db: Handle) => Promise<T>): Promise<T>;
  /** For what limits its own time, and for changes that only the console has. */
  db: Handle;
  /**
   * The form or the query of this page that was refused, so that the page shows it again; undefined on a plain visit.
   */
  refused?: RefusedForm;
}

export interface RefusedForm {
  refusal: Refusal;
  /** What was sent, without the secrets (`SECRET_FIELDS`). */
  fields: URLSearchParams;
}

/** The fields of each of an endpoint's headers. */
export const HEADER_FIELDS = Array.from(
  { length: MAX_HEADERS },
  (_, i) => [`header_name_${i + 1}`, `header_value_${i + 1}`] as const,
);

/** Fields that a page never shows again. A private key may be pasted for a public one. */
export const SECRET_FIELDS = [
  'secret',
  'client_secret',
  'code',
  'v0',
  'jwks',
  ...HEADER_FIELDS.map(([, value]) => value),
];

/** An error that only pages have, shown as a page with its status. */
export class PageError extends Error {
  override readonly name = 'PageError';

  constructor(
    readonly status: number,
    readonly title: string,
    detail: string,
  ) {
    super(detail);
  }
}

type View = ComponentChildren | SeeOther;

/** A page of the console. */
export interface Page {
  path: string;
  /** The scope of the operation behind the page; null: every session may see it. */
  scope: Scope | null;
  title: string;
  /** The page's name in the navigation; undefined: it has no entry. */
  navigation?: string;
  /** The page has a table with the id `rows`, to which a link skips. */
  hasRows?: true;
  /** The path of the page whose entry the navigation marks; undefined: the path of the request decides. */
  under?: `/console/${string}`;
  /**
   * Points of the rate limit, where a GET of the API is one: its CPU time in the service and in Postgres, in multiples
   * of that of `GET /transfers` (docs/decisions/0013-console-pages-cost-points.md).
   */
  points: number;
  /** The page's content, or the page that the request leads to instead. */
  view(visit: Visit): View | Promise<View>;
}

/** A form of the console: a POST that changes something. */
export interface Form {
  path: string;
  /** The scope of the operation behind the form; null: every session may send it. */
  scope: Scope | null;
  /** The page that has the form; its path has no other parameters. A rejected form is shown there again. */
  page?: Page;
  /** Points of the rate limit; undefined: those of one operation and of the page. */
  points?: number;
  submit(visit: Visit, fields: URLSearchParams): Promise<SeeOther>;
}

/** Leads to another page (303). */
export interface SeeOther {
  /** A path of the console. */
  location: `/console${string}`;
  /** Shown once, on the next page. */
  notice?: string | undefined;
}

export const seeOther = (location: SeeOther['location'], notice?: string): SeeOther => ({ location, notice });

/** Declares a page. */
export function page<const Path extends `/console${string}`>(
  declaration: Omit<Page, 'path' | 'view'> & {
    path: Path;
    view(visit: Visit<PathNames<Path>>): View | Promise<View>;
  },
): Page {
  return declaration as Page;
}

/** Declares a form. */
export function form<const Path extends `/console${string}`>(
  declaration: Omit<Form, 'path' | 'submit'> & {
    path: Path;
    submit(visit: Visit<PathNames<Path>>, fields: URLSearchParams): Promise<SeeOther>;
  },
): Form {
  return declaration as Form;
}

/** Whether a declaration of the list is a form. */
export const isForm = (declared: Page | Form): declared is Form => 'submit' in declared;

/** A form runs an operation, and shows its page again where the operation refuses it. */
export const pointsOf = (declared: Page | Form): number =>
  isForm(declared) ? (declared.points ?? 1 + (declared.page?.points ?? 0)) : declared.points;

/** Whether the session was not opened to view only; its scopes then say what it may change. */
export const isFullSession = ({ session }: Pick<Visit, 'session'>): boolean => session.role === 'editor';

/** Whether the session may change endpoints and deliveries; a viewer sees no buttons. */
export const isEditor = ({ session }: Pick<Visit, 'session'>): boolean => session.scopes.has('webhooks:write');

/** Whether the session may make and move transfers here: in the sandbox only, so that no click moves real money. */
export const mayMove = ({ config, session }: Pick<Visit, 'config' | 'session'>): boolean =>
  config.environment === 'sandbox' && session.scopes.has('transfers:write');
