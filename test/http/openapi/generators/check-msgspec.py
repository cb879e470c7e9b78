import json
import os
import urllib.error
import urllib.request
import uuid

import msgspec

import models


def call(method, path, returned, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    headers = {name.replace("_", "-"): value for name, value in headers.items()} | {"Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["BASE_URL"] + path, data, headers, method=method)
    try:
        response = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        response = error
    return msgspec.json.decode(response.read(), type=returned)


credentials = {"client_id": os.environ["CLIENT_ID"], "client_secret": os.environ["CLIENT_SECRET"]}
token = call("POST", "/oauth/token", models.Token, {"grant_type": "client_credentials", **credentials})
authorization = {"Authorization": f"Bearer {token.access_token}"}
registration = {"url": "https://example.com/hooks", "secret": "whsec_0123456789abcdef"}
endpoint = call("POST", "/webhook-endpoints", models.WebhookEndpoint, registration, **authorization)
wanted = {"amount": {"value": 9007199254740991, "currency": "EUR"}, "destination": {"name": "Ada", "account": "DE89"}}
key = {"Idempotency_Key": str(uuid.uuid4())}
transfer = call("POST", "/transfers", models.Transfer, wanted, **authorization, **key)
page = call("GET", "/events?limit=1", models.EventPage, **authorization)
call("GET", f"/webhook-endpoints/{endpoint.webhookId}/health", models.WebhookEndpointHealth, **authorization)
problem = call("GET", f"/transfers/{uuid.uuid4()}", models.Problem, **authorization)
print(endpoint.enabled, transfer.status.value, transfer.amount.value, page.data[0].data.status.value, problem.code.value)
