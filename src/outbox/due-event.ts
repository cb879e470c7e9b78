/** An event that is due for a workflow start, and the number of attempts that its workflow makes at once. */
export interface DueEvent {
  eventId: string;
  clientId: string;
  attempts: number;
}
