export interface EndpointLine<Job> {
  id: string;
  client: ClientLine<Job>;
  /** Its limit of attempts at once, over all workers. */
  max: number;
  active: number;
  jobs: { job: Job; since: number }[];
  /** Slots released since the last `expire`: the speed of the endpoint. */
  progress: number;
  /** Whether the endpoint stands in its client's line. */
  queued: boolean;
}

export interface ClientLine<Job> {
  id: string;
  active: number;
  waiting: number;
  endpoints: Map<string, EndpointLine<Job>>;
  /** Endpoints with a waiting job and a slot for it, each listed once, served in turn. */
  ready: EndpointLine<Job>[];
  queued: boolean;
}

/** The lines of clients and their endpoints. A line exists while it has an active or a waiting job. */
export class ClientLines<Job> implements Iterable<ClientLine<Job>> {
  readonly #clients = new Map<string, ClientLine<Job>>();

  [Symbol.iterator](): Iterator<ClientLine<Job>> {
    return this.#clients.values();
  }

  find(clientId: string): ClientLine<Job> | undefined {
    return this.#clients.get(clientId);
  }

  /** The line of an endpoint. It makes the line, and that of the client, if there is none. */
  endpoint(clientId: string, endpointId: string): EndpointLine<Job> {
    let client = this.#clients.get(clientId);
    if (!client) {
      client = { id: clientId, active: 0, waiting: 0, endpoints: new Map(), ready: [], queued: false };
      this.#clients.set(clientId, client);
    }
    let endpoint = client.endpoints.get(endpointId);
    if (!endpoint) {
      endpoint = { id: endpointId, client, max: 0, active: 0, jobs: [], progress: 0, queued: false };
      client.endpoints.set(endpointId, endpoint);
    }
    return endpoint;
  }

  removeIfIdle(endpoint: EndpointLine<Job>): void {
    if (endpoint.active > 0 || endpoint.jobs.length > 0 || endpoint.queued) return;
    const { client } = endpoint;
    client.endpoints.delete(endpoint.id);
    if (client.endpoints.size === 0 && !client.queued) this.#clients.delete(client.id);
  }
}
