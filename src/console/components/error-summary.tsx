import type { VNode } from 'preact';
import { PROBLEMS } from '../../http/problem.js';
import type { ValidationError } from '../../refusal.js';
import type { RefusedForm } from '../page.js';

/** Why a form was refused, above the page; errors of single fields are listed and also stand at their fields. */
export function ErrorSummary({ refused }: { refused: RefusedForm }): VNode {
  const { refusal } = refused;
  return (
    <section class="error-summary" role="alert">
      <h2>{PROBLEMS[refusal.code].title}</h2>
      {refusal.errors.length === 0 ? (
        <p>{refusal.message}</p>
      ) : (
        <ul>
          {refusal.errors.map((error) => (
            <li key={error.pointer}>
              {nameOf(error)} {error.detail}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The error of a field, such as `/url`; undefined: the field has none. */
export function errorAt(refused: RefusedForm | undefined, pointer: string): string | undefined {
  return refused?.refusal.errors.find((error) => error.pointer === pointer)?.detail;
}

/** Fields whose label differs from the API's name. */
const LABELS: Readonly<Record<string, string>> = { '/max_concurrency': 'deliveries at the same time' };

function nameOf({ pointer, parameter }: ValidationError): string {
  const name = pointer?.slice(1).replaceAll('/', ' ') ?? parameter ?? '';
  return LABELS[pointer ?? ''] ?? name.replaceAll('_', ' ');
}
